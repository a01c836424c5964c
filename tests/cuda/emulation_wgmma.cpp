// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_wgmma.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <vector>

#include "tests/cuda/emulation_arena.h"
#include "tests/cuda/emulation_machine.h"
#include "tests/cuda/emulation_numbers.h"
#include "tests/cuda/tensor_map.h"

namespace emulation {
namespace {

uint32_t bytes_of(Kind k) { return k == Kind::ktf32 ? 4 : k <= Kind::kf16 ? 2 : 1; }
uint32_t sum_of(Kind k) { return 32 / bytes_of(k); }

/// A factor as the tensor cores see it.
double factor_of(Kind k, bool is_b, const void* at) {
  if (k == Kind::ktf32 || k == Kind::kbf16) {
    uint32_t bits = 0;
    if (k == Kind::kbf16) {
      uint16_t half;
      std::memcpy(&half, at, 2);
      bits = static_cast<uint32_t>(half) << 16;
    } else {
      std::memcpy(&bits, at, 4);
      bits &= 0xffffe000;
    }
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
  }
  if (k == Kind::kf16) {
    uint16_t half;
    std::memcpy(&half, at, 2);
    return half_value(half);
  }
  const bool is_signed = k == Kind::ki8i8 || k == (is_b ? Kind::ku8i8 : Kind::ki8u8);
  return is_signed ? static_cast<double>(*static_cast<const signed char*>(at))
                   : static_cast<double>(*static_cast<const unsigned char*>(at));
}

/// How a matrix lies in shared memory: rows are along the tile, columns along the sum. It is made
/// of cores of 8 rows by 16 bytes, or where it is transposed, of 16 bytes of rows by 8 columns.
struct Descriptor {
  uint32_t start, leading, stride, swizzle;
  bool transposed;

  Descriptor(uint64_t d, bool transposed)
      : start((d & 0x3fff) << 4),
        leading((d >> 16 & 0x3fff) << 4),
        stride((d >> 32 & 0x3fff) << 4),
        swizzle(d >> 62 == 1   ? 128
                : d >> 62 == 2 ? 64
                : d >> 62 == 3 ? 32
                               : 0),
        transposed(transposed) {
    if (d & 0x3ff1c000c000c000) fail("a matrix descriptor sets unused bits");
    if (swizzle && (start >> 7 & (swizzle / 16 - 1)) != (d >> 49 & 7)) {
      fail("a matrix descriptor starts inside its swizzle's pattern of " +
           std::to_string(8 * swizzle) + " bytes");
    }
  }
  uint32_t address(uint32_t row, uint32_t column, uint32_t size) const {
    const uint32_t along = (transposed ? row : column) * size, across = transposed ? column : row;
    const uint32_t span = swizzle ? swizzle : 16;
    const uint32_t at = start + across % 8 * span;
    if (!transposed && swizzle) return swizzled(at + across / 8 * stride + along, swizzle);
    const bool leads_along = !transposed || swizzle;
    const uint32_t far_along = along / span * (leads_along ? leading : stride);
    const uint32_t far_across = across / 8 * (leads_along ? stride : leading);
    return swizzled(at + along % span + far_along + far_across, swizzle);
  }
};

/// A product, as the 128 threads of its warpgroup issue it.
struct Issued {
  Product product;
  std::array<ProductLane, 128> lanes{};
  int issued = 0;
  bool done = false;
};

/// The products of a warpgroup.
struct TensorQueue {
  Agent agent = 0;
  std::deque<Issued> products;  ///< all that it issued
  std::array<uint32_t, 128> issued{}, committed{};
  size_t landed = 0;  ///< so many of the first are done

  bool done(uint32_t group) const {
    return landed == products.size() || products[landed].product.group > group;
  }
  std::string state() const {
    return "a product that only " + std::to_string(products[landed].issued) +
           " of the 128 threads of its warpgroup issue";
  }
};
struct TensorQueues {
  std::map<uint64_t, TensorQueue> of;  ///< by block and warpgroup
};

TensorQueue& tensor_queue() {
  const size_t number = block->current / 128;
  if (block->fibers.size() < 128 * (number + 1)) {
    fail("a product takes 128 threads, and the block has " +
         std::to_string(block->fibers.size() - 128 * number) + " from this warpgroup on");
  }
  TensorQueue& q = machine<TensorQueues>().of[static_cast<uint64_t>(block->rank) << 32 | number];
  if (q.agent == 0) q.agent = cluster->order.hire("a product of the tensor cores");
  return q;
}

/// The tile of a factor: `rows` along the tile by what one product sums.
std::vector<double> factors(const Arena& arena, Kind kind, bool is_b, uint32_t rows, Descriptor d) {
  const uint32_t size = bytes_of(kind), columns = sum_of(kind);
  std::vector<double> out(size_t{rows} * columns);
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < columns; ++c) {
      out[r * columns + c] = factor_of(kind, is_b, arena.bytes.data() + d.address(r, c, size));
    }
  }
  return out;
}

