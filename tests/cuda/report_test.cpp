// SPDX-License-Identifier: Apache-2.0
//
// What is said of kernels without running them, against answers reckoned by hand and against what
// the emulation counts.
#include "jit/cuda/report/report.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ops/op.h"
#include "schedules/schedule.h"
#include "schedules/space/space.h"
#include "tests/cuda/by_hand.h"
#include "tests/support/golden.h"

using namespace hone;

namespace {

/// Every lane at `start + lane * step`, elements of `bytes`.
jit::Request strided(int64_t start, int64_t step, int bytes, uint32_t active = ~0u) {
  jit::Request r;
  r.active = active;
  r.bytes = bytes;
  for (size_t l = 0; l < jit::kLanes; ++l) r.address[l] = start + static_cast<int64_t>(l) * step;
  return r;
}

struct CountedByHand {
  const char* what;
  jit::Request request;
  int sectors, least;
  int rounds, least_rounds;
};

const CountedByHand kReportByHand[] = {
    {"neighbours of 4 bytes", strided(0, 4, 4), 4, 4, 1, 1},
    {"neighbours of 4 bytes, 4 past a sector's start", strided(4, 4, 4), 5, 4, 1, 1},
    {"neighbours of 2 bytes", strided(0, 2, 2), 2, 2, 1, 1},
    {"neighbours of 16 bytes", strided(0, 16, 16), 16, 16, 4, 4},
    {"neighbours of 8 bytes", strided(0, 8, 8), 8, 8, 2, 2},
    {"one element for all", strided(40, 0, 4), 1, 1, 1, 1},
    {"every other element", strided(0, 8, 4), 8, 4, 2, 1},
    {"down a column of 32 words", strided(0, 128, 4), 32, 4, 32, 1},
    {"down a column of 33 words", strided(0, 132, 4), 32, 4, 1, 1},
    {"backwards", strided(124, -4, 4), 4, 4, 1, 1},
    {"half a warp", strided(0, 4, 4, 0xffff), 2, 2, 1, 1},
    {"no lane", strided(0, 4, 4, 0), 0, 0, 0, 0},
};

/// A problem under a schedule, with its report for a GPU.
std::vector<jit::LaunchReport> report(const std::string& text, const std::string& steps) {
  const auto made = tests::print(tests::problem(text), tests::parsed(steps));
  REQUIRE_MESSAGE(static_cast<bool>(made), steps << ": " << made.failure());
  return jit::report_on(made->nest, made->source, tests::gpu(), jit::typical_dims(made->nest), {},
                        {0, true});
}

}  // namespace

namespace {

/// The report of a problem's default kernels, as text.
std::string default_report(const std::string& text) {
  ir::Target gpu;
  gpu.sm = 90;
  const auto problem = ops::parse_problem(text);
  REQUIRE_MESSAGE(static_cast<bool>(problem), text);
  const auto schedule = schedules::default_schedule(problem->program, gpu);
  std::string out;
  for (const jit::LaunchReport& r : report(text, schedule.text())) {
    out += fmt::format("launch {}: {} blocks of {}x{}x{} threads, {} bytes of shared memory\n",
                       r.name, r.grid[0] * r.grid[1] * r.grid[2], r.block[0], r.block[1],
                       r.block[2], r.shared_bytes);
    out += fmt::format(
        "  {} resident ({}), {:.3g} of {:.3g} sectors a request, {:.3g} ways, {} of "
        "{} branches diverge\n",
        r.occupancy.threads, r.occupancy.limit, r.sectors, r.least_sectors, r.ways,
        r.walked.divergent, r.walked.branches);
    out += fmt::format("  {} operations, {} bytes, bound by {}\n", r.walked.operations,
                       r.memory_bytes, r.bound);
    for (const jit::AccessSite& s : r.walked.sites) {
      out += fmt::format("  {} {} bytes: {} requests, {} {} {}{}\n", s.store ? "store" : "load",
                         s.bytes, s.requests, s.shared ? s.rounds : s.sectors,
                         s.shared ? "rounds" : "sectors", s.place, s.data ? " (data)" : "");
    }
  }
  return out;
}

}  // namespace

TEST_CASE("cuda report: golden") { tests::check_golden("report/cuda.txt", default_report); }

