// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "jit/ir/spelling.h"
#include "ops/gradient/adjoint.h"
#include "ops/gradient/assembly.h"
#include "ops/gradient/equations.h"

namespace hone::ops {
namespace {

/// The names of the floats that an op takes; `tensors`: without scalars.
std::vector<std::string> float_arguments(const Equations& equations, bool tensors = false) {
  std::vector<std::string> out;
  for (const Argument& a : equations.op().args) {
    const bool in = a.role != ir::Role::kOutput && !(tensors && a.scalar);
    if (in && equations.is_real_type(a.type)) out.push_back(a.name);
  }
  return out;
}

Failure no_name(const Definition& d, const std::string& what, const std::string& name,
                std::vector<std::string> known) {
  const std::string hint = ir::did_you_mean(name, known);
  return {ErrorCode::kNotFound,
          fmt::format("`{}` has no {} `{}`; it has {}{}", d.name, what, name,
                      known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")), hint)};
}

/// The arguments that the gradient is asked for, checked.
Result<std::vector<std::string>> wanted(const Equations& equations,
                                        const std::vector<std::string>& wrt) {
  const Definition& d = equations.op();
  if (wrt.empty()) {
    std::vector<std::string> all = float_arguments(equations, true);
    if (!all.empty()) return all;
    Diagnostics diagnostics(d.source);
    diagnostics.error(d.span, "this op takes no tensors of floats, and integers have no derivative",
                      ErrorCode::kUnsupported);
    return diagnostics.failure();
  }
  std::vector<std::string> out;
  for (const std::string& name : wrt) {
    const Argument* a = d.arg(name);
    if (!a || a->role == ir::Role::kOutput) {
      std::vector<std::string> known;
      for (const Argument& other : d.args) {
        if (other.role != ir::Role::kOutput) known.push_back(other.name);
      }
      return no_name(d, "argument", name, std::move(known));
    }
    if (!equations.is_real_type(a->type)) {
      Diagnostics diagnostics(d.source);
      diagnostics.error(cover(a->span, a->type_span),
                        fmt::format("`{}` is of integers or bools, which have no derivative; ask "
                                    "for those of floats: {}",
                                    name, fmt::join(float_arguments(equations), ", ")),
                        ErrorCode::kUnsupported);
      return diagnostics.failure();
    }
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

Result<std::set<std::string>> taken(const Equations& equations,
                                    const std::vector<std::string>& take) {
  const Definition& d = equations.op();
  std::set<std::string> out;
  for (const std::string& name : take) {
    const Equation* e = equations.find(name);
    if (!e || e->part) {
      std::vector<std::string> known;
      for (const Equation& other : equations.all()) {
        if (!other.part) known.push_back(other.name);
      }
      return no_name(d, "value to take", name, std::move(known));
    }
    out.insert(name);
  }
  return out;
}

/// A float result there must be.
std::optional<Failure> without_results(const Equations& equations) {
  const Definition& d = equations.op();
  const Argument* result = nullptr;
  for (const Argument& a : d.args) {
    if (a.role != ir::Role::kOutput && a.role != ir::Role::kInOut) continue;
    if (equations.is_real_type(a.type)) return {};
    result = &a;
  }
  Diagnostics diagnostics(d.source);
  diagnostics.error(cover(result->span, result->type_span),
                    "no result of this op is a float, and integers and bools have no derivative",
                    ErrorCode::kUnsupported);
  return diagnostics.failure();
}

}  // namespace

Result<AdjointOp> adjoint_of(const Op& op, const GradientRequest& request) {
  const Definition& d = *op.definition;
  Equations equations(d);
  const auto built = equations.build();
  if (!built) return built.failure();
  if (auto failure = without_results(equations)) return *failure;
  const auto wrt = wanted(equations, request.wrt);
  if (!wrt) return wrt.failure();
  const auto take = taken(equations, request.take);
  if (!take) return take.failure();
  Diagnostics diagnostics(d.source);
  Adjoint adjoint(equations, *wrt, *take, diagnostics);
  if (!adjoint.build()) return diagnostics.failure();
  const std::string text = print(Assembly(equations, adjoint, *take).definition());
  auto out = Op::parse(text);
  if (out) return AdjointOp{*std::move(out), adjoint.given(), adjoint.made()};
  diagnostics.error(
      d.span,
      fmt::format("the language cannot check the gradient of `{}` as it came out:\n{}", d.name,
                  out.failure().message),
      ErrorCode::kUnsupported);
  return diagnostics.failure();
}

Result<Op> gradient(const Op& op, const GradientRequest& request) {
  auto made = adjoint_of(op, request);
  if (!made) return made.failure();
  return std::move(made->op);
}

std::string lines_of_op(const Op& op) {
  std::string head = op.text();
  head.resize(head.find(" { ") + 2);
  std::string out = head + "\n";
  const Definition& d = *op.definition;
  for (const Statement& s : d.statements) out += "  " + print(s) + "\n";
  return out + "}\n";
}

}  // namespace hone::ops
