// SPDX-License-Identifier: Apache-2.0
//
// Ops that move more than they compute, at sizes past a GPU's caches: what the default schedules
// make of them, by static facts. HONE_TEST_TABLE=1 prints a line for each launch.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "jit/cuda/nvrtc.h"
#include "jit/cuda/report/flight.h"
#include "jit/cuda/report/report.h"
#include "jit/passes/barriers.h"
#include "jit/passes/lower.h"
#include "jit/passes/pipeline.h"
#include "ops/op.h"
#include "schedules/space/space.h"

using namespace hone;

namespace {

constexpr int kSm = 90;
constexpr double kMultiprocessors = 132;
/// Tensors up to this size stay in the second level cache while blocks share them.
constexpr double kShared = 12 << 20;

struct Row {
  const char* problem;
  const char* why = "";  ///< it is known not to reach the bound, or ""
};

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
    {"op three(A: f32[N], B: f32[N], C: f32[N]) -> (Y: f32[N]) { Y[i] = A[i] * B[i] + exp(C[i]) } N=33554432"},
    {"op four(A: f16[N], B: f16[N], C: f16[N], D: f16[N]) -> (Y: f16[N]) { Y[i] = A[i] * B[i] + C[i] * D[i] } N=33554432"},
    {"op mixed(A: f32[N], B: i8[N]) -> (Y: f16[N]) { Y[i] = cast<f16>(A[i] + cast<f32>(B[i])) } N=33554432"},
    {"op two(A: f32[N], B: f32[N]) -> (Y: f32[N], Z: f32[N]) { Y[i] = A[i] + B[i]; Z[i] = A[i] - B[i] } N=33554432"},
    {"gelu N=67108864"},
    {"axpy N=33554432"},
    {"add_rows M=16384 N=4096"},
    {"add_rows M=16384 N=4095"},
    {"bias_gelu M=16384 N=3072 T=f16"},
    {"op add_columns(X: f32[M,N], c: f32[M]) -> (Y: f32[M,N]) { Y[m,n] = X[m,n] + c[m] } M=16384 N=4096"},
    {"op ragged(X: f32[M,N], Z: f32[M,N]) -> (Y: f32[M,N]) { Y[m,n] = X[m,n] * Z[m,n] } M=16384 N=4095"},
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
    {"row_sum M=65536 N=1023"},
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
    {"column_sum M=65536 N=1000 T=f16"},
    {"column_max M=8192 N=8192 T=f16"},
    {"column_argmax M=8192 N=4096"},
    {"op middle(X: f32[A,B,C]) -> (Y: f32[A,C]) { Y[a,c] = sum[b](X[a,b,c]) } A=256 B=256 C=1024"},
    {"op outer(X: f32[A,B,C]) -> (Y: f32[B]) { Y[b] = sum[a,c](X[a,b,c]) } A=64 B=256 C=4096"},
    {"global_avg_pool N=256 C=512 H=14 W=14"},
    {"softmax M=65536 N=1024"},
    {"softmax M=1048576 N=128"},
    {"softmax M=8192 N=8192"},
    {"softmax M=1024 N=65536"},
    {"softmax M=65536 N=1024 T=f16"},
    {"softmax M=65536 N=1000"},
    {"softmax M=65536 N=1023"},
    {"log_softmax M=65536 N=1024"},
    {"log_softmax M=16384 N=32000 T=bf16"},
    {"layernorm M=65536 N=1024"},
    {"layernorm M=65536 N=768 T=bf16"},
    {"layernorm M=16384 N=8192"},
    {"rmsnorm M=16384 N=4096"},
    {"rmsnorm M=16384 N=4096 T=bf16"},
    {"transpose M=8192 N=8192"},
    {"transpose M=8192 N=8192 T=f16"},
    {"transpose M=8192 N=8192 T=i8"},
    {"transpose M=8191 N=8191"},
    {"transpose M=8000 N=8008 T=f16"},
    {"nchw_to_nhwc N=64 C=128 H=64 W=64"},
    {"nhwc_to_nchw N=64 C=128 H=64 W=64"},
    {"split_heads B=16 S=4096 H=16 D=64"},
    {"split_heads B=16 S=4096 H=16 D=64 T=f16"},
    {"op swap(X: f32[A,B,C]) -> (Y: f32[C,B,A]) { Y[c,b,a] = X[a,b,c] } A=512 B=256 C=512"},
    {"op cycle(X: f16[A,B,C]) -> (Y: f16[C,A,B]) { Y[c,a,b] = X[a,b,c] } A=256 B=512 C=512"},
    {"concat M=65536 N=512 L=512"},
    {"pad M=16384 N=4096"},
    {"op slice(X: f32[M,N]) -> (Y: f32[M,N/2]) { Y[i,j] = X[i,j+64] } M=32768 N=4096"},
    {"pixel_shuffle N=16 C=64 H=112 W=112"},
    {"gather_rows R=400000 D=128 N=262144"},
    {"gather_rows R=400000 D=64 N=524288 T=f16"},
    {"embedding_bag R=400000 D=64 L=1048576 B=16384"},
    {"embedding_bag R=400000 D=128 L=1048576 B=16384 T=f16"},
    {"embedding_bag_weighted R=400000 D=128 L=1048576 B=16384"},
    {"embedding_bag_u8 R=400000 D=128 L=1048576 B=16384"},
    {"segment_sum L=67108864 B=65536"},
    {"max_pool2d N=64 C=64 H=112 W=112 A=3 B=3 P=1"},
    {"avg_pool2d N=64 C=64 H=112 W=112"},
    {"depthwise_conv2d N=32 C=256 H=56 W=56 R=3 Q=3 P=1"},
    {"op cell(G: f32[B,4,D], C: f32[B,D]) -> (H: f32[B,D], Z: f32[B,D]) { Z[b,d] = sigmoid(G[b,1,d]) * C[b,d] + sigmoid(G[b,0,d]) * tanh(G[b,2,d]); H[b,d] = sigmoid(G[b,3,d]) * tanh(sigmoid(G[b,1,d]) * C[b,d] + sigmoid(G[b,0,d]) * tanh(G[b,2,d])) } B=8192 D=1024"},
    {"matvec M=16384 K=4096"},
    {"attention B=4 H=16 S=2048 L=2048 D=64 T=f16"},
    // Small ones: the whole device, at least.
    {"softmax M=64 N=1024"},
    {"layernorm M=128 N=768"},
    {"row_sum M=128 N=1024"},
    {"column_sum M=128 N=1024"},
    {"add N=65536"},
    {"transpose M=256 N=256"},
    {"embedding_bag R=100000 D=64 L=16384 B=512"},
    {"sum_all M=1024 N=1024"},
};

