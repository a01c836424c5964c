// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/spreads.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "jit/ir/integers.h"
#include "jit/ir/structures.h"
#include "jit/x86/select/by_size.h"

namespace hone::jit {

namespace {

/// Elements further apart share too few lines for whole vectors to pay: those of eight bytes, and
/// others.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kMostOfLong = 4, kMostStride = 6;
/// Bytes from which shuffles take less than inserting elements.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kFewestShuffled = 8;
/// Bytes within which a shuffle moves any byte.
/// Fixed by: x86.
constexpr int kShuffled = 16;
/// The number of a byte that is 0.
/// Fixed by: x86.
constexpr uint8_t kNothing = 0x80;

}  // namespace

bool Spreads::load(int buffer, const Affine& first, int64_t stride, Value& out) {
  const DType type = element_type(buffer);
  const int size = size_of(type);
  if (load_structures(buffer, first, stride, out)) return true;
  const bool in_words = stride == 2 || stride == 4 || stride == 8;
  if (wide() && size == 1 && in_words && lanes_.count >= 8 && lanes_.active > 1) {
    out = {low_bytes(buffer, first, static_cast<int>(stride)), type, size};
    return true;
  }
  if (stride < 2 || lanes_.active < 2) return false;
  const bool by_bytes = size == 1 || (size == 2 && !wide());
  const bool fits =
      by_bytes ? lanes_.active * size >= kFewestShuffled : lanes_.count * size >= kShuffled;
  if (!fits) return false;
  if (stride > (size == 8 ? kMostOfLong : kMostStride)) return false;
  if (by_bytes) return spread_bytes(buffer, first, stride, out);
  if (wide()) {
    out = {spread_wide(buffer, first, stride), type, size};
    return true;
  }
  if (stride != 2) return false;
  out = {every_second(buffer, first), type, size};
  return true;
}

bool Spreads::load_structures(int buffer, const Affine& first, int64_t stride, Value& out) {
  const DType type = element_type(buffer);
  const int size = size_of(type), w = lanes_.count * size;
  const ir::Machine machine = ir::machine_of(target_);
  if (lanes_.active < lanes_.count || w < kShuffled) return false;
  if (!ir::shuffles_structures(machine, size, stride)) return false;
  const std::optional<int64_t> place = within(buffer, first, stride, lanes_.count);
  if (!place) return false;
  Lanes lanes{w, size};
  int64_t structure = stride;
  if (ir::turns_structures(machine, size, stride)) {
    structure = ir::padded_structure(stride);
    lanes = {w, static_cast<int>(kShuffled / structure), stride};
  }
  const Affine structures = first - Affine::of(*place);
  out = {of_structures(buffer, structures, lanes, structure, *place, 0), type, size};
  return true;
}

std::optional<int64_t> Spreads::within(int buffer, const Affine& first, int64_t stride,
                                       int64_t count) const {
  int64_t least = 0, most = 0, elements = 0;
  const int64_t before = ir::floor_mod_of(first.constant, stride);
  const bool known = ir::is_const(nest_.buffers[buffer].elements, &elements) &&
                     indices_.range_of(first, least, most);
  if (!known || least < before || most - before + stride * count > elements) return {};
  return before;
}

Reg Spreads::merged(const Lanes& lanes, Reg low, Reg high, const std::vector<int64_t>& sources) {
  const int size = lanes.bytes, w = lanes.width;
  const X86 merge = size == 8 ? X86::vpermt2pd : size == 4 ? X86::vpermt2ps : X86::vpermt2w;
  std::vector<uint8_t> indices(static_cast<size_t>(w), 0);
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto source = static_cast<uint64_t>(sources[i]);
    std::memcpy(&indices[i * static_cast<size_t>(size)], &source, static_cast<size_t>(size));
  }
  const Reg index = code_.load_pool(w, X86::vmovups, code_.pool(indices.data(), w));
  return code_.update(RegClass::kVec, w, low, merge, {vreg(index, w), vreg(high, w)});
}

