// SPDX-License-Identifier: Apache-2.0
//
// Blocks that run in clusters and copy what they share for one another.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "schedules/search/sampling.h"
#include "tests/cuda/by_hand.h"
#include "tests/cuda/product_schedules.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// How each loop of a product ends that tiles do not divide.
struct Tails {
  std::string m = "pad", n = "pad", k = "pad";
};

/// Blocks of 32 by 32 results without tensor instructions, bound as `blocks` says.
std::string plain_cluster(const std::string& blocks, const std::string& rest,
                          const std::string& of_a = "", const Tails& tails = {}) {
  return "split m 32 -> m.b m.t tail=" + tails.m + "; split n 32 -> n.b n.t tail=" + tails.n +
         "; split m.t 4 -> m.y m.r; reorder m.b n.b m.y n.t m.r; " + blocks +
         "; stage C at n.t -> acc in=registers; split acc/k 32 -> k.o k.i tail=" + tails.k +
         "; reorder k.o k.i acc/m; bind m.y thread.y; bind n.t thread.x; stage A at k.o -> As "
         "in=shared" +
         of_a + "; stage B at k.o -> Bs in=shared; tma As; tma Bs; pipeline acc/k.o depth=2; " +
         rest;
}

constexpr const char* kGrid = "bind m.b block.y; bind n.b block.x";
/// Four blocks, which go on to other tiles until all are made.
constexpr const char* kPersistent = "fuse m.b n.b -> t; split t 4 -> t.o t.i; bind t.i block.x";

constexpr const char* kGrouped =
    "split m.b 4 -> m.g m.c; reorder m.g n.b m.c m.y n.t m.r; fuse n.b m.c -> s; fuse m.g s -> t; "
    "split t 8 -> t.o t.i; bind t.i block.x";

std::vector<ByHand> cases() {
  const std::string transposed = " B@N,K", apart = "specialize acc/k.o; ";
  const std::string filled = "tma As; tma Bs; pipeline Ct/k.o depth=3; specialize Ct/k.o; ";
  return {
      // Along m, blocks share the columns' operand; along n, the rows'.
      {product("wgmma.bf16", 140, 40, 136, transposed),
       by_warpgroups("wgmma.bf16", 64, 16, "layout=[n][k]", filled + "cluster m.b 2")},
      {product("wgmma.bf16", 140, 40, 136, transposed),
       by_warpgroups("wgmma.bf16", 64, 16, "layout=[n][k]", filled + "cluster C/n.b 2")},
      {product("wgmma.bf16", 400, 40, 72, transposed),
       by_warpgroups("wgmma.bf16", 64, 16, "layout=[n][k]", filled + "cluster m.b 4")},
      {product("wgmma.f16", 128, 120, 136),
       by_warpgroups("wgmma.f16", 64, 16, "", filled + "cluster C/n.b 4")},
      {product("wgmma.i8i8", 140, 40, 272, transposed),
       by_warpgroups("wgmma.i8i8", 128, 32, "layout=[n][k]", filled + "cluster m.b 2")},
      {"matmul M=40 N=68 K=200", plain_cluster(kGrid, apart + "cluster m.b 2")},
      {"matmul M=40 N=128 K=200", plain_cluster(kGrid, apart + "cluster n.b 2", " swizzle=on")},
      {"matmul M=1..40 N=256 K=40", plain_cluster(kGrid, apart + "cluster n.b 8")},
      // Neighbouring tiles of a persistent grid have the same rows; as many in each round.
      {"matmul M=120 N=60 K=100", plain_cluster(kPersistent, apart + "cluster t.i 2")},
      {"matmul M=60 N=124 K=100", plain_cluster(kPersistent, apart + "cluster t.i 4")},
      // Four of six tiles, then two: whole clusters run in every round, whichever loop is outside.
      {"matmul M=190 N=32 K=100", plain_cluster(kPersistent, apart + "cluster t.i 2")},
      {"matmul M=190 N=32 K=100",
       plain_cluster(
           "fuse m.b n.b -> t; split t 4 -> t.o t.i; reorder t.i t.o m.y; bind t.i block.x",
           apart + "cluster t.i 2")},
      // Eight tiles for each 32 of m, however many those are.
      {"matmul M=1..70 N=252 K=72",
       plain_cluster("fuse m.b n.b -> t; bind t block.x", apart + "cluster t 4")},
      {"matmul M=1..70 N=252 K=72", plain_cluster(kPersistent, apart + "cluster t.i 4")},
      // Fewer iterations than the pipeline is deep, one of them, as many as the call says.
      {"matmul M=40 N=68 K=20", plain_cluster(kGrid, apart + "cluster m.b 2")},
      {product("wgmma.bf16", 140, 40, 40, transposed),
       by_warpgroups("wgmma.bf16", 64, 16, "layout=[n][k]", filled + "cluster m.b 2")},
      {product("wgmma.bf16", 140, 40, 72, transposed),
       by_warpgroups("wgmma.bf16", 64, 16, "layout=[n][k]", filled + "cluster C/n.b 2")},
      {"matmul M=40 N=68 K=1..100 A.stride=(100,1)", plain_cluster(kGrid, apart + "cluster m.b 2")},
      // The end of a loop by itself: of k, of blocks that are no cluster's, of threads.
      {"matmul M=40 N=68 K=100",
       plain_cluster(kGrid, apart + "cluster m.b 2", "", {"pad", "pad", "peel"})},
      {"matmul M=40 N=68 K=36",
       plain_cluster(kGrid, apart + "cluster m.b 2", "", {"pad", "pad", "peel"})},
      {"matmul M=64 N=68 K=100",
       plain_cluster(kGrid, apart + "cluster m.b 2", "", {"pad", "peel", "pad"})},
      {"matmul M=40 N=68 K=100",
       plain_cluster(kGrid, apart + "cluster m.b 2", "", {"mask", "mask", "mask"})},
      // Groups of four rows of tiles, whose columns come first.
      {"matmul M=380 N=92 K=40", plain_cluster(kGrouped, apart + "cluster t.i 2")},
      {"matmul M=256 N=92 K=72", plain_cluster(kGrouped, apart + "cluster t.i 4")},
      // The blocks' number is the range of the launch.
      {"matmul M=60 N=28 K=100",
       plain_cluster("bind m.b block.x; bind n.b block.y", apart + "cluster m.b 2")},
  };
}

