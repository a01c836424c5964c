// SPDX-License-Identifier: Apache-2.0
//
// Instructions on tiles: every row, whole tiles and parts of them, whichever way operands lie.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "jit/ir/instructions.h"
#include "schedules/space/space.h"
#include "tests/cuda/by_hand.h"
#include "tests/cuda/product_schedules.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

std::string text_mma(int64_t n) { return std::to_string(n); }

std::string word_of(DType type) { return text_mma(std::max(1, 4 / size_of(type))); }

/// Copies a tensor's window by all threads of 2 x 2 warps.
std::string shared_mma(const std::string& tensor, const std::string& copy) {
  return "stage " + tensor + " at Ct/k.o -> " + copy + " in=shared; split " + copy +
         "/d1 32 -> d1.o x; split " + copy + "/d0 4 -> d0.o d0.i; split d0.i 2 -> z y; bind " +
         copy + "/x thread.x; bind " + copy + "/y thread.y; bind " + copy + "/z thread.z; ";
}

/// Four warps a block, each with 32 x 16 results; operands through shared memory.
std::string schedule_mma(const ir::Instruction& row) {
  const std::string depth = text_mma(2 * row.group), k = text_mma(row.group);
  std::string s =
      "split C/m 64 -> m.b m.i tail=pad; split C/n 32 -> n.b n.i tail=pad; "
      "split C/m.i 32 -> m.w m.r; split C/n.i 16 -> n.w n.r; "
      "reorder C/m.b C/n.b C/m.w C/n.w C/m.r C/n.r; stage C at C/n.w -> Ct in=warp; "
      "bind C/m.b block.y; bind C/n.b block.x; bind C/m.w thread.z; bind C/n.w thread.y; "
      "lanes C/m.r C/n.r 2 -> lane; ";
  s += "split Ct/k " + depth + " -> k.o k.i tail=pad; split Ct/k.i " + k +
       " -> k.s k.t; split Ct/m " + text_mma(row.rows) + " -> m.o m.t; split Ct/n " +
       text_mma(row.columns) + " -> n.o n.t; reorder k.o k.s Ct/m.o Ct/n.o m.t n.t k.t; ";
  s += shared_mma("A", "As") + shared_mma("B", "Bs");
  s += "stage As at Ct/k.s -> Af in=warp; stage Bs at Ct/k.s -> Bf in=warp; ";
  s += "lanes Af/d0 Af/d1 " + word_of(row.a) + " -> lane; lanes Bf/d1 Bf/d0 " + word_of(row.b) +
       " -> lane; tensorize m.t n.t k.t " + row.name;
  return s;
}

/// Default schedules of problems have a step with `word`, and are right. Dims that calls give are
/// `dim`.
void check_defaults(const std::vector<std::string>& texts, int64_t dim, const char* word) {
  std::vector<DiffProblem> problems;
  for (const std::string& text_mma : texts) {
    problems.push_back(problem(text_mma));
    problems.back().dims.assign(problems.back().program.dims.size(), dim);
  }
  Batch batch;
  for (const DiffProblem& p : problems) {
    const schedules::Schedule schedule = schedules::default_schedule(p.program, gpu());
    CHECK_MESSAGE(schedule.text().find(word) != std::string::npos, p.text);
    const std::string refused = batch.add(p, schedule);
    CHECK_MESSAGE(refused.empty(), p.text << ": " << refused);
  }
  batch.check();
}

}  // namespace

TEST_CASE("cuda: instructions on tiles, each row") {
  std::vector<ByHand> all;
  const auto add = [&](const ir::Instruction& row, int m, int n, int k, const char* more) {
    all.push_back({product(row.name, m, n, k, more), schedule_mma(row), row.narrows});
  };
  for (const ir::Instruction& row : ir::instructions()) {
    if (row.lanes == 0 || row.most_columns > 0 || !available(row, gpu())) continue;
    add(row, 64, 32, 2 * row.group, "");
    add(row, 70, 45, 3 * row.group + 5, "");
    if (effort() == hone::tests::Effort::kSmoke) continue;
    add(row, 70, 45, 3 * row.group + 5, " B@N,K");
    add(row, 33, 100, row.group, " A@K,M C@N,M");
    add(row, 3, 2, 1, "");
    add(row, 5, 9, 0, "");
  }
  check_all(all);
}

TEST_CASE("cuda: lanes hold every element of a tile once") {
  for (const ir::Instruction& row : ir::instructions()) {
    if (row.lanes == 0) continue;
    for (ir::Operand operand : {ir::Operand::kA, ir::Operand::kB, ir::Operand::kResult}) {
      if (operand == ir::Operand::kB && row.most_columns > 0) continue;  // in shared memory
      const auto axes = tile_axes(row, operand, 0, 1);
      const int rows = tile_rows(row, operand), columns = tile_columns(row, operand);
      std::set<int64_t> places;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          int64_t at = 0;
          for (const ir::Axis& a : axes) {
            const int64_t index = (a.dim == 0 ? r : c) / a.div;
            at = a.mod == 0 ? at + index : at * a.mod + index % a.mod;
          }
          places.insert(at);
        }
      }
      CHECK(static_cast<int>(places.size()) == rows * columns);
      CHECK(*places.rbegin() == rows * columns - 1);
    }
  }
}

