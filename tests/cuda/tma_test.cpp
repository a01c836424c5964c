// SPDX-License-Identifier: Apache-2.0
//
// TMA copies: tensors through mbarriers, in pipelines and alone, whatever the layout;
// pipelines that threads of their own fill.
#include <doctest/doctest.h>

#include "tests/cuda/by_hand.h"
#include "tests/cuda/product_schedules.h"
#include "tests/diff/subject.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

std::string text_tma(int64_t n) { return std::to_string(n); }

/// A product of tiles of 32 by 32 in 8 warps; a block copies 32 of k at a time, as `copies` says.
std::string plain(const std::string& copies, const std::string& shared = "in=shared",
                  const std::string& tail = "pad") {
  return "split m 32 -> m.b m.t tail=" + tail + "; split n 32 -> n.b n.t tail=" + tail +
         "; split m.t 4 -> m.y m.r; reorder m.b n.b m.y n.t m.r; stage C at n.t -> acc "
         "in=registers; split acc/k 32 -> k.o k.i tail=" +
         tail +
         "; reorder k.o k.i acc/m; bind m.b block.y; bind n.b block.x; bind m.y thread.y; bind n.t "
         "thread.x; stage A at k.o -> As " +
         shared + "; stage B at k.o -> Bs in=shared; " + copies;
}

/// Four warps with 32 by 16 results each of tensor instructions; TMA copies of operands in
/// swizzled rows.
std::string tiles(const std::string& instruction, int depth, int step, const std::string& copies,
                  const std::string& of_a, const std::string& of_b) {
  return "split C/m 64 -> m.b m.i tail=pad; split C/n 32 -> n.b n.i tail=pad; split C/m.i 32 -> "
         "m.w m.r; split C/n.i 16 -> n.w n.r; reorder C/m.b C/n.b C/m.w C/n.w C/m.r C/n.r; stage C "
         "at C/n.w -> Ct in=warp; bind C/m.b block.y; bind C/n.b block.x; bind C/m.w thread.z; "
         "bind C/n.w thread.y; lanes C/m.r C/n.r 2 -> lane; split Ct/k " +
         text_tma(depth) + " -> k.o k.i tail=pad; split Ct/k.i " + text_tma(step) +
         " -> k.s k.t; split Ct/m 16 -> m.o m.t; split Ct/n 8 -> n.o n.t; reorder k.o k.s Ct/m.o "
         "Ct/n.o m.t n.t k.t; stage A at Ct/k.o -> As in=shared " +
         of_a + "; stage B at Ct/k.o -> Bs in=shared " + of_b +
         "; stage As at Ct/k.s -> Af in=warp; stage Bs at Ct/k.s -> Bf in=warp; lanes Af/d0 "
         "Af/d1 " +
         text_tma(step / 8) + " -> lane; lanes Bf/d1 Bf/d0 " + text_tma(step / 8) +
         " -> lane; tensorize m.t n.t k.t " + instruction + "; " + copies;
}

constexpr const char* kBoth = "tma As; tma Bs; pipeline acc/k.o depth=";
constexpr const char* kTilesOf = "tma As; tma Bs; pipeline Ct/k.o depth=";
/// Rows of 64 elements of 2 bytes for each 8 of k; those of B next to one another.
constexpr const char* kTmaRows = "swizzle=on";

std::vector<ByHand> mma_cases() {
  std::vector<ByHand> out;
  const std::string transposed = " B@N,K";
  for (const char* apart : {"", "; specialize Ct/k.o"}) {
    // Both operands with k along their rows, as memory has them.
    out.push_back({product("mma.f16", 64, 32, 128, transposed),
                   tiles("mma.f16", 32, 16, kTilesOf + ("3" + std::string(apart)), kTmaRows,
                         "swizzle=on layout=[n][k]")});
    out.push_back({product("mma.bf16", 70, 45, 200, transposed),
                   tiles("mma.bf16", 64, 16, kTilesOf + ("4" + std::string(apart)), kTmaRows,
                         "swizzle=on layout=[n][k]")});
    out.push_back({product("mma.i8i8", 40, 50, 144, transposed),
                   tiles("mma.i8i8", 64, 32, kTilesOf + ("2" + std::string(apart)), kTmaRows,
                         "swizzle=on layout=[n][k]")});
    // B as it is, n along its rows; A in two TMA copies of 32 of k.
    out.push_back({product("mma.f16", 70, 48, 96),
                   tiles("mma.f16", 64, 16, kTilesOf + ("2" + std::string(apart)),
                         "swizzle=on layout=[d1/32][d0][d1%32]", kTmaRows)});
  }
  return out;
}