/// A product and a schedule by tiles of 16 by 32, drawn by number.
ByHand drawn(uint64_t number) {
  schedules::Random random(number);
  const auto one_of = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random.below(words.size())]);
  };
  // Up to eight tiles of `tile`, the last of which may have fewer elements.
  const auto dim = [&](const char* name, uint64_t tile, uint64_t step, bool may_vary) {
    const uint64_t least = tile * random.below(8) + step;
    const uint64_t size = least + step * random.below(tile / step);
    const bool varies = may_vary && size >= 37 && random.chance(0.2);
    return fmt::format(" {}={}{}", name, varies ? "1.." : "", size);
  };
  const std::string k = dim("K", 16, 4, true);
  std::string problem = "matmul" + dim("M", 16, 1, true) + dim("N", 32, 4, false) + k;
  if (k.starts_with(" K=1..")) problem += " A.stride=(128,1)";
  const std::string waves = one_of({"2", "4", "6", "8"});
  struct Grid {
    std::string steps;
    std::vector<const char*> loops;  ///< of blocks
  };
  const Grid grids[] = {
      {"bind m.b block.y; bind n.b block.x", {"m.b", "n.b"}},
      {"fuse m.b n.b -> t; bind t block.x", {"t"}},
      {"fuse m.b n.b -> t; split t " + waves + " -> t.o t.i; bind t.i block.x", {"t.i"}},
      {"fuse m.b n.b -> t; split t " + waves + " -> t.o t.i; reorder t.i t.o m.y; bind t.i block.x",
       {"t.i"}},
      {"split m.b 2 -> m.p m.q; reorder m.p m.q n.b m.y; bind m.q block.y; bind n.b block.x",
       {"m.q", "n.b"}},
      {"split n.b 2 -> n.p n.q; reorder n.q m.b n.p m.y; bind n.q block.y; bind m.b block.x",
       {"n.q", "m.b"}}};
  const Grid& grid = grids[random.below(std::size(grids))];
  const auto tail = [&] { return one_of({"pad", "pad", "pad", "mask", "peel"}); };
  std::string s = fmt::format(
      "split m 16 -> m.b m.t tail={}; split n 32 -> n.b n.t tail={}; split m.t 4 -> m.y m.r; "
      "reorder m.b n.b m.y n.t m.r; {}; stage C at n.t -> acc in=registers; split acc/k 16 -> k.o "
      "k.i tail={}; reorder k.o k.i acc/m; bind m.y thread.y; bind n.t thread.x; stage A at k.o -> "
      "As in=shared{}; stage B at k.o -> Bs in=shared{}; tma As; tma Bs; pipeline acc/k.o "
      "depth={}; specialize acc/k.o",
      tail(), tail(), grid.steps, tail(), one_of({"", "", " swizzle=on"}),
      one_of({"", "", " swizzle=on"}), one_of({"2", "3", "4"}));
  return {problem, s + fmt::format("; cluster C/{} {}", grid.loops[random.below(grid.loops.size())],
                                   one_of({"2", "2", "2", "4", "8"}))};
}

}  // namespace

