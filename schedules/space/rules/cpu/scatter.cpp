// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/scatter.h"

#include <algorithm>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Vectors of a row that a term adds to, one after the other in a loop of their own.
/// Tuned on: nothing; reckoned as the stores of one line and those after it.
constexpr int64_t kRowVectors = 8;
/// Elements among which terms often go to the same one as the term before, and wait for it.
/// Tuned on: an Intel server (AVX-512); 17 and 162 places.
constexpr int64_t kFewPlaces = 64;
/// Lines that are on their way at a time, from the last cache and from memory.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kNear = 64, kFar = 256;
/// Terms to look ahead.
/// Chosen: as prefetches of what is read (not measured).
constexpr int64_t kLeastAhead = 4, kMostAhead = 64;
/// Bytes of a row that a thread has to itself, so that none of its lines is another's too.
/// Fixed by: the cache line.
constexpr int64_t kLine = 64;

/// The indices of a scatter, by what terms have to do with them.
struct Indices {
  std::vector<std::string> given;      ///< those by which a term's place is looked up
  std::vector<std::string> scattered;  ///< those that terms tell
  std::vector<std::string> along;      ///< the others: of the row that a term adds to
};

Indices indices_of(const ir::Stage& s) {
  Indices out;
  const std::vector<ir::ScatteredVar> scattered = ir::scattered_vars(s);
  for (const ir::IndexVar& v : s.vars) {
    bool told = false, given = false;
    for (const ir::ScatteredVar& other : scattered) {
      told |= other.var == v.name;
      given |= ir::mentions_var(other.at, v.name);
    }
    for (const ir::IndexVar& r : s.rvars) {
      given |= ir::mentions_var(r.hi, v.name) || (r.lo && ir::mentions_var(r.lo, v.name));
    }
    (told ? out.scattered : given ? out.given : out.along).push_back(v.name);
  }
  return out;
}

/// Cuts a row among threads, a few lines or more to each; the loop over the parts, "" where the row
/// is too short.
std::string cut_row(Plan& plan, const std::string& name, const std::string& v) {
  const int64_t threads = plan.machine().threads, extent = plan.facts(name).extent(v);
  const int64_t line = kLine / size_of(plan.program().buffer(plan.stage(name).output)->type);
  const int64_t each = (extent + threads - 1) / threads;
  const int64_t part = (each + line - 1) / line * line;
  if (threads < 2 || part >= extent) return "";
  const Plan::Halves h = plan.split(name, v, part, ir::Tail::kPeel);
  if (!h.inner.empty()) plan.set_window(name, v, part);
  return h.outer;
}

/// Asks ahead for rows that terms go to, where a near cache does not hold them all.
bool ask_ahead(Plan& plan, const std::string& name, const std::string& loop, int64_t row) {
  const ir::Buffer& b = *plan.program().buffer(plan.stage(name).output);
  const int64_t bytes = bytes_of(plan.program(), b);
  if (bytes <= plan.machine().l2) return true;
  const int64_t lines = std::max<int64_t>(1, row * size_of(b.type) / kLine);
  const int64_t ahead = (bytes > plan.machine().l3 ? kFar : kNear) / lines;
  const int64_t distance = std::clamp<int64_t>(ahead, kLeastAhead, kMostAhead);
  const Number asked = plan.knob(knob_name("pf", name), {0, 4, 8, 16, 32, 64}, distance);
  return plan.add(step::prefetch(b.name, {name, loop}, asked));
}

/// The index among those by which places are looked up along which results are neighbours, and so
/// are terms; "" where there is none. The terms of a row's elements are then taken in turn.
std::string neighbours(const Plan& plan, const std::string& name, const Indices& all) {
  const StageFacts& facts = plan.facts(name);
  for (const std::string& v : all.given) {
    const bool terms = std::all_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
      return a.gathers || std::abs(a.stride(v)) <= 1;
    });
    if (terms && facts.store.stride(v) == 1 && facts.extent(v) > 1) return v;
  }
  return {};
}

