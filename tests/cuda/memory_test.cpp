// SPDX-License-Identifier: Apache-2.0
//
// How memory is moved on a GPU: long accesses, shared memory laid out and filled ahead.
#include <doctest/doctest.h>

#include "schedules/space/space.h"
#include "tests/cuda/by_hand.h"
#include "tests/diff/subject.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

const std::vector<ByHand> kMemoryRows = {
    // Accesses of 16 bytes: whole, with a tail, of mixed types, along part of a row, guarded.
    {"add N=1000",
     "split Y/i 4 -> o v; vectorize v; split Y/o 64 -> b t; bind b block.x; bind t thread.x"},
    {"add N=1003 T=f16",
     "split Y/i 8 -> o v; vectorize v; split Y/o 64 -> b t; bind b block.x; bind t thread.x"},
    {"add N=1003 T=i8 B.align=4",
     "split Y/i 16 -> o v; vectorize v; split Y/o 32 -> b t; bind b block.x; bind t thread.x"},
    {"bias_gelu M=6 N=48 T=bf16",
     "split Y/n 8 -> n.o n.v; vectorize n.v; bind m block.x; bind n.o thread.x"},
    {"transpose M=24 N=32",
     "split Y/i 4 -> i.o i.v; vectorize i.v; bind j block.x; bind i.o thread.x"},
    {"pad P=8 M=3 N=32",
     "split Y/j 4 -> j.o j.v; vectorize j.v; bind i block.x; bind j.o thread.x"},
    {"concat M=5 N=8 L=24",
     "split Y/j 4 -> j.o j.v; vectorize j.v; bind i block.x; bind j.o thread.x"},
    {"axpy N=100", "split Y/i 4 -> o v; vectorize v; bind o thread.x"},
    {"gather_rows R=9 D=32 N=7",
     "split Y/d 8 -> o v; vectorize v; bind n block.x; bind o thread.x"},
    // Through shared memory: rows apart, rows with swizzled chunks, more than is static.
    {"transpose M=40 N=35",
     "split Y/j 32 -> jb ji; split Y/i 32 -> ib ii; reorder Y/jb Y/ib Y/ji Y/ii; "
     "stage X at Y/ib -> Xs in=shared pad=1; bind Xs/d0 thread.y; bind Xs/d1 thread.x; "
     "bind ji thread.y; bind ii thread.x; bind jb block.y; bind ib block.x"},
    {"transpose M=64 N=64 T=f16",
     "split Y/i 32 -> ib ii; reorder Y/ib Y/j Y/ii; stage X at Y/ib -> Xs in=shared swizzle=on; "
     "split Xs/d1 8 -> o v; vectorize v; bind Xs/d0 thread.y; bind Xs/o thread.x; "
     "split Y/j 8 -> jo ji; bind jo thread.x; bind ii thread.y; bind ib block.x"},
    {"transpose M=128 N=128",
     "split Y/j 128 -> jo ji; stage X at Y/jo -> Xs in=shared; split Xs/d0 16 -> d0.o d0.i; "
     "split Xs/d1 4 -> o v; vectorize v; bind d0.i thread.y; bind Xs/o thread.x; "
     "split Y/i 32 -> io ii; bind ii thread.x"},
    // The rows of a launch follow one another in one block.
    {"transpose M=16 N=9",
     "stage X at Y/j -> Xs in=shared; bind Xs/d0 thread.x; split Y/i 8 -> io ii; bind ii thread.x"},
    // Shared memory filled while threads compute: whole and ragged, deep and shallow, guarded.
    {"matmul M=64 N=128 K=80",
     "split C/m 64 -> m.b m.i; split C/n 64 -> n.b n.i; split C/m.i 8 -> m.t m.r; "
     "split C/n.i 8 -> n.t n.r; reorder C/m.b C/n.b C/m.t C/n.t C/k C/m.r C/n.r; "
     "stage C at C/n.t -> Ct in=registers; split Ct/k 16 -> k.o k.i; "
     "reorder Ct/k.o Ct/k.i Ct/m Ct/n; "
     "stage A at Ct/k.o -> As in=shared; stage B at Ct/k.o -> Bs in=shared; "
     "split As/d1 4 -> d1.o d1.v; vectorize d1.v; split As/d0 16 -> d0.o d0.i; bind As/d0.i "
     "thread.y; "
     "bind As/d1.o thread.x; split Bs/d1 4 -> d1.o d1.v; vectorize Bs/d1.v; bind Bs/d0 thread.y; "
     "bind Bs/d1.o thread.x; "
     "unroll Ct/m Ct/n; bind C/m.b block.y; bind C/n.b block.x; bind C/m.t thread.y; "
     "bind C/n.t thread.x; pipeline Ct/k.o depth=2"},
    {"matmul M=70 N=92 K=52",
     "split C/m 64 -> m.b m.i; split C/n 64 -> n.b n.i; split C/m.i 8 -> m.t m.r; "
     "split C/n.i 8 -> n.t n.r; reorder C/m.b C/n.b C/m.t C/n.t C/k C/m.r C/n.r; "
     "stage C at C/n.t -> Ct in=registers; split Ct/k 16 -> k.o k.i tail=peel; "
     "reorder Ct/k.o Ct/k.i Ct/m Ct/n; "
     "stage A at Ct/k.o -> As in=shared pad=4; stage B at Ct/k.o -> Bs in=shared; "
     "split As/d1 4 -> d1.o d1.v; vectorize d1.v; split As/d0 16 -> d0.o d0.i; bind As/d0.i "
     "thread.y; "
     "bind As/d1.o thread.x; split Bs/d1 4 -> d1.o d1.v; vectorize Bs/d1.v; bind Bs/d0 thread.y; "
     "bind Bs/d1.o thread.x; "
     "unroll Ct/m Ct/n; bind C/m.b block.y; bind C/n.b block.x; bind C/m.t thread.y; "
     "bind C/n.t thread.x; pipeline Ct/k.o depth=3"},
    {"matmul M=70 N=90 K=50",
     "split C/m 64 -> m.b m.i; split C/n 64 -> n.b n.i; split C/m.i 8 -> m.t m.r; "
     "split C/n.i 8 -> n.t n.r; reorder C/m.b C/n.b C/m.t C/n.t C/k C/m.r C/n.r; "
     "stage C at C/n.t -> Ct in=registers; split Ct/k 16 -> k.o k.i; "
     "reorder Ct/k.o Ct/k.i Ct/m Ct/n; "
     "stage A at Ct/k.o -> As in=shared swizzle=on; stage B at Ct/k.o -> Bs in=shared; "
     "split As/d1 4 -> d1.o d1.v; vectorize d1.v; split As/d0 16 -> d0.o d0.i; bind As/d0.i "
     "thread.y; "
     "bind As/d1.o thread.x; split Bs/d1 4 -> d1.o d1.v; vectorize Bs/d1.v; bind Bs/d0 thread.y; "
     "bind Bs/d1.o thread.x; "
     "unroll Ct/m Ct/n; bind C/m.b block.y; bind C/n.b block.x; bind C/m.t thread.y; "
     "bind C/n.t thread.x; pipeline Ct/k.o depth=4"},
    {"matmul M=64 N=64 K=16",
     "split C/m 64 -> m.b m.i; split C/n 64 -> n.b n.i; split C/m.i 8 -> m.t m.r; "
     "split C/n.i 8 -> n.t n.r; reorder C/m.b C/n.b C/m.t C/n.t C/k C/m.r C/n.r; "
     "stage C at C/n.t -> Ct in=registers; split Ct/k 16 -> k.o k.i; "
     "reorder Ct/k.o Ct/k.i Ct/m Ct/n; "
     "stage A at Ct/k.o -> As in=shared; stage B at Ct/k.o -> Bs in=shared; "
     "split As/d1 4 -> d1.o d1.v; vectorize d1.v; split As/d0 16 -> d0.o d0.i; bind As/d0.i "
     "thread.y; "
     "bind As/d1.o thread.x; split Bs/d1 4 -> d1.o d1.v; vectorize Bs/d1.v; bind Bs/d0 thread.y; "
     "bind Bs/d1.o thread.x; "
     "unroll Ct/m Ct/n; bind C/m.b block.y; bind C/n.b block.x; bind C/m.t thread.y; "
     "bind C/n.t thread.x; pipeline Ct/k.o depth=3"},
    {"matmul M=64 N=64 K=96 T=f16",
     "split C/m 64 -> m.b m.i; split C/n 64 -> n.b n.i; split m.i 8 -> m.t m.r; split n.i 8 -> n.t "
     "n.r; "
     "reorder C/m.b C/n.b C/m.t C/n.t C/m.r C/n.r; compute C.1 at C/n.t in=registers; "
     "split C.1/k 16 -> k.o k.i; reorder C.1/k.o C.1/k.i C.1/m C.1/n; "
     "stage A at C.1/k.o -> As in=shared swizzle=on; stage B at C.1/k.o -> Bs in=shared pad=8; "
     "split As/d1 8 -> d1.o d1.v; vectorize As/d1.v; split As/d0 8 -> d0.o d0.i; bind As/d0.i "
     "thread.y; "
     "bind As/d1.o thread.x; split Bs/d1 8 -> d1.o d1.v; vectorize Bs/d1.v; "
     "split Bs/d0 8 -> d0.o d0.i; bind Bs/d0.i thread.y; bind Bs/d1.o thread.x; "
     "bind C/m.b block.y; bind C/n.b block.x; bind C/m.t thread.y; bind C/n.t thread.x; "
     "pipeline C.1/k.o depth=3"},
    {"matmul M=70 N=92 K=52",
     "split C/m 64 -> m.b m.i tail=pad; split C/n 64 -> n.b n.i tail=pad; split m.i 8 -> m.t m.r; "
     "split n.i 8 -> n.t n.r; reorder C/m.b C/n.b C/m.t C/n.t C/k C/m.r C/n.r; "
     "stage C at C/n.t -> Ct in=registers; split Ct/k 16 -> k.o k.i tail=pad; "
     "reorder Ct/k.o Ct/k.i Ct/m Ct/n; stage A at Ct/k.o -> As in=shared pad=4; "
     "stage B at Ct/k.o -> Bs in=shared; split As/d1 4 -> d1.o d1.v; vectorize As/d1.v; "
     "bind As/d0 thread.y; bind As/d1.o thread.x; split Bs/d1 4 -> d1.o d1.v; vectorize Bs/d1.v; "
     "bind Bs/d0 thread.y; bind Bs/d1.o thread.x; unroll Ct/m Ct/n; bind C/m.b block.y; "
     "bind C/n.b block.x; bind C/m.t thread.y; bind C/n.t thread.x; pipeline Ct/k.o depth=3"},
    // Tensor cores fed by matrices from swizzled rows, filled ahead.
    {"op p(A: f16[M,K], B: f16[K,N]) -> (C: f32[M,N]) { C[m,n] = sum[k](A[m,k] * B[k,n]) } M=64 "
     "N=32 K=128",
     "split C/m 64 -> m.b m.i tail=pad; split C/n 32 -> n.b n.i tail=pad; split C/m.i 32 -> m.w "
     "m.r; split C/n.i 16 -> n.w n.r; reorder C/m.b C/n.b C/m.w C/n.w C/m.r C/n.r; stage C at "
     "C/n.w -> Ct in=warp; bind C/m.b block.y; bind C/n.b block.x; bind C/m.w thread.z; bind C/n.w "
     "thread.y; lanes C/m.r C/n.r 2 -> lane; split Ct/k 32 -> k.o k.i tail=pad; split Ct/k.i 16 -> "
     "k.s k.t; split Ct/m 16 -> m.o m.t; split Ct/n 8 -> n.o n.t; reorder k.o k.s Ct/m.o Ct/n.o "
     "m.t n.t k.t; stage A at Ct/k.o -> As in=shared swizzle=on; stage B at Ct/k.o -> Bs in=shared "
     "swizzle=on; split As/d1 8 -> d1.o d1.v; vectorize As/d1.v; split As/d0 4 -> d0.o d0.i; split "
     "As/d0.i 2 -> z y; bind As/d1.o thread.x; bind As/y thread.y; bind As/z thread.z; split Bs/d1 "
     "8 -> d1.o d1.v; vectorize Bs/d1.v; split Bs/d0 4 -> d0.o d0.i; split Bs/d0.i 2 -> z y; bind "
     "Bs/d1.o thread.x; bind Bs/y thread.y; bind Bs/z thread.z; stage As at Ct/k.s -> Af in=warp; "
     "stage Bs at Ct/k.s -> Bf in=warp; lanes Af/d0 Af/d1 2 -> lane; lanes Bf/d1 Bf/d0 2 -> lane; "
     "tensorize m.t n.t k.t mma.f16; pipeline Ct/k.o depth=3"},
    {"op p(A: f16[M,K], B: f16[K,N]) -> (C: f32[M,N]) { C[m,n] = sum[k](A[m,k] * B[k,n]) } M=72 "
     "N=40 K=96",
     "split C/m 64 -> m.b m.i tail=pad; split C/n 32 -> n.b n.i tail=pad; split C/m.i 32 -> m.w "
     "m.r; split C/n.i 16 -> n.w n.r; reorder C/m.b C/n.b C/m.w C/n.w C/m.r C/n.r; stage C at "
     "C/n.w -> Ct in=warp; bind C/m.b block.y; bind C/n.b block.x; bind C/m.w thread.z; bind C/n.w "
     "thread.y; lanes C/m.r C/n.r 2 -> lane; split Ct/k 32 -> k.o k.i tail=pad; split Ct/k.i 16 -> "
     "k.s k.t; split Ct/m 16 -> m.o m.t; split Ct/n 8 -> n.o n.t; reorder k.o k.s Ct/m.o Ct/n.o "
     "m.t n.t k.t; stage A at Ct/k.o -> As in=shared swizzle=on; stage B at Ct/k.o -> Bs in=shared "
     "swizzle=on; split As/d1 8 -> d1.o d1.v; vectorize As/d1.v; split As/d0 4 -> d0.o d0.i; split "
     "As/d0.i 2 -> z y; bind As/d1.o thread.x; bind As/y thread.y; bind As/z thread.z; split Bs/d1 "
     "8 -> d1.o d1.v; vectorize Bs/d1.v; split Bs/d0 4 -> d0.o d0.i; split Bs/d0.i 2 -> z y; bind "
     "Bs/d1.o thread.x; bind Bs/y thread.y; bind Bs/z thread.z; stage As at Ct/k.s -> Af in=warp; "
     "stage Bs at Ct/k.s -> Bf in=warp; lanes Af/d0 Af/d1 2 -> lane; lanes Bf/d1 Bf/d0 2 -> lane; "
     "tensorize m.t n.t k.t mma.f16; pipeline Ct/k.o depth=3"},
};

