// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "tests/cuda/rows_kernels.h"

namespace hone::tests {
namespace {

constexpr int kM = 256, kN = 384, kK = 448;

int a_value(int row, int k) { return (3 * row + 5 * k) % 7 - 3; }
int b_value(int column, int k) { return (2 * column + 3 * k) % 5 - 2; }

uint16_t brain(float f) {
  uint32_t u = 0;
  std::memcpy(&u, &f, 4);
  return static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/// What both have: a[m,k] and b[n,k] in x, maps for TMA copies of so many rows, and c[m,n].
template <class T, class Round>
void set_data(RowKernel& k, int a_rows, int b_rows, Round round) {
  std::vector<uint16_t> x;
  for (int i = 0; i < kM * kK; ++i) x.push_back(brain(static_cast<float>(a_value(i / kK, i % kK))));
  for (int i = 0; i < kN * kK; ++i) x.push_back(brain(static_cast<float>(b_value(i / kK, i % kK))));
  k.x = bytes_of(x);
  std::vector<T> y;
  for (int r = 0; r < kM; ++r) {
    for (int c = 0; c < kN; ++c) {
      int sum = 0;
      for (int i = 0; i < kK; ++i) sum += a_value(r, i) * b_value(c, i);
      y.push_back(round(static_cast<float>(sum)));
    }
  }
  k.answer = bytes_of(y);
  for (size_t m = 0; m < 2; ++m) {
    emulation::TensorFacts& f = k.maps[m];
    f.address = m ? 2 * kM * kK : 0;
    f.rank = 2, f.element = 2, f.swizzle = 128;
    f.size[0] = kK, f.size[1] = m ? kN : kM;
    f.stride[0] = 2, f.stride[1] = 2 * kK;
    f.box[0] = 64, f.box[1] = static_cast<uint32_t>(m ? b_rows : a_rows);
  }
  k.threads = 384;
  k.blocks = kM / 128 * (kN / 128);
  k.dynamic_bytes = 131072;
}

/// A warpgroup starts TMA copies, four deep; two warpgroups multiply half of the rows each.
constexpr const char* kText = R"(
struct Args {{ i64 slot[8]; TensorMap map[3]; }};
HONE_KERNEL(384) kernel(const HONE_PARAMETER Args args) {{
  HONE_GLOBAL(float, Y, args.slot[3], {0} * {1});
  HONE_DYNAMIC(131072);
  HONE_TEAM_AT(bf16, As, 4 * 128 * 64, 0);
  HONE_TEAM_AT(bf16, Bs, 4 * 128 * 64, 65536);
  HONE_TEAM(u64, bars, 8);
  const u32 full = shared_address(HONE_AT(bars, 0)), empty = shared_address(HONE_AT(bars, 4));
  const i32 m0 = (i32)blockIdx.x / {3} * 128, n0 = (i32)blockIdx.x % {3} * 128;
  const i32 t = (i32)threadIdx.x;
  if (t == 0) {{
    tensor_prefetch(&args.map[0]);
    tensor_prefetch(&args.map[1]);
    #pragma unroll
    for (u32 s = 0; s < 4; ++s) {{ mbarrier_init(full + 8 * s, 1); mbarrier_init(empty + 8 * s, 8); }}
    fence_mbarrier_init();
  }}
  __syncthreads();
  if (t < 128) {{
    fewer_registers<40>();
    if (t == 0) {{
      for (i32 k = 0; k < {2}; ++k) {{
        const u32 s = (u32)k % 4;
        mbarrier_wait(empty + 8 * s, ((u32)k / 4 + 1) & 1);
        mbarrier_arrive_expect(full + 8 * s, 32768);
        tensor_load(shared_address(HONE_AT(As, s * 8192)), &args.map[0], full + 8 * s, k * 64, m0);
        tensor_load(shared_address(HONE_AT(Bs, s * 8192)), &args.map[1], full + 8 * s, k * 64, n0);
      }}
    }}
  }} else {{
    more_registers<232>();
    const i32 half = t / 128 - 1;
    HONE_OWN(float, acc, 64);
    for (i32 k = 0; k < {2}; ++k) {{
      const u32 s = (u32)k % 4;
      mbarrier_wait(full + 8 * s, (u32)k / 4 & 1);
      const u64 a = matrix_descriptor(shared_address(HONE_AT(As, s * 8192 + half * 4096)), 16, 1024, 128);
      const u64 b = matrix_descriptor(shared_address(HONE_AT(Bs, s * 8192)), 16, 1024, 128);
      wgmma_fence();
      #pragma unroll
      for (i32 i = 0; i < 4; ++i) {{
        wgmma_m64n128k16_bf16(HONE_AT(acc, 0), a + 2 * i, b + 2 * i, k > 0 || i > 0);
      }}
      wgmma_commit();
      wgmma_wait<1>();
      if (k > 0 && t % 32 == 0) mbarrier_arrive(empty + 8 * ((u32)(k - 1) % 4));
    }}
    wgmma_wait<0>();
    keep_registers<64>(HONE_AT(acc, 0));
    #pragma unroll
    for (i32 i = 0; i < 64; ++i) {{
      const i32 row = m0 + half * 64 + t % 128 / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
      Y[row * {1} + n0 + i / 4 * 8 + t % 4 * 2 + i % 2] = acc[i];
    }}
  }}
}}
)";

/// Blocks of a cluster have the same columns: each loads half of b for both. Memory is free when
/// the warps of both blocks are done with it.
constexpr const char* kClusterText = R"(
struct Args {{ i64 slot[8]; TensorMap map[3]; }};
HONE_KERNEL(384) kernel(const HONE_PARAMETER Args args) {{
  HONE_DYNAMIC(131072);
  HONE_TEAM_AT(bf16, As, 4 * 128 * 64, 0);
  HONE_TEAM_AT(bf16, Bs, 4 * 128 * 64, 65536);
  HONE_TEAM(u64, bars, 8);
  const u32 full = shared_address(HONE_AT(bars, 0)), empty = shared_address(HONE_AT(bars, 4));
  const u32 rank = cluster_rank();
  const i32 m0 = (i32)blockIdx.x % {0} * 128, n0 = (i32)blockIdx.x / {0} * 128;
  const i32 t = (i32)threadIdx.x;
  if (t == 0) {{
    for (i32 i = 0; i < 3; ++i) tensor_prefetch(&args.map[i]);
    #pragma unroll
    for (u32 s = 0; s < 4; ++s) {{ mbarrier_init(full + 8 * s, 1); mbarrier_init(empty + 8 * s, 16); }}
    fence_mbarrier_init();
  }}
  cluster_arrive();
  cluster_wait();
  if (t < 128) {{
    fewer_registers<40>();
    if (t == 0) {{
      for (i32 k = 0; k < {1}; ++k) {{
        const u32 s = (u32)k % 4;
        mbarrier_wait(empty + 8 * s, ((u32)k / 4 + 1) & 1);
        mbarrier_arrive_expect(full + 8 * s, 32768);
        tensor_load(shared_address(HONE_AT(As, s * 8192)), &args.map[0], full + 8 * s, k * 64, m0);
        tensor_load_multicast(shared_address(HONE_AT(Bs, s * 8192 + rank * 4096)), &args.map[1],
                              full + 8 * s, 3, k * 64, n0 + (i32)rank * 64);
      }}
    }}
  }} else {{
    more_registers<232>();
    const i32 half = t / 128 - 1;
    HONE_OWN(float, acc, 64);
    for (i32 k = 0; k < {1}; ++k) {{
      const u32 s = (u32)k % 4;
      mbarrier_wait(full + 8 * s, (u32)k / 4 & 1);
      const u64 a = matrix_descriptor(shared_address(HONE_AT(As, s * 8192 + half * 4096)), 16, 1024, 128);
      const u64 b = matrix_descriptor(shared_address(HONE_AT(Bs, s * 8192)), 16, 1024, 128);
      wgmma_fence();
      #pragma unroll
      for (i32 i = 0; i < 4; ++i) {{
        wgmma_m64n128k16_bf16(HONE_AT(acc, 0), a + 2 * i, b + 2 * i, k > 0 || i > 0);
      }}
      wgmma_commit();
      wgmma_wait<1>();
      if (k > 0 && t % 32 < 2) mbarrier_arrive_at(empty + 8 * ((u32)(k - 1) % 4), (u32)(t % 32));
    }}
    wgmma_wait<0>();
    keep_registers<64>(HONE_AT(acc, 0));
    // Each half writes its results where only its own products have read.
    #pragma unroll
    for (i32 i = 0; i < 64; ++i) {{
      const u32 row = t % 128 / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
      const u32 column = i / 4 * 8 + t % 4 * 2 + i % 2;
      const u32 at = row * 64 + (column % 64 ^ row % 8 * 8);
      As[column / 64 * 8192 + half * 4096 + at] = bf16_of_f32(acc[i]);
    }}
    fence_proxy_async();
    barrier_sync(1 + half, 128);
    if (t % 128 == 0) {{
      for (i32 j = 0; j < 2; ++j) {{
        tensor_store(&args.map[2], shared_address(HONE_AT(As, j * 8192 + half * 4096)), n0 + 64 * j,
                     m0 + 64 * half);
      }}
      bulk_commit();
      bulk_wait<0>();
    }}
  }}
  cluster_arrive();
  cluster_wait();
}}
)";

}  // namespace

RowKernel matmul_kernel() {
  RowKernel k;
  k.name = "matmul";
  k.text = fmt::format(fmt::runtime(kText), kM, kN, kK / 64, kN / 128);
  set_data<float>(k, 128, 128, [](float f) { return f; });
  return k;
}

RowKernel cluster_matmul_kernel() {
  RowKernel k;
  k.name = "matmul by clusters";
  k.text = fmt::format(fmt::runtime(kClusterText), kM / 128, kK / 64);
  set_data<uint16_t>(k, 128, 64, brain);
  emulation::TensorFacts& f = k.maps[2];
  f.rank = 2, f.element = 2, f.swizzle = 128;
  f.size[0] = kN, f.size[1] = kM;
  f.stride[0] = 2, f.stride[1] = 2 * kN;
  f.box[0] = 64, f.box[1] = 64;
  k.map_of_y = 2;
  k.cluster = 2;
  return k;
}

}  // namespace hone::tests