/// True where loops along indices that no term tells are better around the terms than inside.
/// `last` is the innermost of them, along which no row of results lies. Nor may a row of what terms
/// read, and terms that follow one another should seldom go to one element.
bool terms_inside(Plan& plan, const std::string& name, const Indices& all,
                  const std::string& last) {
  const StageFacts facts = plan.facts(name);
  int64_t places = 1;
  for (const std::string& v : all.scattered) places = saturating_product(places, facts.extent(v));
  const bool waits = plan.stage(name).reduce != ir::Reduce::kLast && places < kFewPlaces;
  const bool rows = std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    return !a.gathers && a.strides.size() > 1 && a.stride(last) == 1;
  });
  return plan.decide("terms of " + name + " inside", 2, rows || waits ? 0 : 1) == 1;
}

bool apply_scatter(Plan& plan, const std::string& name) {
  const Indices all = indices_of(plan.stage(name));
  if (all.scattered.empty()) return plan.declines("no term tells where it goes");
  plan.finish(name);
  const StageFacts facts = plan.facts(name);
  std::vector<ir::Place> scattered;
  for (const std::string& v : all.scattered) {
    if (!ir::runs_scattered(plan.stage(name), v)) scattered.push_back({name, v});
  }
  if (!scattered.empty() && !plan.add(step::scatter(scattered))) return false;
  std::vector<std::string> along = all.along;
  std::stable_sort(along.begin(), along.end(), [&](const std::string& a, const std::string& b) {
    return std::abs(facts.store.stride(a)) > std::abs(facts.store.stride(b));
  });
  const std::string row =
      along.empty() || facts.store.stride(along.back()) != 1 ? "" : along.back();
  const bool copied = !plan.stage(name).factored.empty();
  // What is only stored waits for nothing; what is read before is asked for ahead, term by term.
  const bool stored = plan.stage(name).reduce == ir::Reduce::kLast && row.empty() && !copied;
  const std::string inner = stored ? neighbours(plan, name, all) : "";
  std::vector<std::string> order = all.given;
  std::erase(order, inner);
  const std::string parts = row.empty() || !all.given.empty() ? "" : cut_row(plan, name, row);
  if (!parts.empty()) order.push_back(parts);
  const bool inside = row.empty() && !along.empty() && terms_inside(plan, name, all, along.back());
  if (inside) order.insert(order.end(), along.begin(), along.end());
  order.insert(order.end(), all.scattered.begin(), all.scattered.end());
  const ir::Stage s = plan.stage(name);
  for (const ir::Loop& l : s.loops) {
    if (is_reduction(s, l.name)) order.push_back(l.name);
  }
  for (const std::string& copy : s.factored) {
    if (!plan.add(step::unroll({name, copy}))) return false;
  }
  for (const std::string& v : along) {
    if (v != row && !inside) order.push_back(v);
  }
  std::string terms;
  for (const ir::Loop& l : s.loops) {
    if (is_reduction(s, l.name)) terms = l.name;
  }
  const int64_t each = row.empty() ? 1 : plan.facts(name).extent(row);
  if (!inner.empty()) order.push_back(plan.loop_of(name, inner));
  if (!row.empty()) order.push_back(plan.loop_of(name, row));
  const int64_t vectors = kRowVectors * plan.lanes(widest_type(plan.program(), s));
  if (each > vectors) {
    const Plan::Halves h = plan.split(name, row, vectors, ir::Tail::kPeel);
    if (h.outer.empty()) return false;
    order.back() = h.outer;
    order.push_back(h.inner);
  }
  if (!order_loops(plan, name, order)) return false;
  if (!copied && inner.empty() && !ask_ahead(plan, name, terms, each)) return false;
  return each < 2 || plan.add(step::vectorize({name, order.back()}));
}

}  // namespace

const Rule cpu::kScatter = {
    "scatter",
    "A reduction whose terms tell to which element they go: each term in order, to all of its row "
    "as vectors. Threads have parts of the rows, or what indices tell that look up the places.",
    apply_scatter,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
