// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/group_stores.h"

#include "jit/x86/select/by_size.h"

namespace hone::jit {
namespace {

/// Whether the value reads the tensor that it is stored to, at another element: one that an
/// iteration before may have written.
bool reads_others(const ir::StoreStmt& store) {
  bool found = false;
  ir::visit(store.value, [&](const ir::Expr& e) {
    if (e->op != ir::Op::kLoad || e->id != store.buffer) return;
    found |= !ir::equal(e->args[0], store.offset);
  });
  return found;
}

}  // namespace

bool GroupStores::fills(const ir::ForStmt& s, const Affine& begin, int64_t extent, Affine& first) {
  if (lanes_.scan) return false;
  if (lanes_.loop < 0 || lanes_.active < 0 || lanes_.condition.valid()) return false;
  if (extent < 2 || extent > 4 || s.body.size() != 1) return false;
  const auto* store = ir::as<ir::StoreStmt>(*s.body[0]);
  if (store == nullptr || store->reduce != ir::Reduce::kNone || reads_others(*store)) return false;
  const ir::NestBuffer& to = nest_.buffers[store->buffer];
  const int size = size_of(to.type);
  // Registers are stored whole, so whole ones are needed.
  const bool fits =
      lanes_.active * size % 16 == 0 && size * extent <= 16 && to.type != DType::kBool;
  if (!fits || to.home == ir::Home::kRegisters || to.stream || store->value->type != to.type) {
    return false;
  }
  const Binding outer = bindings_[s.loop];
  bindings_[s.loop] = {true, 0, begin};
  bool found = indices_.lane_index(store->offset, first);
  for (int64_t i = 1; i < extent && found; ++i) {
    Affine next;
    bindings_[s.loop] = {true, 0, begin + Affine::of(i)};
    found = indices_.lane_index(store->offset, next) && next == first + Affine::of(i);
  }
  bindings_[s.loop] = outer;
  if (!found) return false;
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine stride = first.coefficient_of(lane);
  first = first.without(lane);
  return stride.is_constant() && stride.constant == extent;
}

void GroupStores::store(const ir::ForStmt& s, const Affine& begin, int64_t extent,
                        const Affine& first) {
  const auto& store = ir::to<ir::StoreStmt>(*s.body[0]);
  const Binding outer = bindings_[s.loop];
  std::vector<Value> rows;
  for (int64_t i = 0; i < extent; ++i) {
    bindings_[s.loop] = {true, 0, begin + Affine::of(i)};
    rows.push_back(value(store.value));
  }
  bindings_[s.loop] = outer;
  Mem m = addresses_.address(store.buffer, first);
  const int size = size_of(rows[0].type);
  const int per = 16 / size;
  for (int lane = 0; lane < lanes_.active; lane += per) {
    std::vector<Reg> parts;
    int within = 0;
    for (const Value& row : rows) parts.push_back(vectors_.quarter_of(row, lane, within));
    for (Reg r : interleaved(parts, size)) {
      code_.emit(X86::vmovups, {mem(m), vreg(r, 16)});
      m.disp += 16;
    }
  }
  code_.clobber(store.buffer);
}

std::vector<Reg> GroupStores::interleaved(const std::vector<Reg>& rows, int size) {
  const auto pair = [&](Reg a, Reg b, int bytes, bool upper) {
    return code_.define(RegClass::kVec, 16, interleave_of(bytes, upper),
                        {vreg(a, 16), vreg(b, 16)});
  };
  if (rows.size() == 3) return interleaved_by_bytes(rows, size);
  if (rows.size() == 2) {
    return {pair(rows[0], rows[1], size, false), pair(rows[0], rows[1], size, true)};
  }
  std::vector<Reg> out;
  for (bool upper : {false, true}) {
    const Reg even = pair(rows[0], rows[1], size, upper), odd = pair(rows[2], rows[3], size, upper);
    out.push_back(pair(even, odd, 2 * size, false));
    out.push_back(pair(even, odd, 2 * size, true));
  }
  return out;
}

std::vector<Reg> GroupStores::interleaved_by_bytes(const std::vector<Reg>& rows, int size) {
  // Fixed by: x86, registers of 16 bytes and the number of a byte that is 0.
  constexpr int kBytes = 16;
  constexpr uint8_t kZero = 0x80;
  const auto count = static_cast<int>(rows.size());
  std::vector<Reg> out;
  for (int part = 0; part < count; ++part) {
    Reg all;
    for (int row = 0; row < count; ++row) {
      std::vector<uint8_t> numbers(kBytes, kZero);
      for (int i = 0; i < kBytes; ++i) {
        const int byte = part * kBytes + i, element = byte / size;
        if (element % count == row) {
          numbers[static_cast<size_t>(i)] =
              static_cast<uint8_t>(element / count * size + byte % size);
        }
      }
      const Reg index = code_.load_pool(kBytes, X86::vmovups, code_.pool(numbers.data(), kBytes));
      const Reg own =
          code_.define(RegClass::kVec, kBytes, X86::vpshufb,
                       {vreg(rows[static_cast<size_t>(row)], kBytes), vreg(index, kBytes)});
      all = row == 0 ? own
                     : code_.define(RegClass::kVec, kBytes, X86::vpor,
                                    {vreg(all, kBytes), vreg(own, kBytes)});
    }
    out.push_back(all);
  }
  return out;
}

}  // namespace hone::jit
