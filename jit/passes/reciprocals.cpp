// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/reciprocals.h"

#include <cmath>
#include <limits>
#include <utility>

#include "jit/ir/build.h"
#include "jit/ir/functions/function.h"
#include "jit/ir/visit.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Stands in no program, which back ends that evaluate functions would see.
double unknown(double, double) { return std::numeric_limits<double>::quiet_NaN(); }

/// The parts of a reciprocal, as functions that the language does not have.
constexpr Function kScale = {.name = "reciprocal.scale",
                             .arity = 1,
                             .eval = unknown,
                             .error = ErrorClass::kExact,
                             .expansion = Expansion::kReciprocalScale,
                             .singles = {5, 0},
                             .doubles = {5, 0},
                             .device_length = 0,
                             .device = {}};
constexpr Function kHigh = {.name = "reciprocal.high",
                            .arity = 1,
                            .eval = unknown,
                            .error = ErrorClass::kExact,
                            .expansion = Expansion::kReciprocalHigh,
                            .singles = {14, 4},
                            .doubles = {14, 4},
                            .device_length = 0,
                            .device = {}};
constexpr Function kLow = {.name = "reciprocal.low",
                           .arity = 2,
                           .eval = unknown,
                           .error = ErrorClass::kExact,
                           .expansion = Expansion::kReciprocalLow,
                           .singles = {11, 4},
                           .doubles = {11, 4},
                           .device_length = 0,
                           .device = {}};

bool is_marked(const Expr& e) {
  return e->reciprocal && (e->type == DType::kF32 || e->type == DType::kF64);
}

/// True of a constant far from the ends of its type's range, which is never scaled.
bool is_moderate(const Expr& e) {
  return e->op == Op::kFloat && std::fabs(e->f) > 0x1p-60 && std::fabs(e->f) < 0x1p60;
}

Expr product_of(const Expr& quotient) {
  const Expr &x = quotient->args[0], &s = quotient->args[1];
  const Expr high = make_call(&kHigh, {s});
  const Expr scaled = is_moderate(s) ? x : x * make_call(&kScale, {s});
  return scaled * high + scaled * make_call(&kLow, {s, high});
}

Expr without_quotients(const Expr& e) {
  if (!any_node(e, is_marked)) return e;
  return rewrite(e, [](const Expr& x) { return is_marked(x) ? product_of(x) : Expr(); });
}

StmtRef without_quotients(const StmtRef& s) {
  if (const auto* store = as<StoreStmt>(*s)) {
    StoreStmt now = *store;
    now.offset = without_quotients(store->offset);
    now.value = without_quotients(store->value);
    return make_stmt(std::move(now));
  }
  return rewrite_children(s, [](const StmtRef& b) { return without_quotients(b); });
}

bool has_quotients(const Nest& nest) {
  bool found = false;
  for (const Launch& l : nest.launches) {
    for_each(*l.body, [&](const Stmt& s) {
      const auto* store = as<StoreStmt>(s);
      if (store) found |= any_node(store->value, is_marked) || any_node(store->offset, is_marked);
    });
  }
  return found;
}

}  // namespace

std::optional<Nest> with_reciprocals(const Nest& nest) {
  if (!has_quotients(nest)) return std::nullopt;
  Nest out = nest;
  for (Launch& l : out.launches) l.body = without_quotients(l.body);
  return out;
}

}  // namespace hone::jit
