// SPDX-License-Identifier: Apache-2.0
#include "ops/lowering_context.h"

namespace hone::ops {

DType LoweringContext::type_named(std::string_view name) const {
  if (const auto type = dtype_named(name)) return *type;
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (op.params[i].name == name) return binding.types[i];
  }
  return DType::kF32;
}

/// A scalar is not stored: of a dtype parameter it is passed in the type of arithmetic. So is one
/// of a type that only tensors have.
DType LoweringContext::scalar_type(const Argument& a) const {
  const DType type = type_named(a.type);
  const bool stored_only = is_packed(type) || type == DType::kF8E4M3 || type == DType::kF8E5M2;
  return op.param(a.type) || stored_only ? widened(type) : type;
}

ir::Expr LoweringContext::number_named(std::string_view name) const {
  for (size_t i = 0; i < op.dims.size(); ++i) {
    if (op.dims[i] == name) return binding.dims[i];
  }
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (op.params[i].name == name && !op.params[i].is_type) return binding.ints[i];
  }
  return {};
}

const Index* LoweringContext::index_named(std::string_view name) const {
  for (const Index& index : scope) {
    if (index.name == name) return &index;
  }
  return nullptr;
}

bool LoweringContext::names_something(std::string_view name) const {
  if (op.param(name) || op.arg(name) || number_named(name)) return true;
  for (const Statement& s : op.statements) {
    if (s.name == name) return true;
  }
  return false;
}

const ir::Buffer& LoweringContext::buffer_of(const std::string& tensor) const {
  return program.buffers[tensors.find(tensor)->second.buffer];
}

}  // namespace hone::ops