/// a from registers: lane l of a warp holds rows l / 4 and l / 4 + 8, words l % 4 and l % 4 + 4.
std::vector<double> factors(const Issued& p) {
  const Kind kind = p.product.kind;
  const uint32_t size = bytes_of(kind), columns = sum_of(kind), word = 4 / size;
  std::vector<double> out(size_t{64} * columns);
  for (uint32_t t = 0; t < 128; ++t) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8;
      const uint32_t column = (t % 4 + i / 2 * 4) * word;
      for (uint32_t e = 0; e < word; ++e) {
        const auto* bytes = reinterpret_cast<const char*>(&p.lanes[t].a[i]) + e * size;
        out[row * columns + column + e] = factor_of(kind, false, bytes);
      }
    }
  }
  return out;
}

void multiply(const Issued& issued, const Arena& arena) {
  const Product& p = issued.product;
  const uint32_t length = sum_of(p.kind);
  const auto a =
      p.from_registers ? factors(issued) : factors(arena, p.kind, false, 64, {p.a, p.transposed_a});
  const auto b = factors(arena, p.kind, true, p.columns, {p.b, p.transposed_b});
  for (uint32_t t = 0; t < 128; ++t) {
    for (uint32_t i = 0; i < p.columns / 2; ++i) {
      const uint32_t row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
      const uint32_t column = i / 4 * 8 + t % 4 * 2 + i % 2;
      double sum = 0;
      for (uint32_t k = 0; k < length; ++k) sum += a[row * length + k] * b[column * length + k];
      if (p.kind < Kind::ki8i8) {
        float& d = static_cast<float*>(issued.lanes[t].sums)[i];
        d = static_cast<float>(sum + (p.accumulates ? double{d} : 0));
      } else {
        int32_t& d = static_cast<int32_t*>(issued.lanes[t].sums)[i];
        d = static_cast<int32_t>(static_cast<uint32_t>(static_cast<int32_t>(sum)) +
                                 (p.accumulates ? static_cast<uint32_t>(d) : 0));
      }
    }
  }
}

/// The thread's part in reading a factor from shared memory, core by core.
void read_factor(Epoch e, Kind kind, uint32_t rows, Descriptor d) {
  const uint32_t size = bytes_of(kind), chunk = 16 / size;
  const Access access{e, self().knows, block->arena};
  const uint32_t row_step = d.transposed ? chunk : 1, column_step = d.transposed ? 1 : chunk;
  for (uint32_t r = 0; r < rows; r += row_step) {
    for (uint32_t c = 0; c < sum_of(kind); c += column_step) {
      access.read(d.address(r, c, size), 16);
    }
  }
}

}  // namespace

uint32_t product_group() { return tensor_queue().committed[block->current % 128] + 1; }

void issue(const Product& mine, const ProductLane& lane) {
  TensorQueue& q = tensor_queue();
  const size_t thread = block->current % 128;
  const size_t number = q.issued[thread]++;
  if (number == q.products.size()) q.products.push_back({mine});
  Issued& p = q.products[number];
  if (p.product != mine) fail("the threads of a warpgroup issue products that differ");
  p.lanes[thread] = lane;
  if (thread % 32 == 0) {  // the threads of a warp go together
    const Epoch e{q.agent, mine.group};
    if (!mine.from_registers) read_factor(e, mine.kind, 64, {mine.a, mine.transposed_a});
    read_factor(e, mine.kind, mine.columns, {mine.b, mine.transposed_b});
  }
  if (++p.issued < 128) return;
  later([&q, &p, &arena = block->arena] {
    multiply(p, arena);
    p.done = true;
    while (q.landed < q.products.size() && q.products[q.landed].done) ++q.landed;
  });
}

void fail_unfenced() { fail("a product comes without wgmma_fence before it"); }

void wgmma_fence() { fence_round = ++self().product_fences + 1; }

void wgmma_commit() { ++tensor_queue().committed[block->current % 128]; }

void wgmma_wait(uint32_t left) {
  TensorQueue& q = tensor_queue();
  const uint32_t committed = q.committed[block->current % 128];
  const uint32_t target = committed > left ? committed - left : 0;
  wait_until([&q, target] { return q.done(target); }, [&q] { return q.state(); });
  self().products_done = std::max(self().products_done, target);
  learn({q.agent, target});
}

}  // namespace emulation