/// The kernels of a row for a GPU of that capability.
Printed printed(const ByHand& row, int sm) {
  ir::Target target;
  target.sm = sm;
  auto out = print(problem(row.problem), parsed(row.schedule), target);
  REQUIRE_MESSAGE(static_cast<bool>(out), row.problem << ": " << out.failure());
  return *std::move(out);
}

/// `schedule` with a pipeline of `stages` at every loop at which something is kept in shared
/// memory.
schedules::Schedule pipelined(const DiffProblem& problem, schedules::Schedule schedule,
                              int stages) {
  const auto scheduled = schedules::apply(problem.program, schedule);
  if (!scheduled) return schedule;
  for (const ir::Stage& s : scheduled->stages) {
    if (scheduled->buffer(s.output)->space != ir::Space::kSharedMemory) continue;
    schedules::Schedule more = schedule;
    more.steps.push_back(*schedules::parse_step("pipeline " + s.at.stage + "/" + s.at.loop +
                                                " depth=" + std::to_string(stages)));
    if (print(problem, more)) schedule = std::move(more);
  }
  return schedule;
}

/// A pipeline that a GPU without tensor cores has as well.
bool fills_ahead(const ByHand& row) {
  return row.schedule.find("pipeline") != std::string::npos &&
         row.schedule.find("tensorize") == std::string::npos;
}

}  // namespace

