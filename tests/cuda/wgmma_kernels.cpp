// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "jit/ir/instructions.h"
#include "tests/cuda/rows_kernels.h"

namespace hone::tests {
namespace {

struct Kind {
  const char* name;
  const char* type;  ///< of an element as kernels see it
  int bytes;
  bool a_signed, b_signed, transposes;
};

constexpr Kind kKinds[] = {
    {"bf16", "bf16", 2, true, true, true},   {"f16", "f16", 2, true, true, true},
    {"tf32", "float", 4, true, true, false}, {"i8i8", "i8", 1, true, true, false},
    {"u8u8", "i8", 1, false, false, false},  {"i8u8", "i8", 1, true, false, false},
    {"u8i8", "i8", 1, false, true, false},
};

/// How a product finds its factors.
struct Layout {
  bool transposed_a = false, transposed_b = false, registers = false;
  int swizzle = 128;
};

/// The bits of a small integer.
uint32_t bits_of(const Kind& kind, int v) {
  const auto f = static_cast<float>(v);
  uint32_t bits = 0;
  std::memcpy(&bits, &f, 4);
  const std::string name = kind.name;
  if (name == "tf32") return bits;
  if (name == "bf16") return bits >> 16;
  if (name != "f16") return static_cast<uint8_t>(v);
  if (v == 0) return 0;
  return (bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff);
}

int a_value_wgmma_kernels(const Kind& kind, int row, int k) {
  return (3 * row + 5 * k) % 7 - (kind.a_signed ? 3 : 0);
}
int b_value_wgmma_kernels(const Kind& kind, int column, int k) {
  return (2 * column + 3 * k) % 5 - (kind.b_signed ? 2 : 0);
}

/// Where a factor lies in shared memory: the byte of an element, and what a descriptor says of it.
struct Lying {
  std::string byte;
  int leading, stride;
};
Lying lying(bool transposed, int swizzle, int bytes) {
  const std::string along = fmt::format("{} * {}", transposed ? "r" : "c", bytes);
  const char* across = transposed ? "c" : "r";
  if (swizzle == 0) {
    const int far_along = transposed ? 256 : 128, far_across = transposed ? 128 : 256;
    return {fmt::format("{0} / 16 * {1} + {2} / 8 * {3} + {2} % 8 * 16 + {0} % 16", along,
                        far_along, across, far_across),
            128, 256};
  }
  const int s = swizzle;
  const std::string line = fmt::format("{} / 8 * {} + {} % 8 * {}", across, 8 * s, across, s);
  const std::string plain =
      transposed ? fmt::format("{0} / {1} * {2} + {0} % {1} + {3}", along, s, 16 * s, line)
                 : fmt::format("{} + {} + {}", along, s > 32 ? 32 : 0, line);
  return {fmt::format("({0}) ^ (({0}) >> 7 & {1}) << 4", plain, s / 16 - 1), 16 * s, 8 * s};
}

/// Copies a factor from X to shared memory.
std::string fill(const char* name, int rows, int k, int from, const Kind& kind, const Lying& l) {
  return fmt::format(
      "for (u32 i = (u32)t; i < {0} * {1}; i += 128) {{\n    const u32 r = i / {1}, c = i % {1};\n"
      "    {2}[({3}) / {4}] = X[{5} + i];\n  }}\n  ",
      rows, k, name, l.byte, kind.bytes, from);
}

std::string descriptor(const char* name, bool transposed, int swizzle, const Lying& l) {
  const int shift = !transposed && swizzle > 32 ? 32 : 0;
  return fmt::format("matrix_descriptor(shared_address(HONE_AT({}, 0)) + {}, {}, {}, {})", name,
                     shift, l.leading, l.stride, swizzle);
}

/// a row by row, then b column by column.
Bytes factors(const Kind& kind, int columns) {
  const int k = 32 / kind.bytes;
  Bytes x;
  const auto put = [&](int v) {
    const uint32_t bits = bits_of(kind, v);
    for (int b = 0; b < kind.bytes; ++b) x.push_back(static_cast<uint8_t>(bits >> 8 * b));
  };
  for (int r = 0; r < 64; ++r) {
    for (int i = 0; i < k; ++i) put(a_value_wgmma_kernels(kind, r, i));
  }
  for (int c = 0; c < columns; ++c) {
    for (int i = 0; i < k; ++i) put(b_value_wgmma_kernels(kind, c, i));
  }
  return x;
}

/// What is added to the numbers of registers.
Bytes sums(const Kind& kind, int columns) {
  const int k = 32 / kind.bytes;
  std::vector<int32_t> y;
  for (int r = 0; r < 64; ++r) {
    for (int c = 0; c < columns; ++c) {
      int sum = c / 8 * 4 + r / 8 % 2 * 2 + c % 2;
      for (int i = 0; i < k; ++i)
        sum += a_value_wgmma_kernels(kind, r, i) * b_value_wgmma_kernels(kind, c, i);
      const auto f = static_cast<float>(sum);
      if (kind.bytes > 1) std::memcpy(&sum, &f, 4);
      y.push_back(sum);
    }
  }
  return bytes_of(y);
}

constexpr const char* kRegisters = R"(HONE_OWN(u32, a, 4);
  #pragma unroll
  for (u32 i = 0; i < 4; ++i) {{
    const u32 row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8, column = (t % 4 + i / 2 * 4) * {0};
    a[i] = 0;
    for (u32 e = 0; e < {0}; ++e) a[i] |= (u32){1} << {2} * e;
  }}
  )";

constexpr const char* kProduct = R"(HONE_OWN({0}, d, {1});
  #pragma unroll
  for (i32 i = 0; i < {1}; ++i) d[i] = ({0})i;
  fence_proxy_async();
  __syncthreads();
  {7}keep_registers<{1}>(HONE_AT(d, 0));
  wgmma_fence();
  {2}{3}{4}(HONE_AT(d, 0), {5}, {6}, true);
  wgmma_commit();
  wgmma_wait<0>();
  keep_registers<{1}>(HONE_AT(d, 0));
  #pragma unroll
  for (i32 i = 0; i < {1}; ++i) {{
    const i32 row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
    Y[row * {8} + column] = d[i];
  }})";