TEST_CASE("cuda clusters: blocks copy for one another what they share") { check_all(cases()); }

TEST_CASE("cuda clusters: what a source has of them") {
  const auto printed = print(problem("matmul M=40 N=68 K=200"),
                             parsed(plain_cluster(kGrid, "specialize acc/k.o; cluster m.b 2")));
  REQUIRE_MESSAGE(static_cast<bool>(printed), printed.failure());
  const jit::CudaLaunch& launch = printed->source.launches[0];
  CHECK(launch.cluster == std::array<int, 3>{1, 2, 1});
  CHECK(launch.maps.size() == 2);
  // B's TMA copy is 32 by 32; each block brings 16 of its rows to both.
  CHECK(launch.maps[1].box == std::vector<int64_t>{32, 16});
  const std::string& text = printed->source.kernels;
  CHECK(text.find("HONE_CLUSTER_KERNEL(288, 1, 2, 1)") != std::string::npos);
  CHECK(text.find("mbarrier_arrive_expect(filled_1, 8192)") != std::string::npos);
  CHECK(text.find("tensor_load(shared_address(HONE_AT(As_") != std::string::npos);
  CHECK(text.find("tensor_load_multicast(shared_address(HONE_AT(Bs_") != std::string::npos);
}

TEST_CASE("cuda clusters: a grid of parts of clusters is refused") {
  const auto made = print(problem("matmul M=40 N=68 K=200"),
                          parsed(plain_cluster(kGrid, "specialize acc/k.o; cluster m.b 2")));
  REQUIRE_MESSAGE(static_cast<bool>(made), made.failure());
  ir::Nest nest = made->nest;
  nest.launches[0].extent = ir::make_int(3);
  const auto source = jit::print_cuda(nest, gpu());
  REQUIRE_FALSE(static_cast<bool>(source));
  CHECK_MESSAGE(
      source.failure().reason.find("launch C has 3 blocks along an axis where clusters have 2") !=
          std::string::npos,
      source.failure().reason);
}

TEST_CASE("cuda clusters: kernels with a part wrong are caught") {
  const std::string meet = "  cluster_arrive_relaxed();\n  cluster_wait();\n";
  const std::string leave = "  warp_barrier();\n" + meet;
  const std::string right = plain_cluster(kGrid, "specialize acc/k.o; cluster m.b 2");
  check_caught(
      "matmul M=40 N=68 K=200",
      {{"memory filled before the other block has read it", right, "HONE_AT(empty_0, i)), 16)",
        "HONE_AT(empty_0, i)), 8)"},
       {"warps that free the memory of a block alone", right, "% 32 < 2)", "% 32 < 1)"},
       {"blocks that begin before all mbarriers are made", right, meet, "  __syncthreads();\n"},
       {"blocks that leave while others write to them", right, leave, ""},
       {"parts for one block", right, "filled_1, 3,", "filled_1, 1,"},
       {"a part that the other block has", right, "512 * (m_b_ % 2)", "512 * ((m_b_ + 1) % 2)"}});
}

TEST_CASE("cuda clusters: random tiles, tails and grids are right, or refused") {
  const auto count = static_cast<size_t>(by_effort(6, 6, 12, 150));
  std::vector<ByHand> served;
  uint64_t drawings = 0;
  for (; served.size() < count && drawings < 20 * count; ++drawings) {
    ByHand row = drawn(drawings);
    if (print(problem(row.problem), parsed(row.schedule))) served.push_back(std::move(row));
  }
  MESSAGE(served.size() << " of " << drawings << " are served");
  CHECK(served.size() == count);
  check_all(served);
}

TEST_CASE("cuda clusters: the device's compiler and assembler take the kernels") {
  check_compiles(cases(), static_cast<size_t>(by_effort(4, 2, 1)));
}