TEST_CASE("cuda: default schedules bring products to tensor instructions") {
  check_defaults(
      {"matmul M=128 N=160 K=64 T=bf16", "matmul M=33 N=70 K=61 T=f16 B@N,K",
       "matmul M=40 N=24 K=50 T=f16 A@K,M C@N,M", "fc_gelu M=70 N=96 K=40 const=W T=bf16",
       "batched_matmul B=3 M=20 N=24 K=18 T=f16", "matmul M=40 N=70 K=37 T=f64",
       "matmul M=1..70 N=48 K=40 T=bf16", "matmul_acc M=20 N=33 K=40 T=bf16",
       product("mma.i8i8", 50, 40, 70), product("mma.u8i8", 50, 40, 70),
       ("op shifted(A: f16[M+S,K], B: f16[S,K,N]) -> (C: f16[M,N]) { C[m,n] = sum[s,k](A[m+s,k] * "
        "B[s,k,n]) } M=40 N=24 K=40 S=3")},
      53, "tensorize");
}

TEST_CASE("cuda: default schedules bring large products to warpgroups") {
  check_defaults(
      {"matmul M=150 N=140 K=130 T=bf16", "matmul M=70 N=300 K=61 T=f16 B@N,K",
       "fc_gelu M=130 N=96 K=72 const=W T=bf16", "batched_matmul B=2 M=65 N=72 K=40 T=f16",
       "matmul M=1..200 N=64 K=40 T=bf16", "matmul_i8 M=100 N=60 K=200 B@N,K",
       "matmul M=5 N=130 K=90 T=bf16", "matmul M=17 N=100 K=72 T=f16 B@N,K",
       "fc_gelu M=100 N=4 K=72 const=W T=bf16", "matmul M=128 N=64 K=80 T=f16 A@K,M C@N,M",
       // Rows that begin where another index says, and sums over several indices.
       ("op shifted(A: bf16[M+S,K], B: bf16[S,K,N]) -> (C: f32[M,N]) { C[m,n] = sum[s,k](A[m+s,k] "
        "* B[s,k,n]) } M=100 N=72 K=136 S=3"),
       ("op windows(X: f16[N,H+R,W+Q,C], F: f16[R,Q,C,O]) -> (Y: f16[N,H,W,O]) { Y[n,h,w,o] = "
        "sum[r,q,c](X[n,h+r,w+q,c] * F[r,q,c,o]) } N=2 H=3 W=70 C=64 O=40 R=2 Q=3"),
       "conv2d T=bf16 N=1 C=40 H=5 W=70 O=24 R=2 Q=3 X@N,H,W,C F@O,R,Q,C Y@N,d2,d3,O"},
      131, "wgmma");
}

TEST_CASE("cuda: default schedules lay operands out for tiles, and compute tiles whole") {
  check_defaults({"conv2d N=1 C=32 H=6 W=20 O=70 R=3 Q=3 P=1 T=f16",
                  "conv2d N=2 C=16 H=9 W=33 O=64 R=3 Q=3 S=2 P=1 T=bf16",
                  "conv2d N=2 C=64 H=7 W=7 O=64 R=3 Q=3 P=1 T=f16",
                  "conv2d N=2 C=48 H=10 W=12 O=64 R=1 Q=1 T=f16", "matmul_i8 M=70 N=65 K=96",
                  "causal_attention B=1 H=2 S=70 D=64 T=bf16"},
                 0, "tensorize");
  // Short rows of an image, and short sums, become longer ones.
  check_defaults({"conv2d N=1 C=24 H=14 W=13 O=128 R=3 Q=3 P=1 T=bf16",
                  "conv2d N=2 C=3 H=23 W=21 O=64 R=7 Q=7 S=2 P=3 T=f16",
                  "conv2d N=1 C=3 H=12 W=17 O=32 R=3 Q=3 P=1 T=bf16",
                  "op sums(A: f16[M,K,L], B: f16[N,K,L]) -> (Y: f16[M,N]) { Y[i,j] = "
                  "sum[k,l](A[i,k,l] * B[j,k,l]) } M=70 N=65 K=9 L=11"},
                 0, "collapse");
  // Without such instructions, a tile in the registers of each thread: of attention's second
  // product, where columns end at the diagonal, by conditions.
  check_defaults(
      {"conv2d N=1 C=16 H=5 W=20 O=24 R=3 Q=3 P=1", "causal_attention B=1 H=1 S=70 D=33"}, 0,
      "in=registers");
}

TEST_CASE("cuda: tiles whose rows lie together are filled by matrices") {
  const auto filled = [](const char* text_mma, const char* how) {
    const DiffProblem p = problem(text_mma);
    ir::Target target = gpu();
    target.sm = 89;  // has no instructions that read shared memory themselves
    const auto printed = print(p, schedules::default_schedule(p.program, target), target);
    REQUIRE(static_cast<bool>(printed));
    return printed->source.kernels.find(how) != std::string::npos;
  };
  CHECK(filled("matmul M=256 N=256 K=256 T=bf16", "load_matrices<4, false>"));
  CHECK(filled("matmul M=256 N=256 K=256 T=bf16", "load_matrices<4, true>"));
  CHECK_FALSE(filled("matmul M=256 N=256 K=256 T=bf16 B@N,K", "load_matrices<4, true>"));
  CHECK(filled("matmul_i8 M=256 N=256 K=256 B@N,K", "load_matrices<4, false>"));
}