TEST_CASE("cuda report: products on tensor cores") {
  // Four warps, each with 32 x 16 results; 2 m n k operations, all of them on tiles.
  const auto shared = [](const std::string& tensor, const std::string& copy) {
    return "stage " + tensor + " at Ct/k.o -> " + copy + " in=shared; split " + copy +
           "/d1 32 -> d1.o x; split " + copy + "/d0 4 -> d0.o d0.i; split d0.i 2 -> z y; bind " +
           copy + "/x thread.x; bind " + copy + "/y thread.y; bind " + copy + "/z thread.z; ";
  };
  const auto launches = report(
      "op product(A: f16[M,K], B: f16[K,N]) -> (C: f32[M,N]) { C[m,n] = sum[k](A[m,k] * B[k,n]) } "
      "M=64 N=32 K=32",
      "split C/m 64 -> m.b m.i tail=pad; split C/n 32 -> n.b n.i tail=pad; "
      "split C/m.i 32 -> m.w m.r; split C/n.i 16 -> n.w n.r; "
      "reorder C/m.b C/n.b C/m.w C/n.w C/m.r C/n.r; stage C at C/n.w -> Ct in=warp; "
      "bind C/m.b block.y; bind C/n.b block.x; bind C/m.w thread.z; bind C/n.w thread.y; "
      "lanes C/m.r C/n.r 2 -> lane; split Ct/k 32 -> k.o k.i tail=pad; "
      "split Ct/k.i 16 -> k.s k.t; split Ct/m 16 -> m.o m.t; split Ct/n 8 -> n.o n.t; "
      "reorder k.o k.s Ct/m.o Ct/n.o m.t n.t k.t; " +
          shared("A", "As") + shared("B", "Bs") +
          "stage As at Ct/k.s -> Af in=warp; stage Bs at Ct/k.s -> Bf in=warp; "
          "lanes Af/d0 Af/d1 2 -> lane; lanes Bf/d1 Bf/d0 2 -> lane; "
          "tensorize m.t n.t k.t mma.f16");
  REQUIRE(launches.size() == 1);
  CHECK(launches[0].walked.operations == 2 * 64 * 32 * 32);
  CHECK(launches[0].walked.tensor_operations == 2 * 64 * 32 * 32);
}

TEST_CASE("cuda report: sectors and rounds of a request") {
  for (const CountedByHand& row : kReportByHand) {
    CAPTURE(row.what);
    CHECK(jit::sectors_of(row.request) == row.sectors);
    CHECK(jit::least_sectors_of(row.request) == row.least);
    CHECK(jit::rounds_of(row.request) == row.rounds);
    CHECK(jit::least_rounds_of(row.request) == row.least_rounds);
  }
}

TEST_CASE("cuda report: occupancy and what limits it") {
  const auto at = [](int sm, int threads, int registers, int64_t shared) {
    return jit::occupancy({threads, registers, shared}, ir::device_limits(sm));
  };
  CHECK(at(90, 256, 32, 0).share == 1.0);
  CHECK(at(90, 256, 0, 0).limit == "threads");
  // 32 blocks of a warp are 1024 of 2048 threads.
  CHECK(at(90, 32, 32, 0).share == 0.5);
  CHECK(at(90, 32, 32, 0).limit == "blocks");
  // 255 registers are 8192 a warp with the unit of 256: 8 warps of 65536.
  CHECK(at(90, 128, 255, 0).blocks == 2);
  CHECK(at(90, 128, 255, 0).limit == "registers");
  // 100 KB and the driver's 1 KB: two in 228 KB; on a GPU with 100 KB not one.
  CHECK(at(90, 128, 64, 100 << 10).blocks == 2);
  CHECK(at(90, 128, 64, 100 << 10).limit == "shared memory");
  CHECK(at(89, 128, 64, 100 << 10).blocks == 0);
  CHECK(at(75, 256, 32, 0).threads == 1024);
  // No row of its own: as the nearest below.
  CHECK(ir::device_limits(103).sm == 100);
}

TEST_CASE("cuda report: what the assembler's log says") {
  const auto all = jit::resources_in(
      "ptxas info    : Compiling entry function 'one' for 'sm_90'\n"
      "ptxas         .     16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 28 registers, used 1 barriers, 1024 bytes smem\n"
      "ptxas info    : Compiling entry function 'two' for 'sm_90'\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n");
  REQUIRE(all.size() == 2);
  const jit::KernelResources* one = jit::resources_of(all, "one");
  REQUIRE(one != nullptr);
  CHECK(one->registers == 28);
  CHECK(one->local_bytes == 16);
  CHECK(one->spill_bytes == 20);
  CHECK(one->shared_bytes == 1024);
  CHECK(jit::resources_of(all, "two")->shared_bytes == 0);
  CHECK(jit::resources_of(all, "three") == nullptr);
}

TEST_CASE("cuda report: a chain over neighbours") {
  const auto launches =
      report("add N=1000", "split Y/i 256 -> b t; bind b block.x; bind t thread.x");
  REQUIRE(launches.size() == 1);
  const jit::LaunchReport& r = launches[0];
  CHECK(r.grid[0] == 4);
  CHECK(r.block[0] == 256);
  REQUIRE(r.walked.sites.size() == 3);
  for (const jit::AccessSite& s : r.walked.sites) {
    CHECK(s.requests == 32);  // 31 whole warps and one of 8 lanes
    CHECK(s.sectors == 125);
    CHECK(s.least_sectors == 125);
  }
  CHECK(r.walked.operations == 1000);
  CHECK(r.memory_bytes == 12000);
  CHECK(r.walked.divergent == 1);
  CHECK(r.bound == std::string("parallelism"));
}