/// wgmma, with and without threads of their own for the copies.
std::vector<ByHand> wgmma_cases() {
  std::vector<ByHand> out;
  for (const char* apart : {"", "; specialize Ct/k.o"}) {
    out.push_back({product("wgmma.bf16", 140, 40, 200, " B@N,K"),
                   by_warpgroups("wgmma.bf16", 64, 16, "layout=[n][k]",
                                 kTilesOf + ("3" + std::string(apart)))});
    out.push_back({product("wgmma.f16", 128, 72, 136),
                   by_warpgroups("wgmma.f16", 64, 16, "", kTilesOf + ("2" + std::string(apart)))});
    out.push_back({product("wgmma.i8i8", 140, 40, 400, " B@N,K"),
                   by_warpgroups("wgmma.i8i8", 128, 32, "layout=[n][k]",
                                 kTilesOf + ("4" + std::string(apart)))});
  }
  return out;
}

std::vector<ByHand> plain_cases() {
  std::vector<ByHand> out;
  for (int stages : {1, 2, 3}) {
    out.push_back({"matmul M=64 N=64 K=128", plain(kBoth + text_tma(stages))});
    out.push_back(
        {"matmul M=40 N=68 K=100", plain(kBoth + text_tma(stages), "in=shared swizzle=on")});
    // One by TMA, one by the threads.
    out.push_back({"matmul M=40 N=68 K=100",
                   plain("tma As; bind Bs/d0 thread.y; bind Bs/d1 thread.x; pipeline acc/k.o "
                         "depth=" +
                         text_tma(stages))});
  }
  out.push_back({"matmul M=70 N=36 K=68", plain(kBoth + text_tma(3), "in=shared", "mask")});
  for (const char* empty :
       {"matmul M=40 N=68 K=0", "matmul M=0 N=68 K=40", "matmul M=40 N=0 K=40"}) {
    out.push_back({empty, plain(kBoth + text_tma(3))});
    out.push_back({empty, plain(kBoth + text_tma(3) + "; specialize acc/k.o")});
  }
  out.push_back({"matmul M=1..70 N=48 K=40", plain(kBoth + text_tma(3))});
  for (int stages : {2, 4}) {
    out.push_back(
        {"matmul M=40 N=68 K=200",
         plain(kBoth + text_tma(stages) + "; specialize acc/k.o", "in=shared swizzle=on")});
  }
  return out;
}