Reg Spreads::every(const Lanes& lanes, int64_t stride, int64_t place,
                   const std::vector<Reg>& vectors) {
  const int size = lanes.bytes, w = lanes.width;
  const int64_t n = lanes.count();
  const bool single = size == 4;
  if (wide() && stride == 2) {
    std::vector<int64_t> sources;
    for (int64_t i = 0; i < n; ++i) sources.push_back(place + i * stride);
    return merged(lanes, vectors[0], vectors[1], sources);
  }
  if (stride == 2) {
    // Fixed by: x86.
    constexpr int kEven = 0x88, kOdd = 0xdd, kFirst = 0x0, kSecond = 0xf;
    return by_halves(lanes, vectors[0], vectors[1],
                     single ? (place == 0 ? kEven : kOdd) : (place == 0 ? kFirst : kSecond));
  }
  // An odd stride: no two of the elements stand in the same lane.
  const X86 blend = single ? X86::vblendmps : size == 8 ? X86::vblendmpd : X86::vpblendmw;
  Reg all = vectors[0];
  for (int64_t v = 1; v < stride; ++v) {
    uint64_t taken = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t element = place + i * stride;
      if (element / n == v) taken |= uint64_t{1} << (element % n);
    }
    const Operand more = vreg(vectors[static_cast<size_t>(v)], w);
    all = wide() ? code_.define(RegClass::kVec, w, blend, {vreg(all, w), more},
                                masks_.of_lanes(taken).reg)
                 : code_.define(RegClass::kVec, w, X86::vblendps,
                                {vreg(all, w), more, imm(static_cast<int64_t>(taken))});
  }
  std::vector<int64_t> order;
  for (int64_t i = 0; i < n; ++i) order.push_back((place + i * stride) % n);
  return shuffled(all, w, size, order);
}

Reg Spreads::of_structures(int buffer, const Affine& first, const Lanes& lanes, int64_t size,
                           int64_t place, int64_t number) {
  if (size == 1) return turned(buffer, first, lanes, number);
  int64_t factor = 2;
  while (size % factor != 0) ++factor;
  const int64_t piece = size / factor;
  std::vector<Reg> vectors;
  for (int64_t v = 0; v < factor; ++v) {
    vectors.push_back(
        of_structures(buffer, first, lanes, piece, place % piece, number * factor + v));
  }
  return every(lanes, factor, place / piece, vectors);
}

Reg Spreads::turned(int buffer, const Affine& first, const Lanes& lanes, int64_t number) {
  const int w = lanes.width, size = size_of(element_type(buffer));
  const auto at = [&](int64_t bytes) {
    return addresses_.address(buffer, first + Affine::of(bytes / size));
  };
  const auto load = [&](int64_t bytes, int width) {
    return code_.load(RegClass::kVec, width, X86::vmovups, mem(at(bytes)), buffer);
  };
  if (lanes.turned == 0) return load(number * w, w);
  const int64_t room =
      kShuffled / lanes.bytes;  // elements of a structure with what it is padded to
  const int64_t sixteen = kShuffled / room * lanes.turned;  // bytes of what is turned in 16
  const int64_t from = number * w / kShuffled * sixteen;
  int64_t behind = 0;  // of each further 16 bytes, bytes before what is turned there
  Reg all;
  if (sixteen == kShuffled) {
    all = load(from, w);
  } else if (wide()) {
    all = in_sixteens(
        exactly(buffer, first + Affine::of(from / size), static_cast<int>(w / kShuffled * sixteen)),
        w, sixteen);
  } else if (w == kShuffled) {
    constexpr int kEight = 8, kThird = 2;  // Fixed by: x86, 12 bytes as 8 and 4.
    const Reg eight = code_.load(RegClass::kVec, w, X86::vmovsd, mem(at(from), kEight), buffer);
    all = code_.load(RegClass::kVec, w, X86::vpinsrd, mem(at(from + kEight), 4), buffer, {},
                     vreg(eight, w), imm(kThird));
  } else {
    behind = kShuffled - sixteen;
    all = code_.define(RegClass::kVec, w, X86::vinserti128,
                       {vreg(load(from, kShuffled), w),
                        vreg(load(from + 2 * sixteen - kShuffled, kShuffled), kShuffled), imm(1)});
  }
  std::vector<uint8_t> numbers;
  for (int i = 0; i < w; ++i) {
    const int64_t lane = i % kShuffled / lanes.bytes, inside = i % lanes.bytes;
    const int64_t element = inside / size * lanes.turned + lane;
    const int64_t byte = element * size + inside % size + (i < kShuffled ? 0 : behind);
    numbers.push_back(lane < lanes.turned ? static_cast<uint8_t>(byte) : kNothing);
  }
  const Operand order = vreg(code_.load_pool(w, X86::vmovups, code_.pool(numbers.data(), w)), w);
  return code_.define(RegClass::kVec, w, X86::vpshufb, {vreg(all, w), order});
}

