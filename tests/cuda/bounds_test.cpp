// SPDX-License-Identifier: Apache-2.0
//
// Default schedules of what moves more than it computes, at sizes past a GPU's caches: by static
// facts they move at most 1.05 times the least bytes, in whole sectors, without bank conflicts,
// with enough loads under way on every multiprocessor, and are issued, by estimate, in the time
// that memory takes. HONE_TEST_TABLE=1 prints a line for each launch.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "jit/cuda/nvrtc.h"
#include "jit/cuda/report/report.h"
#include "ops/op.h"
#include "tests/cuda/batch.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

constexpr int kSm = 90;
constexpr double kMultiprocessors = 132;
/// Tensors up to this size stay in the second level cache while blocks share them.
constexpr double kCached = 12 << 20;
/// What a multiprocessor has under way to fill 4.3 TB/s: that times 0.8 us, by 132.
constexpr double kInFlight = 26e3;

/// A problem, and where it is known to move more than the least, how much and why.
struct Row {
  const char* problem;
  double most = 1.05;
  const char* why = "";
  double issue = 1;  ///< times as long as its memory, that warps may take to issue it
};

constexpr const char* kBetween =
    "rows begin between sectors: neighbouring requests share them, by way of the nearest cache";
constexpr const char* kWindows =
    "windows overlap, and the nearest cache serves what was read before; counted is every request";
constexpr const char* kPasses = "products, their softmax and its sums in launches of their own";