RowKernel product(const Kind& kind, int columns, const Layout& layout) {
  const int k = 32 / kind.bytes;
  const bool whole = kind.bytes == 1;
  const std::string row = fmt::format("wgmma_m64n{}k{}_{}", columns, k, kind.name);
  const Lying la = lying(layout.transposed_a, layout.swizzle, kind.bytes);
  const Lying lb = lying(layout.transposed_b, layout.swizzle, kind.bytes);
  std::string body = fmt::format(
      "HONE_DYNAMIC(81920);\n  HONE_TEAM_AT({0}, As, {1}, 0); HONE_TEAM_AT({0}, Bs, {2}, 16384);\n "
      " ",
      kind.type, 16384 / kind.bytes, 65536 / kind.bytes);
  std::string a = descriptor("As", layout.transposed_a, layout.swizzle, la), transposed;
  if (layout.registers) {
    const std::string element = "X[row * " + std::to_string(k) + " + column + e]";
    const std::string bits = kind.bytes == 4   ? "bits_of_f32(" + element + ")"
                             : kind.bytes == 1 ? "(u8)" + element
                                               : element;
    body += fmt::format(fmt::runtime(kRegisters), 4 / kind.bytes, bits, 8 * kind.bytes % 32);
    a = "HONE_AT(a, 0)";
    if (layout.transposed_b) transposed = "<1>";
  } else {
    body += fill("As", 64, k, 0, kind, la);
    if (layout.transposed_a || layout.transposed_b) {
      transposed = fmt::format("<{}, {}>", +layout.transposed_a, +layout.transposed_b);
    }
  }
  body += fill("Bs", columns, k, 64 * k, kind, lb);
  body += fmt::format(fmt::runtime(kProduct), whole ? "i32" : "float", columns / 2, row,
                      layout.registers ? "_registers" : "", transposed, a,
                      descriptor("Bs", layout.transposed_b, layout.swizzle, lb),
                      layout.registers ? "keep_registers<4>(HONE_AT(a, 0));\n  " : "", columns);

  RowKernel out = kernel_of(
      fmt::format("{}{} swizzle {}{}", row, layout.registers ? "_registers" : "", layout.swizzle,
                  transposed),
      kind.type, body, 128, factors(kind, columns), sums(kind, columns), whole ? "i32" : "float");
  out.dynamic_bytes = 81920;
  return out;
}

}  // namespace

std::vector<RowKernel> wgmma_kernels() {
  std::vector<RowKernel> out;
  for (const Kind& kind : kKinds) {
    for (const int columns : ir::side_by_side()) {
      out.push_back(product(kind, columns, {}));
      out.push_back(product(kind, columns, {.registers = true}));
    }
    for (const int swizzle : {0, 32, 64}) out.push_back(product(kind, 64, {.swizzle = swizzle}));
    for (const int swizzle : {0, 32, 64, 128}) {
      if (!kind.transposes) continue;
      for (const int transposed : {1, 2, 3}) {
        out.push_back(product(kind, 64, {(transposed & 1) != 0, transposed > 1, false, swizzle}));
      }
      out.push_back(product(kind, 64, {false, true, true, swizzle}));
    }
  }
  return out;
}

}  // namespace hone::tests