Reg Spreads::in_sixteens(Reg from, int w, int64_t bytes) {
  if (w == kShuffled) return from;
  constexpr int kWord = 4;  // Fixed by: x86, lanes that cross a register.
  std::vector<uint8_t> numbers(static_cast<size_t>(w), 0);
  for (int i = 0; i < w / kWord; ++i) {
    const int64_t sixteen = i * kWord / kShuffled, inside = i * kWord % kShuffled;
    const bool taken = inside < bytes;
    numbers[static_cast<size_t>(i * kWord)] =
        static_cast<uint8_t>(taken ? (sixteen * bytes + inside) / kWord : 0);
  }
  const Operand order = vreg(code_.load_pool(w, X86::vmovups, code_.pool(numbers.data(), w)), w);
  return code_.define(RegClass::kVec, w, X86::vpermps, {order, vreg(from, w)});
}

Reg Spreads::spread_wide(int buffer, const Affine& first, int64_t stride) {
  const DType type = element_type(buffer);
  const int size = size_of(type), w = width(type), n = lanes_.count;
  const int64_t span = stride * (lanes_.active - 1) + 1;
  const auto part = [&](int64_t at, Reg mask) {
    const X86 move = size == 8 ? X86::vmovupd : size == 4 ? X86::vmovups : X86::vmovdqu16;
    const Mem m = addresses_.address(buffer, first + Affine::of(at));
    return code_.load(RegClass::kVec, w, mask.valid() ? move : X86::vmovups, mem(m), buffer, mask);
  };
  const auto sources = [&](const std::function<int64_t(int64_t)>& of) {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < lanes_.active; ++i) out.push_back(of(i));
    return out;
  };
  Reg all = part(0, span < n ? masks_.lane_bits(static_cast<int>(span)) : Reg{});
  const Lanes lanes{w, size};
  if (span <= n) return merged(lanes, all, all, sources([&](int64_t i) { return i * stride; }));
  for (int64_t at = n; at < span; at += n) {
    const int64_t start = std::min(at, span - n);
    all = merged(lanes, all, part(start, {}), sources([&](int64_t i) {
                   const int64_t element = i * stride;
                   if (element >= at) return element < at + n ? n + element - start : i;
                   return at == n ? element : i;  // from the first vector, or merged before
                 }));
  }
  return all;
}

bool Spreads::spread_bytes(int buffer, const Affine& first, int64_t stride, Value& out) {
  const DType type = element_type(buffer);
  const int size = size_of(type);
  std::vector<Reg> parts;
  for (int lane = 0; lane < lanes_.active; lane += kShuffled / size) {
    const int count = std::min(kShuffled / size, lanes_.active - lane);
    const Reg part = spread_sixteen(buffer, first + Affine::of(lane * stride), stride, count);
    if (!part.valid()) return false;
    parts.push_back(part);
  }
  out = {joined(std::move(parts), kShuffled), type, size};
  return true;
}