const Row kRows[] = {
    {"copy N=67108864"},
    {"copy N=67108864 T=f16"},
    {"copy N=67108864 T=i8"},
    {"copy N=67108863"},
    {"convert N=67108864 T=f32 U=f16"},
    {"convert N=67108864 T=f16 U=f32"},
    {"convert N=67108864 T=i8 U=f32"},
    {"convert N=67108864 T=f32 U=i8"},
    {"convert N=67108864 T=f32 U=bool"},
    {"add N=33554432"},
    {"add N=33554432 T=bf16"},
    {"op three(A: f32[N], B: f32[N], C: f32[N]) -> (Y: f32[N]) { Y[i] = A[i] * B[i] + "
     "exp(C[i]) } N=33554432"},
    {"op four(A: f16[N], B: f16[N], C: f16[N], D: f16[N]) -> (Y: f16[N]) { Y[i] = A[i] * "
     "B[i] + C[i] * D[i] } N=33554432"},
    {"op mixed(A: f32[N], B: i8[N]) -> (Y: f16[N]) { Y[i] = cast<f16>(A[i] + "
     "cast<f32>(B[i])) } N=33554432"},
    {"op two(A: f32[N], B: f32[N]) -> (Y: f32[N], Z: f32[N]) { Y[i] = A[i] + B[i]; Z[i] = "
     "A[i] - B[i] } N=33554432",
     1.55, "a launch for each output: what both read is read twice"},
    {"gelu N=67108864"},
    {"axpy N=33554432"},
    {"add_rows M=16384 N=4096"},
    {"add_rows M=16384 N=4095", 1.3, kBetween},
    {"bias_gelu M=16384 N=3072 T=f16"},
    {"op add_columns(X: f32[M,N], c: f32[M]) -> (Y: f32[M,N]) { Y[m,n] = X[m,n] + c[m] } "
     "M=16384 N=4096"},
    {"op ragged(X: f32[M,N], Z: f32[M,N]) -> (Y: f32[M,N]) { Y[m,n] = X[m,n] * Z[m,n] } "
     "M=16384 N=4095"},
    {"batchnorm N=64 C=256 H=56 W=56"},
    {"reverse N=67108864"},
    {"sum_all M=8192 N=8192"},
    {"sum_all M=8192 N=8192 T=f16"},
    {"count_equal N=67108864"},
    {"row_sum M=65536 N=1024"},
    {"row_sum M=8192 N=8192"},
    {"row_sum M=64 N=1048576"},
    {"row_sum M=1 N=67108864"},
    {"row_sum M=2097152 N=32"},
    {"row_sum M=4194304 N=16"},
    {"row_sum M=8388608 N=8"},
    {"row_sum M=65536 N=1023", 1.25, kBetween},
    {"row_sum M=65536 N=1024 T=f16"},
    {"row_sum M=65536 N=1024 T=i8"},
    {"row_max M=8192 N=8192"},
    {"row_norm M=8192 N=8192"},
    {"row_logsumexp M=16384 N=4096"},
    {"row_argmax M=16384 N=4096"},
    {"column_sum M=8192 N=8192"},
    {"column_sum M=65536 N=1024"},
    {"column_sum M=1024 N=65536"},
    {"column_sum M=1048576 N=64"},
    {"column_sum M=5000000 N=20"},
    {"column_sum M=5000000 N=10"},
    {"column_sum M=65536 N=1000 T=f16"},
    {"column_max M=8192 N=8192 T=f16"},
    {"column_argmax M=8192 N=4096", 2.05, "the greatest first, then where it is"},
    {"op middle(X: f32[A,B,C]) -> (Y: f32[A,C]) { Y[a,c] = sum[b](X[a,b,c]) } A=256 B=256 "
     "C=1024"},
    {"op outer(X: f32[A,B,C]) -> (Y: f32[B]) { Y[b] = sum[a,c](X[a,b,c]) } A=64 B=256 "
     "C=4096"},
    {"global_avg_pool N=256 C=512 H=14 W=14"},
    {"softmax M=65536 N=1024"},
    {"softmax M=1048576 N=128"},
    {"softmax M=8192 N=8192"},
    {"softmax M=1024 N=65536", 2.05, "a row fits neither registers nor shared memory"},
    {"softmax M=65536 N=1024 T=f16", 1.05, "", 1.25},
    {"softmax M=65536 N=1000"},
    {"softmax M=65536 N=1023", 1.25, kBetween},
    {"softmax M=8192 N=50257 T=f16", 1.55, kBetween, 1.55},
    {"softmax M=2048 N=40000"},
    {"log_softmax M=65536 N=1024"},
    {"log_softmax M=16384 N=32000 T=bf16"},
    {"layernorm M=65536 N=1024"},
    {"layernorm M=65536 N=768 T=bf16", 1.05, "", 1.7},
    {"layernorm M=16384 N=8192"},
    {"rmsnorm M=16384 N=4096"},
    {"rmsnorm M=16384 N=4096 T=bf16", 1.05, "", 1.4},
    {"transpose M=8192 N=8192"},
    {"transpose M=8192 N=8192 T=f16"},
    {"transpose M=8192 N=8192 T=i8"},
    {"transpose M=8191 N=8191", 1.25, kBetween},
    {"transpose M=8000 N=8008 T=f16", 1.1, kBetween},
    {"nchw_to_nhwc N=64 C=128 H=64 W=64"},
    {"nhwc_to_nchw N=64 C=128 H=64 W=64"},
    {"split_heads B=16 S=4096 H=16 D=64"},
    {"split_heads B=16 S=4096 H=16 D=64 T=f16"},
    {"op swap(X: f32[A,B,C]) -> (Y: f32[C,B,A]) { Y[c,b,a] = X[a,b,c] } A=512 B=256 C=512"},
    {"op cycle(X: f16[A,B,C]) -> (Y: f16[C,A,B]) { Y[c,a,b] = X[a,b,c] } A=256 B=512 C=512"},
    {"concat M=65536 N=512 L=512"},
    {"pad M=16384 N=4096", 1.25, kBetween},
    {"op slice(X: f32[M,N]) -> (Y: f32[M,N/2]) { Y[i,j] = X[i,j+64] } M=32768 N=4096"},
    {"pixel_shuffle N=16 C=64 H=112 W=112"},
    {"gather_rows R=400000 D=128 N=262144"},
    {"gather_rows R=400000 D=64 N=524288 T=f16"},
    {"embedding_bag R=400000 D=64 L=1048576 B=16384"},
    {"embedding_bag R=400000 D=128 L=1048576 B=16384 T=f16"},
    {"embedding_bag_weighted R=400000 D=128 L=1048576 B=16384"},
    {"embedding_bag_u8 R=400000 D=128 L=1048576 B=16384"},
    {"segment_sum L=67108864 B=65536", 1.3, kBetween},
    {"max_pool2d N=64 C=64 H=112 W=112 A=3 B=3 P=1", 4.0, kWindows},
    {"avg_pool2d N=64 C=64 H=112 W=112", 2.3, kWindows},
    {"depthwise_conv2d N=32 C=256 H=56 W=56 R=3 Q=3 P=1", 6.0, kWindows},
    {"op cell(G: f32[B,4,D], C: f32[B,D]) -> (H: f32[B,D], Z: f32[B,D]) { Z[b,d] = "
     "sigmoid(G[b,1,d]) * C[b,d] + sigmoid(G[b,0,d]) * tanh(G[b,2,d]); H[b,d] = "
     "sigmoid(G[b,3,d]) * tanh(sigmoid(G[b,1,d]) * C[b,d] + sigmoid(G[b,0,d]) * "
     "tanh(G[b,2,d])) } B=8192 D=1024",
     1.9, "a launch for each output: what both read is read twice"},
    {"matvec M=16384 K=4096"},
    {"attention B=4 H=16 S=2048 L=2048 D=64 T=f16", 110, kPasses},
};