TEST_CASE("cuda report: a tile transposed in shared memory") {
  // Y[j,i] = X[i,j]: read along j into shared memory, written along i from its columns.
  const auto launches =
      report("transpose M=64 N=96",
             "split Y/j 32 -> j.b j.t; split Y/i 32 -> i.b i.t; reorder Y/j.b Y/i.b Y/j.t Y/i.t; "
             "stage X at Y/i.b -> Xs in=shared; bind Xs/d0 thread.y; bind Xs/d1 thread.x; "
             "bind Y/j.b block.y; bind Y/i.b block.x; bind Y/j.t thread.y; bind Y/i.t thread.x");
  REQUIRE(launches.size() == 1);
  const jit::LaunchReport& r = launches[0];
  CHECK(r.block == std::array<int, 3>{32, 32, 1});
  CHECK(r.shared_bytes == 4096);
  CHECK(r.sectors == 4);
  CHECK(r.least_sectors == 4);
  CHECK(r.memory_bytes == 2 * 64 * 96 * 4);
  CHECK(r.walked.divergent == 0);
  int seen = 0;
  for (const jit::AccessSite& s : r.walked.sites) {
    if (!s.shared) continue;
    ++seen;
    CHECK(s.requests == 64 * 96 / 32);
    CHECK(s.rounds == s.requests * (s.store ? 1 : 32));
  }
  CHECK(seen == 2);
}

TEST_CASE("cuda report: rows that data choose") {
  const auto launches =
      report("embedding_bag R=20 D=32 L=12 B=4", "bind Y/b block.x; bind Y/d thread.x");
  REQUIRE(!launches.empty());
  bool found = false;
  for (const jit::AccessSite& s : launches.back().walked.sites) {
    if (!s.place.starts_with("E[")) continue;
    found = true;
    CHECK(s.data);
    CHECK(s.sectors == 4 * s.requests);  // which row is not known, that a warp reads one is
  }
  CHECK(found);
}

TEST_CASE("cuda report: samples stand for the whole where iterations are alike") {
  const auto made =
      tests::print(tests::problem("add N=1048576"),
                   tests::parsed("split Y/i 256 -> b t; bind b block.x; bind t thread.x"));
  REQUIRE_MESSAGE(static_cast<bool>(made), made.failure());
  const auto launches = jit::report_on(made->nest, made->source, tests::gpu(), {}, {});
  REQUIRE(launches.size() == 1);
  CHECK(launches[0].walked.operations == 1048576);
  CHECK(launches[0].sector_bytes == 3 * 4 * 1048576);
}

TEST_CASE("cuda report: threads that only start copies do no operations") {
  for (const int64_t n : {2048, 4096}) {
    const auto problem = ops::parse_problem(fmt::format("matmul M={0} N={0} K={0} T=bf16", n));
    REQUIRE(static_cast<bool>(problem));
    const auto made = tests::print_default(problem->program);
    REQUIRE_MESSAGE(static_cast<bool>(made), made.failure());
    REQUIRE(made->source.launches[0].producer_axis > 0);
    const auto launches = jit::report_on(made->nest, made->source, tests::gpu(), {}, {});
    const double products = 2.0 * static_cast<double>(n * n * n);
    CHECK(launches[0].walked.tensor_operations >= products);
    CHECK(launches[0].walked.tensor_operations <= 1.02 * products);
  }
}

TEST_CASE("cuda report: roofs by type, by the target's multiprocessors, and of issue") {
  const auto first = [](const std::string& text, const ir::Target& target) {
    const auto problem = ops::parse_problem(text);
    REQUIRE_MESSAGE(static_cast<bool>(problem), text);
    const auto made = tests::print_default(problem->program, target);
    REQUIRE_MESSAGE(static_cast<bool>(made), made.failure());
    return jit::report_on(made->nest, made->source, target, jit::typical_dims(made->nest), {})[0];
  };
  const ir::Target h200 = tests::gpu();
  const double narrow = first("matmul M=4096 N=4096 K=4096 T=bf16", h200).operations_us;
  const double whole = first("matmul_i8 M=4096 N=4096 K=4096 B@N,K", h200).operations_us;
  CHECK(narrow / whole == doctest::Approx(2).epsilon(0.05));
  ir::Target half = h200;
  half.sms = 66;
  CHECK(first("matmul M=4096 N=4096 K=4096 T=bf16", half).operations_us / narrow ==
        doctest::Approx(2).epsilon(0.05));
  // Instructions an element that ptxas makes: 31, 20.6 and 15 in the machine code for sm_90.
  struct Known {
    const char* problem;
    double elements, instructions;
  };
  for (const Known& k : {Known{"softmax M=16384 N=8192 T=bf16", 16384.0 * 8192, 31},
                         Known{"bias_gelu M=16384 N=8192 T=bf16", 16384.0 * 8192, 20.6},
                         Known{"gelu N=134217728", 134217728, 15}}) {
    const jit::LaunchReport r = first(k.problem, h200);
    CHECK(32 * r.walked.instructions / k.elements == doctest::Approx(k.instructions).epsilon(0.25));
  }
  CHECK(first("softmax M=16384 N=8192 T=bf16", h200).bound == std::string("issue"));
  CHECK(first("softmax M=16384 N=8192", h200).bound == std::string("memory"));
}
