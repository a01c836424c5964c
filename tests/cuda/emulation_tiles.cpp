// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_tiles.h"

namespace emulation {
namespace {

template <int N, bool TRANSPOSED>
void read_rows_of(void* const* parts) {
  const auto row = [&](int matrix, int r) {
    return static_cast<const MatrixRow*>(parts[8 * matrix + r])->row;
  };
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < N; ++i) {
      uint8_t word[4];
      for (int h = 0; h < 2; ++h) {
        const uint8_t* half = TRANSPOSED ? row(i, 2 * (lane % 4) + h) + 2 * (lane / 4)
                                         : row(i, lane / 4) + 4 * (lane % 4) + 2 * h;
        std::memcpy(word + 2 * h, half, 2);
      }
      std::memcpy(static_cast<const MatrixRow*>(parts[lane])->to + i, word, 4);
    }
  }
}

}  // namespace

void fail_half_word(const char* name) { fail(std::string(name) + ": half a word"); }

template <class Tiles>
void mma(typename Tiles::Sum* c, const typename Tiles::Word* a, const typename Tiles::Word* b) {
  struct Part {
    typename Tiles::Sum* c;
    const typename Tiles::Word *a, *b;
  } part{c, a, b};
  together(
      [](void* const* parts) {
        typename Tiles::Wide left[Tiles::m][Tiles::k], right[Tiles::k][Tiles::n];
        const auto each = [&](const auto& f) {
          for (int lane = 0; lane < 32; ++lane) {
            f(*static_cast<const Part*>(parts[lane]), lane / 4, lane % 4);
          }
        };
        each([&](const Part& p, int g, int t) {
          for (int i = 0; i < Tiles::of_a; ++i) {
            const Spot at = Tiles::a(g, t, i);
            left[at.row][at.column] = Tiles::in_a(p.a, i);
          }
          for (int i = 0; i < Tiles::of_b; ++i) {
            const Spot at = Tiles::b(g, t, i);
            right[at.row][at.column] = Tiles::in_b(p.b, i);
          }
        });
        each([&](const Part& p, int g, int t) {
          for (int i = 0; i < Tiles::of_c; ++i) {
            const Spot at = Tiles::c(g, t, i);
            typename Tiles::Wide sum = p.c[i];
            for (int k = 0; k < Tiles::k; ++k) sum += left[at.row][k] * right[k][at.column];
            p.c[i] = static_cast<typename Tiles::Sum>(sum);
          }
        });
      },
      &part);
}

template void mma<HalfTiles>(float*, const uint32_t*, const uint32_t*);
template void mma<BrainTiles>(float*, const uint32_t*, const uint32_t*);
template void mma<ByteTiles<int8_t, int8_t>>(int*, const uint32_t*, const uint32_t*);
template void mma<ByteTiles<uint8_t, uint8_t>>(int*, const uint32_t*, const uint32_t*);
template void mma<ByteTiles<uint8_t, int8_t>>(int*, const uint32_t*, const uint32_t*);
template void mma<ByteTiles<int8_t, uint8_t>>(int*, const uint32_t*, const uint32_t*);
template void mma<ShortTiles>(float*, const float*, const float*);
template void mma<DoubleTiles>(double*, const double*, const double*);

template <int N, bool TRANSPOSED>
void read_rows(MatrixRow& part) {
  together(read_rows_of<N, TRANSPOSED>, &part);
}

template void read_rows<1, false>(MatrixRow&);
template void read_rows<1, true>(MatrixRow&);
template void read_rows<2, false>(MatrixRow&);
template void read_rows<2, true>(MatrixRow&);
template void read_rows<4, false>(MatrixRow&);
template void read_rows<4, true>(MatrixRow&);

}  // namespace emulation
