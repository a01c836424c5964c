// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/part.h"

#include <utility>

#include "jit/ir/reject.h"

namespace hone::jit {

void SelectionPart::refuse(std::string why) {
  throw ir::Reject(std::move(why), ir::Reject::kRefused);
}

int SelectionPart::width(DType type) const {
  const int bytes = lanes_.count * size_of(type);
  return bytes < 16 ? 16 : bytes;
}

DType SelectionPart::element_type(int buffer) const {
  const DType type = nest_.buffers[buffer].type;
  return type == DType::kBool ? DType::kU8 : type;
}

Mem SelectionPart::argument(int slot) const {
  Mem m;
  m.base = context_.args;
  m.disp = slot * 8;
  return m;
}

Reg SelectionPart::constant_gpr(int64_t value) {
  return code_.define(RegClass::kGpr, 8, X86::mov, {imm(value)});
}

uint64_t SelectionPart::written_by(const ir::Stmt& s) const {
  uint64_t written = 0;
  if (const auto* store = ir::as<ir::StoreStmt>(s)) written = code_.written_by_store(store->buffer);
  for (const ir::StmtRef& child : s.body) {
    if (child) written |= written_by(*child);
  }
  return written;
}

}  // namespace hone::jit
