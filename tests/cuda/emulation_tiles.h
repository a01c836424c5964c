// SPDX-License-Identifier: Apache-2.0
// Instructions on tiles that the lanes of a warp hold together. Which lane has which element is as
// the manual's figures say it, apart from the printer's tables.
#pragma once

#include <cstring>

#include "tests/cuda/emulation_numbers.h"
#include "tests/cuda/emulation_own.h"

namespace emulation {

[[noreturn]] void fail_half_word(const char* name);

/// A lane's elements of tiles; what was not written is NaN.
template <class T>
struct Held : Own<T> {
  using Own<T>::Own;
  /// From element `i` on, narrow ones as the words that they share.
  auto at(int64_t i) {
    check(i, this->elements, this->name);
    if constexpr (sizeof(T) < 4) {
      if (i % (4 / static_cast<int64_t>(sizeof(T))) != 0) fail_half_word(this->name);
      return reinterpret_cast<uint32_t*>(this->values + i);
    } else {
      return this->values + i;
    }
  }
};

struct Spot {
  int row, column;
};

/// m16n8k16 of 16-bit floats. In all of these, `g` is the lane's group of four, `t` its place in
/// it.
struct Tiles16 {
  using Sum = float;
  using Word = uint32_t;
  using Wide = double;
  static constexpr int m = 16, n = 8, k = 16, of_a = 8, of_b = 4, of_c = 4;
  static Spot a(int g, int t, int i) {
    return {i == 0 || i == 1 || i == 4 || i == 5 ? g : g + 8, 2 * t + (i & 1) + (i < 4 ? 0 : 8)};
  }
  static Spot b(int g, int t, int i) { return {2 * t + (i & 1) + (i < 2 ? 0 : 8), g}; }
  static Spot c(int g, int t, int i) { return {i < 2 ? g : g + 8, 2 * t + (i & 1)}; }
  static uint16_t bits(const Word* words, int i) {
    return static_cast<uint16_t>(words[i / 2] >> 16 * (i % 2));
  }
};
struct HalfTiles : Tiles16 {
  static double in_a(const Word* w, int i) { return half_value(bits(w, i)); }
  static double in_b(const Word* w, int i) { return half_value(bits(w, i)); }
};
struct BrainTiles : Tiles16 {
  static double value(uint16_t h) {
    const uint32_t wide = static_cast<uint32_t>(h) << 16;
    float f;
    std::memcpy(&f, &wide, 4);
    return f;
  }
  static double in_a(const Word* w, int i) { return value(bits(w, i)); }
  static double in_b(const Word* w, int i) { return value(bits(w, i)); }
};

/// m16n8k32 of bytes.
template <class A, class B>
struct ByteTiles {
  using Sum = int;
  using Word = uint32_t;
  using Wide = int64_t;
  static constexpr int m = 16, n = 8, k = 32, of_a = 16, of_b = 8, of_c = 4;
  static Spot a(int g, int t, int i) {
    return {i < 4 || (i >= 8 && i < 12) ? g : g + 8, 4 * t + (i & 3) + (i < 8 ? 0 : 16)};
  }
  static Spot b(int g, int t, int i) { return {4 * t + (i & 3) + (i < 4 ? 0 : 16), g}; }
  static Spot c(int g, int t, int i) { return {i < 2 ? g : g + 8, 2 * t + (i & 1)}; }
  static int64_t in_a(const Word* w, int i) { return static_cast<A>(w[i / 4] >> 8 * (i % 4)); }
  static int64_t in_b(const Word* w, int i) { return static_cast<B>(w[i / 4] >> 8 * (i % 4)); }
};

/// m16n8k8 of floats cut to 10 bits of fraction, rounded away from zero where half way.
struct ShortTiles {
  using Sum = float;
  using Word = float;
  using Wide = double;
  static constexpr int m = 16, n = 8, k = 8, of_a = 4, of_b = 2, of_c = 4;
  static Spot a(int g, int t, int i) { return {i % 2 == 0 ? g : g + 8, i < 2 ? t : t + 4}; }
  static Spot b(int g, int t, int i) { return {i == 0 ? t : t + 4, g}; }
  static Spot c(int g, int t, int i) { return {i < 2 ? g : g + 8, 2 * t + (i & 1)}; }
  static double cut(float f) {
    uint32_t u;
    std::memcpy(&u, &f, 4);
    if ((u >> 23 & 255) != 255) u += 1u << 12;
    u &= ~((1u << 13) - 1);
    std::memcpy(&f, &u, 4);
    return f;
  }
  static double in_a(const Word* w, int i) { return cut(w[i]); }
  static double in_b(const Word* w, int i) { return cut(w[i]); }
};

/// m8n8k4 of doubles.
struct DoubleTiles {
  using Sum = double;
  using Word = double;
  using Wide = double;
  static constexpr int m = 8, n = 8, k = 4, of_a = 1, of_b = 1, of_c = 2;
  static Spot a(int g, int t, int) { return {g, t}; }
  static Spot b(int g, int t, int) { return {t, g}; }
  static Spot c(int g, int t, int i) { return {g, 2 * t + (i & 1)}; }
  static double in_a(const Word* w, int i) { return w[i]; }
  static double in_b(const Word* w, int i) { return w[i]; }
};

/// c += a * b, all three held by the warp.
template <class Tiles>
void mma(typename Tiles::Sum* c, const typename Tiles::Word* a, const typename Tiles::Word* b);

/// What a lane gives and takes when the warp reads matrices of 8 rows of 16 bytes.
struct MatrixRow {
  uint32_t* to;
  uint8_t row[16];
};
template <int N, bool TRANSPOSED>
void read_rows(MatrixRow& part);

/// N matrices of 8 rows of 16 bytes, each row where a lane says: a lane takes a word of each, two
/// halves of a column where they are transposed.
template <int N, bool TRANSPOSED, class P>
void read_matrices(uint32_t* to, P from) {
  using Element = typename P::Element;
  MatrixRow part{to, {}};
  if (block->current % 32 < 8 * N) {
    from.check_aligned(16);
    for (size_t i = 0; i < 16 / sizeof(Element); ++i) {
      const Element e = (*from.buffer)[from.index + static_cast<int64_t>(i)];
      std::memcpy(part.row + i * sizeof(Element), &e, sizeof e);
    }
  }
  read_rows<N, TRANSPOSED>(part);
}

}  // namespace emulation