TEST_CASE("cuda memory: schedules by hand under the emulation") { check_all(kMemoryRows); }

TEST_CASE("cuda memory: a GPU without asynchronous copies runs the same pipelines") {
  EmulatedCode code;
  std::vector<Printed> all;
  int copied = 0;
  for (const ByHand& row : kMemoryRows) {
    if (!fills_ahead(row)) continue;
    copied += printed(row, 80).source.kernels.find("copy_async") != std::string::npos;
    all.push_back(printed(row, 75));
    CHECK(all.back().source.kernels.find("copy_async") == std::string::npos);
    code.add(all.back().source);
  }
  CHECK(copied > 3);
  const std::string wrong = code.compile();
  REQUIRE_MESSAGE(wrong.empty(), wrong);
  int i = 0;
  for (const ByHand& row : kMemoryRows) {
    if (!fills_ahead(row)) continue;
    const DiffProblem p = problem(row.problem);
    Subject subject(p.text, p.program, p.dims);
    const std::string failed = subject.check(
        all[static_cast<size_t>(i)].nest,
        [&](int launch, const int64_t* args) { return code.run(i, launch, args, subject.dims()); });
    CHECK_MESSAGE(failed.empty(), row.problem << ": " << failed);
    ++i;
  }
}

TEST_CASE("cuda memory: default schedules with a pipeline wherever memory is shared") {
  const auto problems = diff_problems();
  Batch batch;
  size_t added = 0, seen = 0;
  for (const DiffProblem& p : problems) {
    const schedules::Schedule plain = schedules::default_schedule(p.program, gpu());
    if (plain.text().find("in=shared") == std::string::npos) continue;
    const auto schedule = pipelined(p, plain, 2 + static_cast<int>(++seen % 3));
    if (schedule.text() == plain.text()) continue;
    CHECK_MESSAGE(batch.add(p, schedule).empty(), p.text);
    ++added;
  }
  CHECK(added > 0);
  batch.check();
}