TEST_CASE("cuda clusters: what blocks cannot share is refused with its reason") {
  const std::string apart = "specialize acc/k.o; ";
  check_refused({
      {"matmul M=40 N=68 K=200", plain_cluster(kGrid, apart + "cluster n.b 2"), "no multiple of 2"},
      {"matmul M=1..70 N=68 K=40", plain_cluster(kGrid, apart + "cluster m.b 2"),
       "need not be a multiple of 2"},
      {"matmul M=1..70 N=220 K=40",
       plain_cluster("fuse m.b n.b -> t; bind t block.x", apart + "cluster t 2"),
       "7*((M + 31)/32) iterations, which need not be a multiple of 2"},
      {"matmul M=40 N=64 K=100",
       plain_cluster("reorder n.b m.b m.y; bind n.b block.x; bind m.b block.y",
                     apart + "cluster m.b 2", "", {"peel", "pad", "pad"}),
       "the loop comes in several pieces"},
      {"matmul M=40 N=64 K=100",
       plain_cluster(kGrid, apart + "cluster m.b 2", "", {"peel", "pad", "pad"}),
       "differently often"},
      // Lengths that an earlier launch checks: blocks of a cluster would stop one by one.
      {"op p(A: f32[M,K], B: f32[K,N], X: f32[L,N], len: i64[M]) -> (C: f32[M,N]) { C[m,n] = "
       "sum[k](A[m,k] * B[k,n]) + sum[j in 0..len[m]](X[j,n]) } M=64 N=64 K=200 L=50",
       "split C/m 32 -> m.b m.t tail=pad; split C/n 32 -> n.b n.t tail=pad; split C/m.t 4 -> m.y "
       "m.r; reorder C/m.b C/n.b C/m.y C/n.t C/m.r; bind C/m.b block.y; bind C/n.b block.x; "
       "compute "
       "C.1 at C/n.t in=registers; compute C.2 at C/n.t in=registers; split C.1/k 32 -> k.o k.i "
       "tail=pad; reorder C.1/k.o C.1/k.i C.1/m; bind C/m.y thread.y; bind C/n.t thread.x; stage A "
       "at C.1/k.o -> As in=shared; stage B at C.1/k.o -> Bs in=shared; tma As; tma Bs; pipeline "
       "C.1/k.o depth=2; specialize C.1/k.o; cluster C/m.b 2",
       "an earlier launch checks"},
      {"matmul M=40 N=68 K=0", plain_cluster(kGrid, apart + "cluster m.b 2"),
       "none is made by TMA"},
      {"matmul M=40 N=68 K=200", plain_cluster(kGrid, "cluster m.b 2"), "only pipelines"},
      // The last round has three tiles for four blocks.
      {"matmul M=220 N=32 K=100", plain_cluster(kPersistent, apart + "cluster t.i 2"),
       "need not be a multiple of 2"},
      // Five tiles by four blocks: the first has two.
      {"matmul M=140 N=32 K=100",
       plain_cluster(
           "split m.b 4 -> m.p m.q; reorder m.q n.b m.p m.y n.t m.r; bind m.q block.y; bind n.b "
           "block.x",
           apart + "cluster m.q 2"),
       "differently often"},
      {"matmul M=40 N=256 K=200", plain_cluster(kGrid, apart + "cluster n.b 8", " swizzle=on"),
       "no 8 parts that begin at multiples of 1024 bytes"},
      {"op p(A: f32[H,M,K], B: f32[H,K,N]) -> (C: f32[H,M,N]) { C[b,m,n] = sum[k](A[b,m,k] * "
       "B[b,k,n]) } H=4 M=20 N=24 K=36",
       "split m 32 -> m.b m.t tail=pad; split n 32 -> n.b n.t tail=pad; split m.t 4 -> m.y m.r; "
       "reorder b m.b n.b m.y n.t m.r; bind b block.z; bind m.b block.y; bind n.b block.x; stage C "
       "at n.t -> acc in=registers; split acc/k 32 -> k.o k.i tail=pad; reorder k.o k.i acc/m; "
       "bind m.y thread.y; bind n.t thread.x; stage A at k.o -> As in=shared; stage B at k.o -> Bs "
       "in=shared; tma As; tma Bs; pipeline acc/k.o depth=3; specialize acc/k.o; cluster C/b 2",
       "each has a box of its own of B"},
  });
  ir::Target old = gpu();
  old.sm = 80;
  ir::Target cpu;
  for (const ir::Target& target : {old, cpu}) {
    const auto printed = print(problem("matmul M=64 N=64 K=64"),
                               parsed(plain_cluster(kGrid, apart + "cluster m.b 2")), target);
    REQUIRE(!printed);
    CHECK_MESSAGE(printed.failure().find("no clusters of blocks") != std::string::npos,
                  printed.failure());
  }
}
