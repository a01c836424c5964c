// SPDX-License-Identifier: Apache-2.0
#include "ops/random_use.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/op.h"

namespace hone::ops {
namespace {

/// Ops whose extents are plain dims: of one result, or of several.
std::vector<Op> ops_of(bool several) {
  std::vector<Op> out;
  for (const Op& op : stock_library().ops) {
    int results = 0;
    bool plain = true;
    for (const Argument& a : op.definition->args) {
      results += a.role == ir::Role::kOutput;
      plain &= a.role != ir::Role::kInOut;
      for (const Term& extent : a.shape) plain &= extent.kind == Term::kName;
    }
    if (plain && results > 0 && (results > 1) == several) out.push_back(op);
  }
  return out;
}

const std::vector<Op>& usable_ops(bool several) {
  static const std::vector<Op> one = ops_of(false), more = ops_of(true);
  return several ? more : one;
}

}  // namespace

std::string RandomUse::statement() {
  constexpr int kTries = 60;
  for (int i = 0; i < kTries; ++i) {
    const Definition& d = *maker_.pick(usable_ops(several_)).definition;
    if (!fits(d)) continue;
    std::vector<std::string> left;
    for (const RandomTensor& t : made_) {
      left.push_back(t.name == "_" ? t.name : left_side(t));
      if (t.name != "_" && t.name != target_.name) maker_.readable_.push_back(t);
    }
    return fmt::format("{} = {}({})", fmt::join(left, ", "), d.name, fmt::join(args_, ", "));
  }
  return {};
}

std::string RandomUse::left_side(const RandomTensor& t) {
  std::vector<std::string> indices;
  for (const int dim : t.dims) {
    const bool stated = !output_ && maker_.chance(50);
    indices.push_back(
        fmt::format("u{}{}", indices.size(), stated ? fmt::format(" in 0..D{}", dim) : ""));
  }
  return fmt::format("{}[{}]", t.name, fmt::join(indices, ","));
}

/// Chooses what the op takes and makes; false where there is nothing that it could take.
bool RandomUse::fits(const Definition& d) {
  batch_.clear();
  dims_.clear();
  types_.clear();
  args_.clear();
  if (maker_.chance(40)) batch_.push_back(maker_.any_dim());
  for (const Argument& a : d.args) {
    if (a.role == ir::Role::kInput && !a.scalar && !take(a)) return false;
  }
  bool any = batch_.empty();
  for (const std::string& arg : args_) any |= arg[0] == '+';
  if (!any) return false;
  size_t next = 0;
  std::vector<std::string> args;
  for (const Argument& a : d.args) {
    if (a.role != ir::Role::kInput) continue;
    args.push_back(a.scalar ? maker_.constant(DType::kI32) : args_[next++].substr(1));
  }
  args_ = std::move(args);
  return make_results(d);
}

/// The target takes one of the results. Others have names of their own, or none.
bool RandomUse::make_results(const Definition& d) {
  std::vector<const Argument*> results;
  for (const Argument& a : d.args) {
    if (a.role == ir::Role::kOutput) results.push_back(&a);
  }
  made_.clear();
  const auto own =
      several_ ? static_cast<size_t>(maker_.below(static_cast<int>(results.size()))) : 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const auto type = types_.find(results[i]->type);
    const auto known = dtype_named(results[i]->type);
    if (type == types_.end() && !known) return false;
    RandomTensor t = target_;
    t.type = known ? *known : type->second.type;
    t.type_name = known ? results[i]->type : type->second.type_name;
    t.dims = batch_;
    for (const Term& extent : results[i]->shape) t.dims.push_back(dim(extent.name));
    if (i == own) {
      target_ = t;
    } else {
      t.name = output_ || maker_.chance(30) ? "_" : fmt::format("{}b{}", target_.name, i);
    }
    made_.push_back(std::move(t));
  }
  return true;
}

/// Chooses a tensor for an argument: `+` before its name where it has the dim of the batch.
bool RandomUse::take(const Argument& a) {
  std::vector<std::string> found;
  for (const RandomTensor& t : maker_.readable_) {
    for (size_t extra = 0; extra <= batch_.size(); ++extra) {
      const auto dims = dims_;
      const auto types = types_;
      if (!t.inout && matches(a, t, extra)) found.push_back((extra ? "+" : " ") + t.name);
      dims_ = dims;
      types_ = types;
    }
  }
  if (found.empty()) return false;
  args_.push_back(maker_.pick(found));
  for (RandomTensor& t : maker_.readable_) {
    if (t.name != args_.back().substr(1)) continue;
    matches(a, t, args_.back()[0] == '+' ? batch_.size() : 0);
    t.used = true;
  }
  return true;
}

bool RandomUse::matches(const Argument& a, const RandomTensor& t, size_t extra) {
  if (t.dims.size() != a.shape.size() + extra) return false;
  const auto known = dtype_named(a.type);
  if (known && *known != t.type) return false;
  if (!known && types_.emplace(a.type, t).first->second.type_name != t.type_name) return false;
  if (extra && t.dims[0] != batch_[0]) return false;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (dims_.emplace(a.shape[i].name, t.dims[extra + i]).first->second != t.dims[extra + i]) {
      return false;
    }
  }
  return true;
}

/// The dim that the op calls `name`: any, where only the result has it.
int RandomUse::dim(const std::string& name) {
  return dims_.emplace(name, maker_.any_dim()).first->second;
}

}  // namespace hone::ops
