// SPDX-License-Identifier: Apache-2.0
#include "schedules/model/loop_values.h"

#include <algorithm>
#include <cmath>

#include "jit/ir/visit.h"

namespace hone::schedules {

using namespace ir;

namespace {

/// What a number that data decide is taken for.
/// Fixed by: nothing known; a moderate size.
constexpr double kFromData = 16;

/// Elements apart that are read as whole vectors, and shuffles of them.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kMostSpread = 4;

/// Loads and shuffles of a vector whose elements lie near together in another order.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kShuffled = 3;

/// Pages whose addresses a core has at hand.
/// Fixed by: recent cores.
constexpr double kPagesAtHand = 64;

/// True if all places that `p` comes to, but for loop `id`, are multiples of `lanes`.
bool is_aligned(const Poly& p, int id, double lanes) {
  const auto step = static_cast<int64_t>(lanes);
  const auto fits = [&](const Poly::Term& t) {
    const bool own =
        t.factors.size() == 1 && t.factors[0]->op == Op::kVar && t.factors[0]->id == id;
    return own || t.coef % step == 0;
  };
  return p.constant() % step == 0 && std::all_of(p.terms().begin(), p.terms().end(), fits);
}

/// True of a division by a constant, and of the least or greatest of two.
bool turns(const Expr& e) {
  if (e->op == Op::kMin || e->op == Op::kMax) return true;
  return (e->op == Op::kDiv || e->op == Op::kMod) && is_const(e->args[1]);
}

/// True where each step of loop `id` moves `p` by an element or none. Of other loops those in
/// `unrolled` alone may change where: then lane i is as far from the first at all times.
bool keeps_places(const Poly& p, int id, const std::vector<int>& unrolled) {
  return std::all_of(p.terms().begin(), p.terms().end(), [&](const Poly::Term& t) {
    if (std::none_of(t.factors.begin(), t.factors.end(),
                     [&](const Expr& f) { return mentions_loop(f, id); })) {
      return true;
    }
    const Expr& f = t.factors[0];
    if (t.factors.size() != 1 || std::abs(t.coef) != 1 || !turns(f)) return false;
    return !any_node(f, [&](const Expr& e) {
      const bool fixed =
          e->op == Op::kVar && (e->id == id || std::count(unrolled.begin(), unrolled.end(), e->id));
      return e->args.empty() && e->op != Op::kInt && !fixed;
    });
  });
}

}  // namespace

double LoopValues::number(const Expr& e) const {
  const auto arg = [&](size_t i) { return number(e->args[i]); };
  switch (e->op) {
    case Op::kInt:
      return static_cast<double>(e->i);
    case Op::kVar:
      for (const OpenLoop& l : loops_) {
        if (l.id == e->id) return l.begin + (l.trips - 1) / 2;
      }
      return 0;
    case Op::kDim: {
      const Dim& d = nest_.dims[static_cast<size_t>(e->id)];
      return static_cast<double>(d.at.empty() ? d.hi : d.at.back());
    }
    case Op::kAdd:
      return arg(0) + arg(1);
    case Op::kSub:
      return arg(0) - arg(1);
    case Op::kNeg:
      return -arg(0);
    case Op::kMul:
      return arg(0) * arg(1);
    case Op::kDiv:
      return arg(1) == 0 ? 0 : std::floor(arg(0) / arg(1));
    case Op::kMin:
      return std::min(arg(0), arg(1));
    case Op::kMax:
      return std::max(arg(0), arg(1));
    default:
      return kFromData;
  }
}

double LoopValues::share(const Expr& e) const {
  switch (e->op) {
    case Op::kAnd:
      return share(e->args[0]) * share(e->args[1]);
    case Op::kLt:
    case Op::kLe:
      return e->args[0]->type == DType::kI64 ? share_of_comparison(e) : 1;
    default:
      return 1;
  }
}

/// A comparison that is linear in one of the open loops holds at one end of its range.
double LoopValues::share_of_comparison(const Expr& e) const {
  const Poly slack = Poly::of(e->args[1]) - Poly::of(e->args[0]) - Poly(e->op == Op::kLt ? 1 : 0);
  for (size_t i = loops_.size(); i-- > 0;) {
    const OpenLoop& l = loops_[i];
    const auto slope = static_cast<double>(slack.loop_coef(l.id));
    if (slope == 0 || l.trips <= 1) continue;
    const double middle = number(slack.expr());
    const double reach = std::abs(slope) * (l.trips - 1) / 2;
    return std::clamp((std::floor((middle + reach) / std::abs(slope)) + 1) / l.trips, 0.0, 1.0);
  }
  return number(slack.expr()) >= 0 ? 1 : 0;
}

void LoopValues::open(const ForStmt& s) {
  const double begin = number(s.begin);
  const bool by_data = mentions_load(s.end);
  const double trips = by_data ? kFromData : std::max(0.0, number(s.end) - begin);
  loops_.push_back({s.loop, s.mark, begin, trips, s.instruction});
}

void LoopValues::open(const Launch& launch) {
  loops_.push_back({launch.range, Mark::kSerial, 0, number(launch.extent)});
}

Touches LoopValues::touches(const Expr& offset, int buffer, bool guarded) const {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
  const double lanes = std::max(1.0, static_cast<double>(machine_.vector_bytes) / size_of(b.type));
  const Poly p = Poly::of(offset);
  Touches out;
  int64_t group = 1;  // elements that a lane takes at once
  std::vector<int> unrolled;
  for (const OpenLoop& l : loops_) {
    if (l.mark != Mark::kSerial) unrolled.push_back(l.id);
  }
  for (size_t i = loops_.size(); i-- > 0 && loops_[i].mark != Mark::kSerial;) {
    const OpenLoop& l = loops_[i];
    const bool depends = p.mentions_loop(l.id);
    if (l.mark == Mark::kTensor) {
      if (depends) group = l.instruction->group;
    } else if (l.mark == Mark::kVector) {
      const double chunks = std::ceil(l.trips * static_cast<double>(group) / lanes);
      out.points *= chunks;
      if (!depends) {
        out.lanes += std::min(l.trips, lanes);
        continue;
      }
      // What lies near together is read as vectors and shuffled; the rest lane by lane.
      const auto apart = static_cast<double>(std::abs(p.loop_coef(l.id)) / group);
      const bool near = apart == 1 || (apart > 1 && apart <= kMostSpread && !guarded);
      const bool shuffled = !near && !guarded && keeps_places(p, l.id, unrolled);
      out.distinct *= near       ? chunks * (2 * apart - 1)
                      : shuffled ? chunks * kShuffled
                                 : (guarded ? 4 : 2) * l.trips;
      if (!near && !shuffled) out.scattered = guarded ? 0.25 : 0.5;
      if (apart == 1 && l.trips >= lanes) out.unaligned = is_aligned(p, l.id, lanes) ? 0 : 1;
    } else {
      out.points *= l.trips;
      if (depends) out.distinct *= l.trips;
    }
  }
  out.scattered *= out.distinct;
  out.unaligned *= out.distinct;
  out.pages = pages(p, b);
  return out;
}

/// Pages that one iteration of the innermost serial loop touches, where the next one leaps to
/// others; 0 for what few pages hold.
double LoopValues::pages(const Poly& p, const NestBuffer& b) const {
  const auto page = static_cast<double>(machine_.page_bytes);
  const double size = size_of(b.type);
  if (number(b.elements) * size <= kPagesAtHand * page) return 0;
  double count = 1;
  for (size_t i = loops_.size(); i-- > 0;) {
    const OpenLoop& l = loops_[i];
    const bool leaps = std::abs(static_cast<double>(p.loop_coef(l.id))) * size >= page;
    if (l.mark == Mark::kSerial) return leaps ? count : 0;
    if (leaps) count *= l.trips;
  }
  return 0;
}

bool LoopValues::differs_in_lanes(const Expr& e) const {
  return std::any_of(loops_.begin(), loops_.end(), [&](const OpenLoop& l) {
    return l.mark == Mark::kVector && mentions_loop(e, l.id);
  });
}

bool LoopValues::known_in_lanes(const Expr& e) const {
  if (e->op == Op::kAnd) return known_in_lanes(e->args[0]) && known_in_lanes(e->args[1]);
  if (!differs_in_lanes(e)) return true;
  const auto varies = [&](const Expr& x) {
    if (x->op == Op::kDim || x->op == Op::kScalar || x->op == Op::kLoad) return true;
    return x->op == Op::kVar && std::any_of(loops_.begin(), loops_.end(), [&](const OpenLoop& l) {
             return l.id == x->id && l.mark == Mark::kSerial;
           });
  };
  return !any_node(e, varies);
}

int LoopValues::branches_of(const Expr& condition) const {
  if (condition->op == Op::kAnd) {
    return branches_of(condition->args[0]) + branches_of(condition->args[1]);
  }
  return is_const(condition) || differs_in_lanes(condition) ? 0 : 1;
}

bool LoopValues::moves_in_serial(const Expr& offset) const {
  for (size_t i = loops_.size(); i-- > 0;) {
    if (loops_[i].mark == Mark::kSerial) return mentions_loop(offset, loops_[i].id);
  }
  return false;
}

double LoopValues::share_far(const Expr& offset, const NestBuffer& b) const {
  const Poly p = Poly::of(offset);
  const double middle = number(p.expr());
  double reach = 0;
  for (const OpenLoop& l : loops_) {
    reach += std::abs(static_cast<double>(p.loop_coef(l.id))) * (std::max(1.0, l.trips) - 1) / 2;
  }
  if (reach == 0) return 0;
  const double page = static_cast<double>(machine_.page_bytes) / size_of(b.type);
  const double before = std::max(0.0, reach - middle - page);
  const double behind = std::max(0.0, middle + reach - number(b.elements) - page);
  return std::min(1.0, (before + behind) / (2 * reach));
}

}  // namespace hone::schedules