/// Batches, axes in another order, padding, blocks that go through several tiles.
std::vector<ByHand> other_cases() {
  const std::string tiled =
      "split m 32 -> m.b m.t tail=pad; split n 32 -> n.b n.t tail=pad; split m.t 4 -> m.y m.r; ";
  const std::string inside =
      "stage C at n.t -> acc in=registers; split acc/k 32 -> k.o k.i tail=pad; reorder k.o k.i "
      "acc/m; bind m.y thread.y; bind n.t thread.x; stage A at k.o -> As in=shared; stage B at k.o "
      "-> Bs in=shared; tma As; tma Bs; pipeline acc/k.o depth=3";
  std::vector<ByHand> out;
  out.push_back(
      {"op p(A: f32[H,M,K], B: f32[H,K,N]) -> (C: f32[H,M,N]) { C[b,m,n] = "
       "sum[k](A[b,m,k] * B[b,k,n]) } H=3 M=20 N=24 K=36",
       tiled +
           "reorder b m.b n.b m.y n.t m.r; bind b block.z; bind m.b block.y; bind "
           "n.b block.x; " +
           inside});
  // Blocks that take one tile after the other; in the last round not all of them have one.
  const std::string of_tiles[] = {
      "split m.b 2 -> m.p m.q; reorder m.p m.q n.b m.y n.t m.r; bind m.q block.y; bind n.b "
      "block.x; ",
      "split m.b 3 -> m.p m.q; reorder m.q n.b m.p m.y n.t m.r; bind m.q block.y; bind n.b "
      "block.x; ",
      "reorder m.b n.b m.y n.t m.r; fuse m.b n.b -> t; split t 4 -> t.o t.i; bind t.i block.x; "};
  for (const char* apart : {"", "; specialize acc/k.o"}) {
    for (const std::string& way : of_tiles) {
      out.push_back({"matmul M=140 N=68 K=100", tiled + way + inside + apart});
    }
  }
  // A row with its neighbours, 0 outside; twice in each block, without a pipeline.
  out.push_back(
      {"op s(X: f32[N,M]) -> (Y: f32[N,M]) { Y[i,j] = X[i,j] + (X[i-1,j] else 0) + "
       "(X[i+1,j] else 0) } N=9 M=64",
       "split j 32 -> j.o j.i; reorder i j.o j.i; stage X at j.o -> Xs in=shared; tma "
       "Xs; bind i block.x; bind j.i thread.x"});
  // What is loaded once for a block.
  out.push_back({"op s(X: f32[N,M]) -> (Y: f32[N,M]) { Y[i,j] = X[i,j] * 2 } N=20 M=64",
                 "split i 8 -> i.o i.i tail=pad; stage X at i.o -> Xs in=shared; tma Xs; bind i.o "
                 "block.x; bind i.i thread.y; bind j thread.x"});
  // Five dims; one that only says which.
  out.push_back(
      {"op s(X: f32[A,B,C,D,E]) -> (Y: f32[A,B,C,D,E]) { Y[a,b,c,d,e] = X[a,b,c,d,e] + 1 "
       "} A=2 B=3 C=2 D=3 E=8",
       "stage X at c -> Xs in=shared; tma Xs; bind a block.x; bind d thread.y; bind e "
       "thread.x"});
  return out;
}

}  // namespace

TEST_CASE("cuda tma: copies of both operands, in pipelines and alone") { check_all(plain_cases()); }

TEST_CASE("cuda tma: tensor cores take swizzled copies") { check_all(mma_cases()); }

TEST_CASE("cuda tma: wgmma reads copies as they come") { check_all(wgmma_cases()); }

TEST_CASE("cuda tma: batches, borders, blocks that go on to another tile") {
  check_all(other_cases());
}

TEST_CASE("cuda tma: what a source has of it") {
  const auto source_of = [](const ByHand& c) {
    const auto printed = print(problem(c.problem), parsed(c.schedule));
    REQUIRE_MESSAGE(static_cast<bool>(printed), printed.failure());
    return printed->source;
  };
  const jit::CudaSource tma = source_of({"matmul M=64 N=64 K=128", plain(kBoth + text_tma(3))});
  CHECK(tma.launches[0].maps.size() == 2);
  CHECK(tma.launches[0].block == std::array<int, 3>{32, 8, 1});
  CHECK(tma.kernels.find("mbarrier_arrive_expect(filled_1, 8192)") != std::string::npos);
  CHECK(tma.kernels.find("copy_async") == std::string::npos);
  CHECK(tma.slot_align[2] == 16);
  const jit::CudaSource apart =
      source_of({"matmul M=64 N=64 K=128", plain(kBoth + text_tma(3) + "; specialize acc/k.o")});
  CHECK(apart.launches[0].block == std::array<int, 3>{32, 9, 1});
  const std::string loop = apart.kernels.substr(apart.kernels.find("  else {"));
  CHECK(loop.find("__syncthreads") == std::string::npos);
  CHECK(loop.find("tensor_load") == std::string::npos);
}