TEST_CASE("cuda memory: tensor cores take matrices from swizzled rows that copies fill") {
  const std::string source = printed(kMemoryRows.back(), 90).source.kernels;
  CHECK(source.find("load_matrices<4, false>") != std::string::npos);
  CHECK(source.find("HONE_AT(As_, swizzled<64, 2>(") != std::string::npos);
  CHECK(source.find("copy_async<16>") != std::string::npos);
}

TEST_CASE("cuda memory: more shared memory than a block has is refused with the figures") {
  const DiffProblem p = problem("transpose M=256 N=256");
  const auto refused =
      print(p, parsed("split Y/j 256 -> jo ji; stage X at Y/jo -> Xs in=shared; bind jo block.x"));
  REQUIRE_FALSE(static_cast<bool>(refused));
  CHECK(refused.failure().find("262144 bytes of shared memory in a block; a block of sm_90 has at "
                               "most 232448") != std::string::npos);
}

TEST_CASE("cuda memory: kernels compile with and without asynchronous copies") {
  const auto nvrtc = compiler_at_hand();
  if (!nvrtc) return;
  int row = 0;
  for (const ByHand& r : kMemoryRows) {
    for (int sm : {75, 80, 90}) {
      if (effort() == tests::Effort::kSmoke && row++ % 4 != 0) continue;
      const bool tiles = r.schedule.find("tensorize") != std::string::npos;
      if (tiles && sm < 80) continue;
      if (!compiles_for(*nvrtc, sm)) continue;
      const auto binary = nvrtc->compile(printed(r, sm).source, sm);
      CHECK_MESSAGE(static_cast<bool>(binary), r.problem << ": " << binary.failure().message);
    }
  }
}
