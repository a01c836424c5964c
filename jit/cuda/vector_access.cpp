// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/vector_access.h"

#include <algorithm>
#include <numeric>

namespace hone::jit {

using namespace ir;

namespace {

/// The largest number that divides all terms of `p`; 0 where there are none.
int64_t common_factor(const Poly& p) {
  int64_t g = 0;
  for (const Poly::Term& t : p.terms()) g = std::gcd(g, t.coef);
  return g;
}

/// True when `p` is not negative in all lanes, or negative in all, whatever the other loops do.
bool same_sign(const Poly& p, const VectorLanes& lanes) {
  const int64_t step = p.loop_coef(lanes.loop);
  const Poly rest =
      p - Poly(step) * Poly::atom(make_var("", lanes.loop)) + Poly(step) * Poly::of(lanes.begin);
  if (rest.mentions_loop(lanes.loop)) return false;
  const int64_t reach = (step < 0 ? -step : step) * (lanes.count - 1);
  const int64_t g = common_factor(rest);
  if (g == 0) {
    const int64_t last = rest.constant() + step * (lanes.count - 1);
    return (rest.constant() >= 0) == (last >= 0);
  }
  // The values of `rest` lie g apart: none may lie where some lanes are on either side of 0.
  const int64_t lowest = ((rest.constant() % g) + g) % g;
  return step >= 0 ? lowest + reach < g : lowest >= reach;
}

}  // namespace

Expr in_first_lane(const Expr& e, const VectorLanes& lanes) {
  return rewrite(e, [&](const Expr& x) {
    return x->op == Op::kVar && x->id == lanes.loop ? lanes.begin : Expr();
  });
}

int64_t access_width(const NestBuffer& buffer, const Expr& offset, const VectorLanes& lanes,
                     const Facts& facts) {
  const Poly p = Poly::of(offset, &facts);
  const Poly first = Poly::of(in_first_lane(offset, lanes), &facts);
  const Poly past = p - Poly::atom(make_var("", lanes.loop));
  if (p.loop_coef(lanes.loop) != 1 || past.mentions_loop(lanes.loop)) return 1;
  const int64_t size = size_of(buffer.type);
  int64_t apart = std::gcd(common_factor(first), first.constant());
  apart = std::gcd(apart, std::max(buffer.align, size) / size);
  int64_t width = 1;
  while (2 * width * size <= kLongestAccess && lanes.count % (2 * width) == 0 &&
         apart % (2 * width) == 0) {
    width *= 2;
  }
  return width;
}

bool is_uniform(const Expr& condition, const VectorLanes& lanes, const Facts& facts) {
  if (!mentions_loop(condition, lanes.loop)) return true;
  switch (condition->op) {
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot:
      return std::all_of(condition->args.begin(), condition->args.end(),
                         [&](const Expr& a) { return is_uniform(a, lanes, facts); });
    case Op::kLt:
    case Op::kLe:
      break;
    default:
      return false;
  }
  const Expr &a = condition->args[0], &b = condition->args[1];
  if (a->type != DType::kI64) return false;
  const Poly strict(condition->op == Op::kLt ? 1 : 0);
  return same_sign(Poly::of(b, &facts) - Poly::of(a, &facts) - strict, lanes);
}

}  // namespace hone::jit