TEST_CASE("cuda tma: kernels with a part wrong are caught") {
  const std::string threads = plain(kBoth + text_tma(2)), apart = threads + "; specialize acc/k.o";
  check_caught(
      "matmul M=40 N=68 K=200",
      {{"fewer bytes than come", threads, "(filled_1, 8192)", "(filled_1, 4096)"},
       {"more bytes than come", apart, "(filled_1, 8192)", "(filled_1, 8208)"},
       {"the phase before", threads, "((k_o_ / 2) % 2)", "(((k_o_ / 2) + 1) % 2)"},
       {"no wait for the copies", apart, "mbarrier_wait(shared_address(HONE_AT(full_0",
        "if (false) mbarrier_wait(shared_address(HONE_AT(full_0"},
       {"memory filled before it is read", threads, "          __syncthreads();\n", ""},
       {"memory filled before it is free", apart, "mbarrier_wait(shared_address(HONE_AT(empty_0",
        "if (false) mbarrier_wait(shared_address(HONE_AT(empty_0"},
       {"a warp's lane speaks for others too early", apart, "warp_barrier();", ""},
       {"memory that nobody frees", apart, "if (threadIdx.x % 32 == 0)", "if (false)"},
       {"mbarriers that copies do not know of", threads, "fence_mbarrier_init();", ""},
       {"a copy beside its place", apart, "HONE_AT(As_, 1024 *", "HONE_AT(As_, 32 *"}});
}

TEST_CASE("cuda tma: a copy from a tensor without elements is caught") {
  const DiffProblem p = problem("matmul M=64 N=64 K=128");
  auto made = print(p, parsed(plain(kBoth + text_tma(2))));
  REQUIRE_MESSAGE(static_cast<bool>(made), made.failure());
  made->source.launches[0].maps[1].sizes[0] = ir::make_int(0);
  EmulatedCode code;
  code.add(made->source);
  REQUIRE(code.compile().empty());
  Subject subject(p.text, p.program, p.dims);
  const std::string failed = subject.check(made->nest, [&](int launch, const int64_t* args) {
    return code.run(0, launch, args, subject.dims());
  });
  CHECK_MESSAGE(failed.find("a tensor copy's map is none") != std::string::npos, failed);
}

