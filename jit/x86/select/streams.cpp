// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/streams.h"

#include <numeric>

namespace hone::jit {

uint64_t Streams::streamed_by(const ir::Stmt& s) const {
  uint64_t streamed = 0;
  if (const auto* store = ir::as<ir::StoreStmt>(s)) {
    const ir::NestBuffer& b = nest_.buffers[store->buffer];
    const bool reached = b.home == ir::Home::kArgument || b.home == ir::Home::kBound;
    if (b.stream && reached && store->reduce == ir::Reduce::kNone && store->buffer < 63) {
      streamed = CodeWriter::buffer_bit(store->buffer);
    }
  }
  for (const ir::StmtRef& child : s.body) {
    if (child) streamed |= streamed_by(*child);
  }
  return streamed;
}

void Streams::branch_unless_aligned(uint64_t buffers, int label) {
  Reg all;
  for (size_t b = 0; b < nest_.buffers.size() && b < 63; ++b) {
    if (!(buffers & CodeWriter::buffer_bit(static_cast<int>(b)))) continue;
    const Reg base = addresses_.base(static_cast<int>(b));
    all = all.valid() ? code_.update(RegClass::kGpr, 8, all, X86::or_, {greg(base)}) : base;
  }
  code_.emit(X86::test, {greg(all), imm(target_.vector_bytes() - 1)});
  code_.emit(Pseudo::jump_ne, {imm(label)});
}

int64_t Streams::alignment_of(int buffer, const Affine& offset) const {
  const int64_t size = size_of(nest_.buffers[buffer].type);
  int64_t common = std::gcd(offset.constant * size, int64_t{target_.vector_bytes()});
  for (int i = 0; i < offset.count; ++i) {
    int64_t step = offset.terms[i].coefficient * size;
    for (int32_t f : offset.terms[i].factors) {
      if (f == 0 || Factor::kind(f) != Factor::kLoop) continue;
      const LoopState& s = indices_.loop(Factor::id(f));
      if (s.begin.is_constant()) step *= std::gcd(s.begin.constant, s.step);
    }
    common = std::gcd(common, step);
  }
  return common;
}

bool Streams::store(int buffer, const Affine& first, const Mem& m, Reg reg, int bytes) {
  if (!streaming_ || !nest_.buffers[buffer].stream || bytes != target_.vector_bytes()) return false;
  if (alignment_of(buffer, first) % bytes != 0) return false;
  code_.emit(X86::vmovntps, {mem(m), vreg(reg, bytes)});
  return true;
}

}  // namespace hone::jit
