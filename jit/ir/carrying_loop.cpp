// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/carrying_loop.h"

#include <algorithm>

#include "jit/ir/scan.h"

namespace hone::ir {
namespace {

bool is_earlier(const std::optional<int64_t>& step) { return step && *step < 0; }

}  // namespace

std::string CarryingLoop::broken() {
  bool moved = false;
  for (loop_ = stage_.loops.data(); at_loop(); ++loop_) {
    const std::vector<std::string> roots = roots_of(loop_->name);
    const bool same = std::all_of(roots.begin(), roots.end(),
                                  [&](const std::string& v) { return is_same(step_of(v)); });
    if (same) continue;
    moved = true;
    if (loop_->mark == Mark::kParallel || is_block(loop_->mark) || is_thread(loop_->mark)) {
      return "what one of its iterations writes another one reads, and they run at one time";
    }
    if (written_before_) continue;
    const bool lanes =
        loop_->mark == Mark::kVector && roots.size() == 1 && roots[0] == scanned_var(stage_);
    const char* const one_by_one = "its iterations are to run one after the other";
    if (loop_->mark != Mark::kSerial && loop_->mark != Mark::kUnroll && !lanes) return one_by_one;
    std::string why = roots.size() == 1 ? along(roots[0]) : fused();
    if (!why.empty()) return why;
    // A part of the var runs inside the lanes, whose neighbours are not one element apart.
    if (lanes && !written_before_) return one_by_one;
    if (written_before_) carrier_ = static_cast<size_t>(loop_ - stage_.loops.data());
  }
  return written_before_ || !moved ? "" : "no loop runs from what is read to what is written";
}

std::optional<int64_t> CarryingLoop::step_of(const std::string& var) const {
  for (size_t v = 0; v < stage_.vars.size(); ++v) {
    if (stage_.vars[v].name == var) return distance_[v];
  }
  return std::nullopt;  // reduced
}

const Relation* CarryingLoop::maker_of(const std::string& loop) const {
  for (const Relation& r : stage_.relations) {
    if (r.outer == loop || (r.kind == Relation::kSplit && r.inner == loop)) return &r;
  }
  return nullptr;
}

std::vector<std::string> CarryingLoop::roots_of(const std::string& loop) const {
  const Relation* r = maker_of(loop);
  if (!r) return {loop};
  std::vector<std::string> out = roots_of(r->parent);
  if (r->kind == Relation::kFuse) {
    for (std::string& v : roots_of(r->second)) out.push_back(std::move(v));
  }
  return out;
}

/// The loops that a var was split into, outer ones first, which keeps the order of its values.
/// False where they do not run through each value once.
bool CarryingLoop::append_parts(const std::string& loop, std::vector<std::string>& out) const {
  for (const Relation& r : stage_.relations) {
    if (r.kind != Relation::kSplit || r.parent != loop) continue;
    if (r.tail == Tail::kOverlap || r.tail == Tail::kPad) return false;
    return append_parts(r.outer, out) && append_parts(r.inner, out);
  }
  out.push_back(loop);
  return true;
}

/// A loop of one var: of an earlier iteration, or of the same where the var was split and its
/// loops inside decide.
std::string CarryingLoop::along(const std::string& var) {
  const auto step = step_of(var);
  if (!is_earlier(step)) return "what it reads may lie at a later iteration of it";
  std::vector<std::string> parts;
  if (!append_parts(var, parts)) return "its split repeats iterations or runs beyond them";
  const auto at = std::find(parts.begin(), parts.end(), loop_->name);
  const auto place = [&](const std::string& name) {
    return std::find_if(stage_.loops.begin(), stage_.loops.end(),
                        [&](const Loop& l) { return l.name == name; });
  };
  for (auto outer = parts.begin(); outer != at; ++outer) {
    if (place(*outer) > place(loop_->name)) return "loop " + *outer + " is to stand around it";
  }
  written_before_ = at + 1 == parts.end();
  return "";
}

/// Two whole loops fused: as the one inside the other.
std::string CarryingLoop::fused() {
  const Relation* r = maker_of(loop_->name);
  if (r->kind != Relation::kFuse || maker_of(r->parent) || maker_of(r->second)) {
    return "it is made of several loops, and their order is not known";
  }
  const auto outer = step_of(r->parent);
  written_before_ = is_earlier(outer) || (is_same(outer) && is_earlier(step_of(r->second)));
  return written_before_ ? "" : "what it reads may lie at a later iteration of it";
}

}  // namespace hone::ir