/// Too small to fill the GPU: as many blocks as that allows, and no byte twice.
const Row kSmall[] = {
    {"softmax M=64 N=1024"},
    {"layernorm M=128 N=768"},
    {"row_sum M=128 N=1024"},
    {"column_sum M=128 N=1024"},
    {"add N=65536"},
    {"transpose M=256 N=256"},
    {"embedding_bag R=100000 D=64 L=16384 B=512"},
    {"sum_all M=1024 N=1024"},
};

/// A launch, and what is not in its report.
struct Launch {
  jit::LaunchReport report;
  double wide = 0;  ///< share of the sectors that accesses of 16 bytes move
};

struct Facts {
  std::vector<Launch> launches;
  double moved = 0, least = 0;  ///< bytes of device memory
  std::string refused;
};

double bytes_of(const ir::NestBuffer& b) {
  int64_t n = 0;
  return ir::is_const(b.elements, &n) ? static_cast<double>(n) * size_of(b.type)
                                      : static_cast<double>(b.max_bytes);
}

/// Bytes by buffer, loaded and stored.
using Traffic = std::map<std::pair<int, bool>, double>;

/// Adds a launch to what all move. Tensors are read once and written once at least; of a table that
/// data index, the rows that they choose.
void add_traffic(const ir::Nest& nest, const jit::LaunchReport& r, Facts& out, Traffic& least) {
  Traffic moved, chosen;
  for (const jit::AccessSite& s : r.walked.sites) {
    if (s.shared) continue;
    moved[{s.buffer, s.store}] += 32 * s.sectors;
    if (s.data) chosen[{s.buffer, s.store}] += 32 * s.least_sectors;
  }
  for (const auto& [key, bytes] : moved) {
    const ir::NestBuffer& b = nest.buffers[static_cast<size_t>(key.first)];
    const double size = bytes_of(b);
    out.moved += size <= kCached ? std::min(size, bytes) : bytes;
    const bool tensor = b.home == ir::Home::kArgument || b.home == ir::Home::kBound;
    if (chosen.contains(key)) {
      least[key] += chosen[key];
    } else if (tensor && !least.contains(key)) {
      least[key] = std::min(size, bytes);
    }
  }
}

Facts facts_of(const ops::Problem& problem, const jit::Nvrtc* nvrtc) {
  Facts out;
  const auto made = print_default(problem.program);
  if (!made) {
    out.refused = made.failure();
    return out;
  }
  std::vector<jit::KernelResources> resources;
  if (nvrtc) {
    const auto binary = nvrtc->compile(made->source, kSm);
    if (binary) resources = jit::resources_in(binary->log);
    if (!binary) out.refused = binary.failure().message;
  }
  Traffic least;
  auto reports =
      jit::report_on(made->nest, made->source, gpu(), jit::typical_dims(made->nest), resources);
  for (size_t i = 0; i < reports.size(); ++i) {
    Launch l{std::move(reports[i])};
    double all = 0;
    for (const jit::AccessSite& s : l.report.walked.sites) {
      if (s.shared) continue;
      all += s.sectors;
      if (s.bytes == 16) l.wide += s.sectors;
    }
    if (all > 0) l.wide /= all;
    add_traffic(made->nest, l.report, out, least);
    out.launches.push_back(std::move(l));
  }
  for (const auto& [key, bytes] : least) out.least += bytes;
  return out;
}