struct Facts {
  std::vector<jit::LaunchReport> launches;
  std::vector<double> flight;  ///< KB of a multiprocessor, per launch
  std::vector<double> wide;    ///< share of the sectors that 16 byte accesses move
  double traffic = 0, least = 0;
  std::string refused;
};

double buffer_bytes(const ir::NestBuffer& b) {
  int64_t n = 0;
  return ir::is_const(b.elements, &n) ? static_cast<double>(n) * size_of(b.type)
                                      : static_cast<double>(b.max_bytes);
}

Facts facts_of(const ops::Problem& problem, const jit::Nvrtc* nvrtc) {
  Facts out;
  ir::Target gpu;
  gpu.sm = kSm;
  const auto scheduled =
      schedules::apply(problem.program, schedules::default_schedule(problem.program, gpu));
  auto nest = jit::lower(*scheduled, gpu);
  if (!nest) {
    out.refused = nest.failure().message;
    return out;
  }
  const ir::Nest whole = jit::with_barriers(*std::move(nest));
  const auto source = jit::print_cuda(whole, gpu);
  if (!source) {
    out.refused = source.failure().message;
    return out;
  }
  std::vector<jit::KernelResources> resources;
  if (nvrtc) {
    const auto binary = nvrtc->compile(*source, kSm);
    if (binary) resources = jit::resources_in(binary->log);
    else out.refused = binary.failure().message;
  }
  out.launches = jit::report_on(whole, *source, kSm, jit::typical_dims(whole), resources);
  std::map<std::pair<int, bool>, double> once;
  for (size_t i = 0; i < out.launches.size(); ++i) {
    const jit::LaunchReport& r = out.launches[i];
    std::map<std::pair<int, bool>, double> moved;
    double wide = 0, all = 0;
    for (const jit::AccessSite& s : r.walked.sites) {
      if (s.shared) continue;
      all += s.sectors;
      if (s.bytes == 16) wide += s.sectors;
      moved[{s.buffer, s.store}] += 32 * s.sectors;
      if (s.data) once[{s.buffer, s.store}] += 32 * s.least_sectors;
    }
    for (const auto& [key, bytes] : moved) {
      const ir::NestBuffer& b = whole.buffers[static_cast<size_t>(key.first)];
      const double size = buffer_bytes(b);
      out.traffic += size <= kShared ? std::min(size, bytes) : bytes;
      const bool param = b.home == ir::Home::kArgument || b.home == ir::Home::kBound;
      if (param && !once.contains(key)) once[key] = std::min(size, bytes);
    }
    out.wide.push_back(all > 0 ? wide / all : 1);
    const double resident = std::min<double>(r.occupancy.threads, r.threads / kMultiprocessors);
    out.flight.push_back(resident * jit::bytes_in_flight(whole, whole.launches[i]) / 1024);
  }
  for (const auto& [key, bytes] : once) out.least += bytes;
  return out;
}

}  // namespace

TEST_CASE("cuda bounds: default schedules of what moves more than it computes") {
  const bool table = std::getenv("HONE_TEST_TABLE") != nullptr;
  auto nvrtc = jit::Nvrtc::open();
  for (const Row& row : kRows) {
    const auto problem = ops::parse_problem(row.problem);
    REQUIRE_MESSAGE(static_cast<bool>(problem), row.problem);
    const Facts f = facts_of(*problem, table && nvrtc ? &*nvrtc : nullptr);
    CHECK_MESSAGE(f.refused.empty(), row.problem << ": " << f.refused);
    if (!table) continue;
    std::printf("%-60.60s traffic %.2f\n", row.problem, f.traffic / f.least);
    for (size_t i = 0; i < f.launches.size(); ++i) {
      const jit::LaunchReport& r = f.launches[i];
      std::printf(
          "    %-10.10s %8.0fx%-4d sect %5.2f/%5.2f ways %.2f wide %.2f flightKB %6.1f regs %3d spill %d occ %.2f MB %.1f\n",
          r.name.c_str(), (double)r.grid[0] * r.grid[1] * r.grid[2],
          r.block[0] * r.block[1] * r.block[2], r.sectors, r.least_sectors, r.ways, f.wide[i],
          f.flight[i], r.resources ? r.resources->registers : 0,
          r.resources ? r.resources->spill_bytes : 0, r.occupancy.share, r.sector_bytes / 1e6);
    }
  }
}