TEST_CASE("cuda tma: the device's compiler and assembler take the kernels") {
  std::vector<ByHand> all;
  for (const auto& cases : {plain_cases(), mma_cases(), wgmma_cases(), other_cases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  check_compiles(all, static_cast<size_t>(by_effort(5, 2, 1)));
}

TEST_CASE("cuda tma: what TMA cannot do is refused with its reason") {
  const std::string row = "stage X at i.o -> Xs in=shared";
  const std::string split = "split i 8 -> i.o i.i; ";
  const std::string of64 = "op s(X: f32[N,M]) -> (Y: f32[N,M]) { Y[i,j] = X[i,j] * 2 } N=16 M=64";
  check_refused({
      {"matmul M=40 N=67 K=100", plain(kBoth + text_tma(2)), "268 bytes apart"},
      {"matmul M=40 N=1..68 K=100", plain(kBoth + text_tma(2)), "known before the call"},
      {"matmul M=40 N=68 K=100 A@K,M", plain(kBoth + text_tma(2)), "neighbours in the copy's rows"},
      {"matmul M=40 N=68 K=100", plain(kBoth + text_tma(2), "in=shared pad=4"), "leave out pad="},
      {"matmul M=40 N=68 K=100", plain("bind Bs/d1 thread.x; bind Bs/d0 thread.y; tma Bs"),
       "one thread starts the copies"},
      {"matmul M=40 N=68 K=100",
       plain("tma As; bind Bs/d1 thread.x; bind Bs/d0 thread.y; pipeline acc/k.o depth=2; "
             "specialize acc/k.o"),
       "all threads copy"},
      {of64, split + row + " swizzle=on; tma Xs; bind i.o block.x; bind j thread.x",
       "swizzled rows of 256 bytes"},
      {"op s(X: f32[N,M]) -> (Y: f32[N,M]) { Y[i,j] = X[i,j] * 2 } N=16 M=512",
       split + row + "; tma Xs; bind i.o block.x; bind j thread.x", "at most 256"},
      {"op s(X: f32[N,M]) -> (Y: f32[N,M]) { Y[i,j] = X[i,j] * 2 } N=16 M=62",
       split + row + "; tma Xs; bind i.o block.x; bind j thread.x", "have 248 bytes"},
      {"matmul M=64 N=64 K=256",
       "split m 32 -> m.b m.t; split n 32 -> n.b n.t; split m.t 4 -> m.y m.r; reorder m.b n.b m.y "
       "n.t m.r; stage C at n.t -> acc in=registers; split acc/k 64 -> k.o k.i; split acc/k.i 16 "
       "-> k.m k.r; reorder k.o k.m k.r acc/m; bind m.b block.y; bind n.b block.x; bind m.y "
       "thread.y; bind n.t thread.x; stage A at k.o -> As in=shared; stage B at k.m -> Bs "
       "in=shared; tma As; tma Bs; pipeline acc/k.o depth=2; pipeline acc/k.m depth=3",
       "is a pipeline too"},
      {"op c(A: f32[K,M]) -> (C: f32[M]) { C[m] = sum[k](A[k,m]) } K=0..64 M=64",
       "split m 32 -> m.b m.t; stage A at m.b -> As in=shared; tma As; bind m.b block.x; bind m.t "
       "thread.x",
       "no empty tensors"},
  });
  ir::Target old = gpu();
  old.sm = 80;
  const auto printed =
      print(problem("matmul M=64 N=64 K=64"), parsed(plain(kBoth + text_tma(2))), old);
  REQUIRE(!printed);
  CHECK(printed.failure().find("sm_90 has") != std::string::npos);
}

TEST_CASE("cuda tma: stages that TMA cannot copy are refused with their reason") {
  const auto row = [](const std::string& tensor, const std::string& copy,
                      const std::string& dims = "N=16 M=64") {
    return "op s(X: f32[" + tensor + "]) -> (Y: f32[N,M]) { " + copy + "; Y[i,j] = T[i,j] * 2 } " +
           dims;
  };
  const std::string at_rows =
      "split Y/i 8 -> i.o i.i; compute T at Y/i.o in=shared; tma T; bind Y/i.o block.x; bind Y/j "
      "thread.x";
  check_refused({
      // A copy keeps a dim without which its reads might leave X.
      {row("N+M-1", "T[i in 0..N,j in 0..M] = X[j]", "N=0..16 M=64"), at_rows,
       "copied along i, which X does not have"},
      {row("2*N,M", "T[i in 0..N,j] = X[2*i,j]"), at_rows, "dim 0 of X is read at 2*i"},
      {row("N,M", "T[i in 0..N,j in 0..M] = X[i-1,j] else 1"), at_rows, "outside X it finds 1"},
      {row("N,M", "T[i,j] = X[i,j] + 1"), at_rows, "only what `stage` copies as it is"},
      {row("N,M", "S[i,j] = X[i,j] + 1; T[i,j] = S[i,j]"),
       "split Y/i 8 -> i.o i.i; compute S at Y/i.o in=registers; compute T at Y/i.o in=shared; "
       "tma T; bind Y/i.o block.x; bind Y/j thread.x",
       "S is not in the GPU's memory"},
      {"op s(X: f32[N,M]) -> (Y: f32[M,N]) { T[j,i] = X[i,j]; Y[j,i] = T[j,i] * 2 } N=16 M=64",
       "split Y/j 8 -> j.o j.i; compute T at Y/j.o in=shared; tma T; bind Y/j.o block.x; bind Y/i "
       "thread.x",
       "64 elements apart in X"},
      {"op s(X: f32[A,B,C,D,E,F]) -> (Y: f32[A,B,C,D,E,F]) { Y[a,b,c,d,e,f] = X[a,b,c,d,e,f] + 1 } "
       "A=2 B=2 C=2 D=3 E=2 F=8",
       "stage X at d -> Xs in=shared; tma Xs; bind a block.x; bind e thread.y; bind f thread.x",
       "X has 6 dims; TMA takes 5"},
  });
}