Reg Spreads::spread_sixteen(int buffer, const Affine& first, int64_t stride, int count) {
  const int size = size_of(element_type(buffer));
  const std::optional<int64_t> structures = within(buffer, first, stride, count);
  const int64_t before = structures.value_or(0);
  const int64_t bytes = (structures ? stride * count : stride * (count - 1) + 1) * size;
  Reg all;
  for (int64_t at = 0; at < bytes; at += kShuffled) {
    // The last piece ends with the last element.
    const int64_t from = std::max<int64_t>(0, std::min(at, bytes - kShuffled));
    const int64_t elements = std::min<int64_t>(kShuffled, bytes) / size;
    const Reg piece = exactly(buffer, first + Affine::of(from / size - before),
                              static_cast<int>(elements) * size);
    if (!piece.valid()) return {};
    std::vector<uint8_t> numbers(kShuffled, kNothing);
    for (int i = 0; i < count * size; ++i) {
      const int64_t byte = (before + i / size * stride) * size + i % size;
      if (byte >= at && byte < at + kShuffled) {
        numbers[static_cast<size_t>(i)] = static_cast<uint8_t>(byte - from);
      }
    }
    const Operand index =
        vreg(code_.load_pool(16, X86::vmovups, code_.pool(numbers.data(), 16)), 16);
    const Reg own = code_.define(RegClass::kVec, 16, X86::vpshufb, {vreg(piece, 16), index});
    all = all.valid() ? code_.define(RegClass::kVec, 16, X86::vpor, {vreg(all, 16), vreg(own, 16)})
                      : own;
  }
  return all;
}

Reg Spreads::low_bytes(int buffer, const Affine& first, int word) {
  // Fixed by: x86.
  constexpr int kVector = 64;
  const X86 cut = word == 2 ? X86::vpmovwb : word == 4 ? X86::vpmovdb : X86::vpmovqb;
  const int span = word * (lanes_.active - 1) + 1;
  std::vector<Reg> parts;
  for (int at = 0; at < span; at += kVector) {
    const int bytes = std::min(kVector, span - at);
    const int w = bytes <= 16 ? 16 : bytes <= 32 ? 32 : kVector;
    const Reg words = exactly(buffer, first + Affine::of(at), bytes);
    parts.push_back(code_.define(RegClass::kVec, std::max(16, w / word), cut, {vreg(words, w)}));
  }
  return joined(std::move(parts), kVector / word);
}

Reg Spreads::joined(std::vector<Reg> parts, int bytes) {
  for (; parts.size() > 1; bytes *= 2) {
    const X86 join = bytes == 8    ? X86::vpunpcklqdq
                     : bytes == 16 ? X86::vinserti128
                                   : X86::vinserti64x4;
    const int w = 2 * bytes;
    for (size_t i = 0; 2 * i < parts.size(); ++i) {
      const Reg low = parts[2 * i], high = parts[std::min(2 * i + 1, parts.size() - 1)];
      parts[i] = bytes == 8 ? code_.define(RegClass::kVec, w, join, {vreg(low, w), vreg(high, w)})
                            : code_.define(RegClass::kVec, w, join,
                                           {vreg(low, w), vreg(high, bytes), imm(1)});
    }
    parts.resize((parts.size() + 1) / 2);
  }
  return parts[0];
}

Reg Spreads::every_second(int buffer, const Affine& first) {
  const DType type = element_type(buffer);
  const int w = width(type), n = lanes_.count;
  const Mem low_at = addresses_.address(buffer, first),
            high_at = addresses_.address(buffer, first + Affine::of(n - 1));
  const Reg low = code_.load(RegClass::kVec, w, X86::vmovups, mem(low_at), buffer);
  const Reg high = code_.load(RegClass::kVec, w, X86::vmovups, mem(high_at), buffer);
  // Fixed by: x86.
  constexpr int kEvenThenOdd = 0xd8, kFirstThenSecond = 0xa;
  const Lanes lanes{w, size_of(type)};
  return by_halves(lanes, low, high, lanes.bytes == 4 ? kEvenThenOdd : kFirstThenSecond);
}

