// SPDX-License-Identifier: Apache-2.0
#include "schedules/numerics.h"

#include <algorithm>
#include <vector>

namespace hone::schedules {

using namespace ir;

namespace {

/// Leaves under a loop, in the order in which they would nest if nothing had been reordered.
void natural_leaves(const Stage& s, const std::string& loop, std::vector<std::string>& out) {
  for (const Relation& r : s.relations) {
    if (r.parent != loop && r.second != loop) continue;
    if (r.kind == Relation::kFuse && r.second == loop) return;  // with its partner
    natural_leaves(s, r.outer, out);
    if (r.kind == Relation::kSplit) natural_leaves(s, r.inner, out);
    return;
  }
  out.push_back(loop);
}

/// `loop*factor` for the inner loop of a split, else the name.
std::string with_extent(const Stage& s, const std::string& loop) {
  for (const Relation& r : s.relations) {
    if (r.kind == Relation::kSplit && r.inner == loop) return loop + "*" + std::to_string(r.factor);
  }
  return loop;
}

std::string join(const Stage& s, const std::vector<std::string>& loops) {
  std::string out;
  for (const std::string& l : loops) out += (out.empty() ? "" : ",") + with_extent(s, l);
  return out;
}

std::string order_of(const Stage& s) {
  std::vector<std::string> natural;
  for (const IndexVar& v : s.rvars) natural_leaves(s, v.name, natural);
  std::vector<std::string> actual, vectors;
  for (const Loop& l : s.loops) {
    const bool reduced = std::find(natural.begin(), natural.end(), l.name) != natural.end();
    const bool kept = std::find(s.factored.begin(), s.factored.end(), l.name) != s.factored.end();
    if (!reduced || kept) continue;
    actual.push_back(l.name);
    if (l.mark == Mark::kVector) vectors.push_back(l.name);
  }
  std::erase_if(natural, [&](const std::string& name) {
    return std::find(actual.begin(), actual.end(), name) == actual.end();
  });
  std::string out;
  if (!s.factored.empty()) out += "partial(" + join(s, s.factored) + ")+";
  if (!vectors.empty()) out += "lanes(" + join(s, vectors) + ")+";
  return out + (actual == natural ? "seq" : "order(" + join(s, actual) + ")");
}

/// The stage that writes what `s` computes to an output, which steps may have made a copy's; else
/// `s`.
const Stage* written_by(const Program& program, const Stage* s) {
  for (const Stage& copy : program.stages) {
    if (copy.reduce != Reduce::kNone || copy.value->op != ir::Op::kLoad) continue;
    if (copy.value->name == s->output && program.buffer(copy.output)->role != Role::kTemp) {
      return &copy;
    }
  }
  return s;
}

}  // namespace

std::string numerics_class(const Program& program) {
  std::string out;
  for (const Stage& s : program.stages) {
    if (s.reduce != Reduce::kSum && s.reduce != Reduce::kProd) continue;
    if (!is_float(s.accumulate)) continue;
    out += (out.empty() ? "" : ";") + written_by(program, &s)->name + ":" + order_of(s);
  }
  return out.empty() ? "exact" : out;
}

bool admits(std::string_view pinned, std::string_view actual) {
  if (pinned.empty() || pinned == "any" || pinned == actual || actual == "exact") return true;
  if (pinned != "seq") return false;
  while (!actual.empty()) {
    const std::string_view part = actual.substr(0, actual.find(';'));
    if (part.substr(part.find(':') + 1) != "seq") return false;
    actual.remove_prefix(std::min(part.size() + 1, actual.size()));
  }
  return true;
}

}  // namespace hone::schedules
