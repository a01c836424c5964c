// SPDX-License-Identifier: Apache-2.0
//
// What the default schedules of the library's bench cases come to on a GPU, by static facts.
// HONE_TEST_TABLE=1 prints a line for each launch.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "jit/cuda/report/report.h"
#include "ops/op.h"
#include "tests/cuda/batch.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// The default kernels of a problem, reported on; what is wrong instead, in `refused`.
std::vector<jit::LaunchReport> reports(const ops::Problem& problem, std::string& refused) {
  const auto made = print_default(problem.program);
  if (!made) {
    refused = made.failure();
    return {};
  }
  return jit::report_on(made->nest, made->source, gpu(), jit::typical_dims(made->nest), {});
}

void print_row(const std::string& problem, const jit::LaunchReport& r) {
  const auto& w = r.walked;
  std::printf("%-58.58s %-12.12s %8.2f /%5.2f %6.2f %9.0f %5.2f %5.2f %8.2f %8.2f %5.2f %s\n",
              problem.c_str(), r.name.c_str(), r.sectors, r.least_sectors, r.ways, r.threads,
              r.fill, w.lanes_had > 0 ? w.lanes_run / w.lanes_had : 1.0, r.memory_us,
              r.operations_us, r.sector_bytes / std::max(1.0, r.memory_bytes), r.bound);
}

/// What is embarrassing in a launch, or "".
std::string embarrassing(const jit::LaunchReport& r) {
  const double bytes = r.sector_bytes;
  if (r.threads < 32 && bytes > 4096) return "one thread does what many could";
  if (r.fill < 0.02 && bytes > (1 << 20)) return "few threads move " + std::to_string(bytes);
  if (r.sectors > 2.5 * r.least_sectors) {
    return std::to_string(r.sectors) + " sectors a request where " +
           std::to_string(r.least_sectors) + " would do";
  }
  if (r.occupancy.blocks == 0) return "no block fits: " + std::string(r.occupancy.limit);
  return {};
}

/// Known to be so, by the beginning of a problem: what would be better is not derived yet.
constexpr const char* kKnown[] = {
    "conv2d N=1",    // constant weights of 9 neighbours, laid out once, when they are bound
    "group_conv2d",  // the same
    "conv2d_relu", "conv2d_batchnorm_relu", "conv_integer", "qlinear_conv",  // the same
    "segment_sum",         // a thread to a segment, whose length data decide
    "row_cumsum",          // the chain of blocks: a thread to a row of them
    "lengths_to_offsets",  // the same, of one row
    "biquad",           // each thread follows a row; neighbours in memory are one after the other
    "moving_average",   // a thread to a column: a scan by blocks would have more
    "gated_sum",        // the same
    "edit_distance",    // one chain along both indices: a wavefront would be better
    "local_alignment",  // the same
    "topk_rows",        // a thread to a row: the places of a few greatest are one chain
    "affine_gaps",      // the same
    "rnn",              // a thread to a chain: a block to a chain would share each step
    "lstm L=",          // the same
    "gru",              // the same
    "selective_scan",   // a thread to a channel's state
    // A label says which class: far apart in memory. And sums of few.
    "nll_loss", "cross_entropy",
    // An index for each element, all of which few threads check; or one thread, of a table of
    // pages.
    "gather_elements", "scatter_elements", "scatter_add_elements", "attention_paged",
    // Bins whose begins are no multiples of anything; sums of four weights for each row and column.
    "adaptive_avg_pool2d", "resize_cubic_inside",
    // 64 results of 16,384 terms in 64 pieces: a block to a result would do.
    "reduce_mean A=1",
    // Constant weights of 9 neighbours, as those of conv2d.
    "conv2d_windows", "conv3d",
    "matmul M=256 N=256 K=256",  // of f32: 16 tiles, and too short a sum for parts
    "matmul_chain I=256",        // two of these
    "matmul_i4",  // weights of few bits, which no rule for GPUs knows: lanes read them bytes apart
    "matmul_i2",  // the same
    "matmul_u4_zero",     // the same
    "matmul_i8_weights",  // of another type than the rows: no tensor instruction takes them
    "matmul_f8",          // the same
    "mttkrp",             // 4096 terms to two tiles, but 64 along each index: too few to cut
};

bool known(const std::string& problem) {
  return std::any_of(std::begin(kKnown), std::end(kKnown),
                     [&](const char* k) { return problem.starts_with(k); });
}

}  // namespace

TEST_CASE("cuda defaults: what the library's bench cases come to") {
  const bool table = std::getenv("HONE_TEST_TABLE") != nullptr;
  const auto every = static_cast<size_t>(by_effort(24, 6, 3, 1));
  size_t count = 0;
  for (const ops::Case& c : ops::stock_library().cases) {
    if (c.small || count++ % every != 0) continue;
    const auto problem = ops::parse_problem(c.problem);
    REQUIRE_MESSAGE(static_cast<bool>(problem), c.problem);
    std::string refused;
    const auto all = reports(*problem, refused);
    CHECK_MESSAGE(refused.empty(), c.problem << ": " << refused);
    for (const jit::LaunchReport& r : all) {
      if (table) print_row(c.problem, r);
      const std::string wrong = embarrassing(r);
      CHECK_MESSAGE((wrong.empty() || known(c.problem)),
                    c.problem << ", launch " << r.name << ": " << wrong);
    }
  }
}
