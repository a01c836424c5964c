// SPDX-License-Identifier: Apache-2.0
// Non-temporal stores: whole vectors at addresses that are multiples of their size.
#include <numeric>

#include "jit/x86/select_context.h"

namespace hone::jit {

/// Buffers that the statement streams to.
uint64_t Selector::streamed_by(const ir::Stmt& s) const {
  uint64_t streamed = 0;
  if (s.kind == ir::Stmt::kStore) {
    const ir::NestBuffer& b = nest_.buffers[s.id];
    const bool reached = b.home == ir::Home::kArgument || b.home == ir::Home::kBound;
    if (b.stream && reached && s.reduce == ir::Reduce::kNone && s.id < 63) {
      streamed = CodeWriter::buffer_bit(s.id);
    }
  }
  for (const ir::StmtRef& child : s.body) {
    if (child) streamed |= streamed_by(*child);
  }
  return streamed;
}

/// Jumps where one of the buffers does not start at a multiple of the vector's size.
void Selector::branch_unless_aligned(uint64_t buffers, int label) {
  Reg all;
  for (size_t b = 0; b < nest_.buffers.size() && b < 63; ++b) {
    if (!(buffers & CodeWriter::buffer_bit(static_cast<int>(b)))) continue;
    const Reg base = base_pointer(static_cast<int>(b));
    all = all.valid() ? code.update(RegClass::kGpr, 8, all, X86::or_, {greg(base)}) : base;
  }
  code.emit(X86::test, {greg(all), imm(target_.vector_bytes() - 1)});
  code.emit(Pseudo::jump_ne, {imm(label)});
}

/// Bytes of which the element's distance from its buffer's start is always a multiple, up to the
/// vector's size.
int64_t Selector::alignment_of(int buffer, const Affine& offset) const {
  const int64_t size = size_of(nest_.buffers[buffer].type);
  int64_t common = std::gcd(offset.constant * size, int64_t{target_.vector_bytes()});
  for (int i = 0; i < offset.count; ++i) {
    int64_t step = offset.terms[i].coefficient * size;
    for (int32_t f : offset.terms[i].factors) {
      if (f == 0 || Factor::kind(f) != Factor::kLoop) continue;
      const LoopState& s = loops_[Factor::id(f)];
      if (s.begin.is_constant()) step *= std::gcd(s.begin.constant, s.step);
    }
    common = std::gcd(common, step);
  }
  return common;
}

/// Stores a whole vector past the caches; false where it has to be an ordinary store.
bool Selector::stream_store(int buffer, const Affine& first, const Mem& m, Reg reg, int bytes) {
  if (!streaming_ || !nest_.buffers[buffer].stream || bytes != target_.vector_bytes()) return false;
  if (alignment_of(buffer, first) % bytes != 0) return false;
  code.emit(X86::vmovntps, {mem(m), vreg(reg, bytes)});
  return true;
}

}  // namespace hone::jit
