// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/guards.h"

#include <algorithm>

#include "jit/ir/operations.h"
#include "jit/x86/select/expressions.h"

namespace hone::jit {

using ir::Op;

/// Names begin behind those of instructions and of sequences of them.
/// Fixed by: the numbers that opcodes and CodeWriter::sequence have.
constexpr uint16_t kFirstName = 0xC000;
/// Conditions of one launch that have names.
/// Chosen: a tile has some dozens (not measured).
constexpr size_t kMostNames = 256;

bool Guards::Guarded::operator==(const Guarded& other) const {
  return count == other.count && active == other.active && holds == other.holds &&
         stride == other.stride && ir::equal(otherwise, other.otherwise);
}

bool Guards::append(const ir::Expr& condition, std::vector<Comparison>& out) {
  if (condition->op == Op::kAnd) {
    return append(condition->args[0], out) && append(condition->args[1], out);
  }
  if (!ir::is_comparison(condition->op) || condition->args[0]->type != DType::kI64) return false;
  if (ir::mentions_load(condition) || indices_.depends_on_lane(condition)) return false;
  Comparison c{condition->op, indices_.affine(condition->args[0]),
               indices_.affine(condition->args[1])};
  if (c.left.overflow || c.right.overflow) return false;
  out.push_back(std::move(c));
  return true;
}

std::optional<Opcode> Guards::name_of(const ir::Expr& load, const Affine& stride) {
  if (load->args[2]->op != Op::kFloat && load->args[2]->op != Op::kInt) return std::nullopt;
  if (lanes_.condition.valid()) return std::nullopt;
  Guarded guarded{{}, load->args[2], stride, lanes_.count, lanes_.active};
  if (!append(load->args[1], guarded.holds)) return std::nullopt;
  auto at = std::find(named_.begin(), named_.end(), guarded);
  if (at == named_.end()) {
    if (named_.size() == kMostNames) return std::nullopt;
    at = named_.insert(at, std::move(guarded));
  }
  return Opcode(static_cast<uint16_t>(kFirstName + (at - named_.begin())));
}

}  // namespace hone::jit