void print_rows(const Row& row, const Facts& f) {
  std::printf("%-60.60s %.2f times the least bytes\n", row.problem, f.moved / f.least);
  for (const Launch& l : f.launches) {
    const jit::LaunchReport& r = l.report;
    std::printf(
        "    %-10.10s %8.0f blocks of %-4d sectors %5.2f/%5.2f ways %.2f wide %.2f "
        "in flight %6.1f KB registers %3d spills %d resident %.2f moves %.1f MB issue %.2f\n",
        r.name.c_str(), r.threads / (r.block[0] * r.block[1] * r.block[2]),
        r.block[0] * r.block[1] * r.block[2], r.sectors, r.least_sectors, r.ways, l.wide,
        r.in_flight / 1024, r.resources ? r.resources->registers : 0,
        r.resources ? r.resources->spill_bytes : 0, r.occupancy.share, r.sector_bytes / 1e6,
        r.issue_us / r.memory_us);
  }
}

/// What keeps a launch that moves much from the bandwidth of memory, or "".
std::string slow(const Launch& l, bool excused) {
  const jit::LaunchReport& r = l.report;
  if (r.resources && r.resources->spill_bytes > 0) return "registers are spilled";
  if (excused) return {};
  if (r.ways > 1.05) return "banks are asked " + std::to_string(r.ways) + " times";
  // Of rows that data choose, few iterations stand for all: the store of their sum counts for more
  // than its part.
  const auto& sites = r.walked.sites;
  const bool data = std::any_of(sites.begin(), sites.end(), [](const auto& s) { return s.data; });
  if (r.sectors > (data ? 1.6 : 1.1) * r.least_sectors) return "requests touch parts of sectors";
  if (r.in_flight < kInFlight) return std::to_string(r.in_flight) + " bytes in flight";
  if (r.threads / (r.block[0] * r.block[1] * r.block[2]) < 2 * kMultiprocessors) {
    return "multiprocessors are idle";
  }
  return {};
}

void check_row(const Row& row, const Facts& f, bool large) {
  const std::string problem = row.problem;
  CHECK_MESSAGE(f.refused.empty(), problem << ": " << f.refused);
  CHECK_MESSAGE(f.moved <= row.most * f.least,
                problem << " moves " << f.moved / f.least << " times the least bytes");
  // What is no longer an exception is taken off the list.
  CHECK_MESSAGE((!*row.why || f.moved > 1.05 * f.least), problem << " is no exception now");
  double issue = 0;
  for (const Launch& l : f.launches) {
    if (!large || l.report.sector_bytes < 0.1 * f.moved) continue;
    if (row.why != kPasses) issue = std::max(issue, l.report.issue_us / l.report.memory_us);
    const std::string wrong = slow(l, *row.why != '\0');
    CHECK_MESSAGE(wrong.empty(), problem << ", launch " << l.report.name << ": " << wrong);
  }
  CHECK_MESSAGE(issue <= row.issue, problem << " takes " << issue << " times as long to issue");
  CHECK_MESSAGE((row.issue == 1 || issue > 1), problem << " is no exception of issue now");
}

}  // namespace

TEST_CASE("cuda bounds: default schedules move little more than the least bytes") {
  const bool table = std::getenv("HONE_TEST_TABLE") != nullptr;
  auto nvrtc = jit::Nvrtc::open();
  const auto every = static_cast<size_t>(by_effort(40, 10, 1));
  const auto each = static_cast<size_t>(by_effort(4, 1, 1));
  size_t count = 0, rows = 0;
  const auto run = [&](const Row& row, bool large) {
    if (rows++ % each != 0) return;
    const auto problem = ops::parse_problem(row.problem);
    REQUIRE_MESSAGE(static_cast<bool>(problem), row.problem);
    const bool compiled = nvrtc && (table || count++ % every == 0);
    const Facts f = facts_of(*problem, compiled ? &*nvrtc : nullptr);
    if (table) print_rows(row, f);
    check_row(row, f, large);
  };
  for (const Row& row : kRows) run(row, true);
  for (const Row& row : kSmall) run(row, false);
}