Reg Spreads::by_halves(const Lanes& lanes, Reg low, Reg high, int choice) {
  const int w = lanes.width;
  // Fixed by: x86.
  constexpr int kOuterMiddle = 0xd8;
  const Reg pairs = code_.define(RegClass::kVec, w, lanes.bytes == 4 ? X86::vshufps : X86::vshufpd,
                                 {vreg(low, w), vreg(high, w), imm(choice)});
  if (w == 16) return pairs;
  return code_.define(RegClass::kVec, w, X86::vpermpd, {vreg(pairs, w), imm(kOuterMiddle)});
}

bool Spreads::pick(int buffer, const Affine& first, const std::vector<int64_t>& places,
                   Value& out) {
  const DType type = element_type(buffer);
  const int size = size_of(type);
  const auto [least, most] = std::minmax_element(places.begin(), places.end());
  const int64_t span = *most - *least + 1;
  if (lanes_.count == 1 || span * size > width(type)) return false;
  // Nothing moves bytes across 16 of them, nor pairs before AVX-512.
  if (span * size > 16 && (size == 1 || (size == 2 && !wide()))) return false;
  int bytes = static_cast<int>(span) * size;
  Affine from = first + Affine::of(*least);
  const int whole = bytes <= 16 ? 16 : bytes <= 32 ? 32 : 64;
  const int64_t more = bytes < whole ? before(buffer, from, span, whole / size) : -1;
  if (more >= 0) {
    from = from - Affine::of(more);
    bytes = whole;
  }
  std::vector<int64_t> within;
  for (const int64_t p : places) within.push_back(p - *least + std::max<int64_t>(more, 0));
  const Reg all = exactly(buffer, from, bytes);
  if (!all.valid()) return false;
  out = {shuffled(all, bytes, size, within), type, size};
  return true;
}

int64_t Spreads::before(int buffer, const Affine& first, int64_t span, int64_t count) const {
  int64_t least = 0, most = 0, elements = 0;
  if (!ir::is_const(nest_.buffers[buffer].elements, &elements)) return -1;
  if (!indices_.range_of(first, least, most)) return -1;
  const int64_t aligned = ir::floor_mod_of(first.constant, count);
  for (const int64_t more : {aligned, int64_t{0}, count - span}) {
    const bool holds = more + span <= count;
    if (holds && least - more >= 0 && most - more + count <= elements) return more;
  }
  return -1;
}

bool Spreads::shift(int buffer, const Affine& first, const std::vector<int64_t>& places,
                    Value& out) {
  // Fixed by: x86, shifts of 32 bits.
  constexpr int64_t kBits = 32;
  const auto [least, most] = std::minmax_element(places.begin(), places.end());
  const int64_t bytes = *most / 8 + 1;
  const int w = width(DType::kI32);
  if (*least < 0 || w < 16 || w > target_.vector_bytes()) return false;
  const auto table = [&](const std::function<int64_t(int64_t)>& of) {
    std::vector<int32_t> numbers(static_cast<size_t>(w) / sizeof(int32_t), 0);
    for (size_t i = 0; i < places.size(); ++i) numbers[i] = static_cast<int32_t>(of(places[i]));
    return vreg(code_.load_pool(w, X86::vmovups, code_.pool(numbers.data(), w)), w);
  };
  Reg all;
  if (bytes == 1 || bytes == 2 || bytes == 4) {
    const Mem m = addresses_.address(buffer, first);
    all = code_.load(RegClass::kVec, w, broadcast_of(static_cast<int>(bytes), w), mem(m), buffer);
  } else if (bytes == 8 && w >= 32) {
    const Reg both = exactly(buffer, first, 8);
    const Operand halves = table([](int64_t place) { return place / kBits; });
    all = code_.define(RegClass::kVec, w, X86::vpermps, {halves, vreg(both, w)});
  } else {
    return false;
  }
  const Operand counts = table([](int64_t place) { return place % kBits; });
  out = {code_.define(RegClass::kVec, w, X86::vpsrlvd, {vreg(all, w), counts}), DType::kI32, 4};
  return true;
}

