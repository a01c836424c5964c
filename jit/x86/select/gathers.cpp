// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/gathers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "jit/x86/select/by_size.h"

namespace hone::jit {

Value Gathers::assembled(int buffer, const std::function<Mem(int)>& address_of) {
  const DType type = element_type(buffer);
  const int size = size_of(type), per = 16 / size, w = width(type);
  const auto element = [&](Reg quarter, int within, const Mem& m) {
    const Operand at = mem(m);
    const auto put = [&](X86 op, const Operand& where) {
      return code_.load(RegClass::kVec, 16, op, at, buffer, {}, vreg(quarter, 16), where);
    };
    if (!quarter.valid()) {
      const X86 first = size == 4 ? X86::vmovss : size == 8 ? X86::vmovsd : broadcast_of(size, 16);
      return code_.load(RegClass::kVec, 16, first, at, buffer);
    }
    switch (size) {
      case 1:
        return put(X86::vpinsrb, imm(within));
      case 2:
        return put(X86::vpinsrw, imm(within));
      case 4:
        return put(X86::vinsertps, imm(within << 4));
      default:
        return put(X86::vmovhpd, {});
    }
  };
  Reg all;
  for (int q = 0; q * per < lanes_.active; ++q) {
    Reg quarter;
    for (int i = 0; i < per && q * per + i < lanes_.active; ++i) {
      quarter = element(quarter, i, address_of(q * per + i));
    }
    all = q == 0 ? quarter
                 : code_.define(RegClass::kVec, w, w == 64 ? X86::vinsertf32x4 : X86::vinsertf128,
                                {vreg(all, w), vreg(quarter, 16), imm(q)});
  }
  return {all, type, size};
}

Value Gathers::load_strided(int buffer, const Affine& first, const Affine& stride, Reg mask) {
  if (lanes_.active < 0 || lanes_.condition.valid() || mask.valid()) {
    if (stride.is_constant() &&
        gathers_under_mask(size_of(element_type(buffer)), stride.constant)) {
      return gathered(buffer, first, stride.constant, mask.valid() ? mask : masks_.active());
    }
    refuse("elements of " + nest_.buffers[buffer].name +
           " that do not lie together are read under a mask");
  }
  Value spread;
  if (stride.is_constant() && spreads_.load(buffer, first, stride.constant, spread)) return spread;
  std::vector<Affine> offsets;
  for (int i = 0; i < lanes_.active; ++i) offsets.push_back(first + scaled(stride, i));
  return load_each(buffer, offsets);
}

Value Gathers::load_each(int buffer, const std::vector<Affine>& offsets) {
  std::vector<int64_t> places;
  for (const Affine& offset : offsets) {
    const Affine from_first = offset - offsets[0];
    if (from_first.is_constant()) places.push_back(from_first.constant);
  }
  Value picked;
  const bool known = places.size() == offsets.size();
  if (known && spreads_.pick(buffer, offsets[0], places, picked)) return picked;
  const auto half = static_cast<size_t>(lanes_.count / 2);
  if (known && width(element_type(buffer)) > 16) {
    const Lanes all = lanes_;
    const auto part = [&](size_t begin, size_t end) {
      lanes_.count = all.count / 2;
      lanes_.active = static_cast<int>(end - begin);
      const auto at = [&](size_t i) { return offsets.begin() + static_cast<ptrdiff_t>(i); };
      return load_each(buffer, {at(begin), at(end)});
    };
    const Value low = part(0, std::min(half, offsets.size()));
    const Value high = offsets.size() > half ? part(half, offsets.size()) : low;
    lanes_ = all;
    return offsets.size() > half ? vectors_.joined(low, high) : low;
  }
  return assembled(
      buffer, [&](int i) { return addresses_.address(buffer, offsets[static_cast<size_t>(i)]); });
}

Value Gathers::gathered(int buffer, const Affine& first, int64_t stride, Reg mask) {
  const DType type = element_type(buffer);
  const int size = size_of(type), w = width(type);
  const int index_width = std::max(16, w * 4 / size);
  std::vector<uint8_t> numbers(static_cast<size_t>(index_width), 0);
  for (int i = 0; i < lanes_.count; ++i) {
    const auto at = static_cast<int32_t>(i * stride);
    std::memcpy(&numbers[static_cast<size_t>(i) * sizeof at], &at, sizeof at);
  }
  const Mem start = addresses_.address(buffer, first);
  Mem m;
  m.base = code_.define(RegClass::kGpr, 8, X86::lea, {mem(start)});
  m.index = code_.load_pool(index_width, X86::vmovups, code_.pool(numbers.data(), index_width));
  m.scale = static_cast<uint8_t>(size);
  // The instruction ends with an empty mask.
  const Reg left = code_.make(RegClass::kMask), reg = code_.make(RegClass::kVec);
  code_.copy(left, mask, RegClass::kMask);
  code_.emit(X86::vxorps, {vreg(reg, 16), vreg(reg, 16), vreg(reg, 16)});
  code_.emit(size == 4 ? X86::vgatherdps : X86::vgatherdpd, {vreg(reg, w), mem(m, index_width)},
             left);
  return {reg, type, size};
}

bool Gathers::gathers_under_mask(int size, int64_t stride) const {
  // Fixed by: indices of 32 bits.
  constexpr int64_t kFar = int64_t{1} << 25;  // times the lanes, an index of 32 bits
  return wide() && size >= 4 && std::abs(stride) < kFar;
}

void Gathers::store_strided(int buffer, const Affine& first, const Affine& stride,
                            const Value& value) {
  if (lanes_.partial() && (lanes_.active < 0 || lanes_.condition.valid())) {
    refuse("elements of " + nest_.buffers[buffer].name +
           " that do not lie together are written under a mask");
  }
  const Value v = masks_.stored(value);
  for (int i = 0; i < lanes_.active; ++i) {
    vectors_.store_lane(addresses_.address(buffer, first + scaled(stride, i)), v, i);
  }
  code_.clobber(buffer);
}

}  // namespace hone::jit