Reg Spreads::exactly(int buffer, const Affine& first, int bytes) {
  const Mem m = addresses_.address(buffer, first);
  const int size = size_of(element_type(buffer));
  const bool fills = bytes == 16 || bytes == 32 || bytes == 64;
  if (fills) return code_.load(RegClass::kVec, bytes, X86::vmovups, mem(m), buffer);
  if (bytes == 8) return code_.load(RegClass::kVec, 16, X86::vmovsd, mem(m, 8), buffer);
  if (bytes == 4) return code_.load(RegClass::kVec, 16, X86::vmovss, mem(m, 4), buffer);
  const int w = bytes < 16 ? 16 : bytes < 32 ? 32 : 64;
  if (!wide() && (size < 4 || w == 64)) return {};
  if (!wide()) {
    std::vector<uint8_t> lanes(static_cast<size_t>(w), 0);
    std::fill_n(lanes.begin(), bytes, uint8_t{0xff});
    const Reg mask = code_.load_pool(w, X86::vmovups, code_.pool(lanes.data(), w));
    return code_.load(RegClass::kVec, w, size == 4 ? X86::vmaskmovps : X86::vmaskmovpd, mem(m),
                      buffer, {}, vreg(mask, w));
  }
  return code_.load(RegClass::kVec, w, masked_move_of(size), mem(m), buffer,
                    masks_.lane_bits(bytes / size));
}

Reg Spreads::shuffled(Reg from, int bytes, int size, const std::vector<int64_t>& places) {
  const int w = std::max(16, lanes_.count * size);
  // Bytes by number within each 16, else elements by number within the vector.
  const bool by_bytes = bytes <= 16 && (size <= 2 || w == 16);
  std::vector<uint8_t> numbers(static_cast<size_t>(w), 0);
  for (size_t i = 0; i < places.size(); ++i) {
    for (int b = 0; b < size; ++b) {
      const auto at = i * static_cast<size_t>(size) + static_cast<size_t>(b);
      if (by_bytes) {
        numbers[at] = static_cast<uint8_t>(places[i] * size + b);
      } else if (b == 0) {
        numbers[at] = static_cast<uint8_t>(places[i]);
      }
    }
  }
  const auto index = [&] {
    return vreg(code_.load_pool(w, X86::vmovups, code_.pool(numbers.data(), w)), w);
  };
  if (by_bytes) {
    return code_.define(RegClass::kVec, w, X86::vpshufb, {vreg(repeated(from, w), w), index()});
  }
  if (size == 4) return code_.define(RegClass::kVec, w, X86::vpermps, {index(), vreg(from, w)});
  if (size == 2) {
    return code_.define(RegClass::kVec, w, X86::vpermw, {index(), vreg(from, w)});
  }
  if (wide()) {
    return code_.update(RegClass::kVec, w, from, X86::vpermt2pd, {index(), vreg(from, w)});
  }
  int order = 0;
  for (size_t i = 0; i < places.size(); ++i) order |= static_cast<int>(places[i]) << (2 * i);
  return code_.define(RegClass::kVec, w, X86::vpermpd, {vreg(from, w), imm(order)});
}

Reg Spreads::repeated(int buffer, const Affine& first, int w) {
  const X86 load = w == 16 ? X86::vmovups : wide() ? X86::vbroadcastf32x4 : X86::vbroadcastf128;
  return code_.load(RegClass::kVec, w, load, mem(addresses_.address(buffer, first)), buffer);
}

Reg Spreads::repeated(Reg sixteen, int w) {
  if (w == 16) return sixteen;
  if (w == 64) {
    return code_.define(RegClass::kVec, w, X86::vshuff32x4,
                        {vreg(sixteen, w), vreg(sixteen, w), imm(0)});
  }
  return code_.define(RegClass::kVec, w, X86::vinserti128,
                      {vreg(sixteen, w), vreg(sixteen, 16), imm(1)});
}

}  // namespace hone::jit
