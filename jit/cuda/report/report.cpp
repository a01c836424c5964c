// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/report/report.h"

#include <algorithm>
#include <map>

#include "jit/cuda/report/flight.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Fixed by: CUDA.
constexpr double kSectorBytes = 32;

/// What a buffer holds, in bytes.
double bytes_of(const NestBuffer& b, const std::vector<int64_t>& dims) {
  const Expr fixed = rewrite(b.elements, [&](const Expr& e) {
    return e->op == Op::kDim ? make_int(dims[static_cast<size_t>(e->id)]) : Expr();
  });
  int64_t elements = 0;
  if (!is_const(fixed, &elements)) return static_cast<double>(b.max_bytes);
  return static_cast<double>(elements) * size_of(b.type);
}

/// Adds up the accesses. Device memory gives and takes each element once, however often requests
/// ask for it: caches are taken to hold it.
void add_traffic(const Nest& nest, const std::vector<int64_t>& dims, LaunchReport& r) {
  std::map<std::pair<int, bool>, double> moved;
  double requests = 0, shared = 0, rounds = 0, least_rounds = 0, least = 0;
  for (const AccessSite& s : r.walked.sites) {
    if (s.shared) {
      shared += s.requests;
      rounds += s.rounds;
      least_rounds += s.least_rounds;
      continue;
    }
    requests += s.requests;
    least += s.least_sectors;
    r.sector_bytes += kSectorBytes * s.sectors;
    moved[{s.buffer, s.store}] += kSectorBytes * s.sectors;
  }
  for (const auto& [what, bytes] : moved) {
    const NestBuffer& b = nest.buffers[static_cast<size_t>(what.first)];
    r.memory_bytes += std::min(bytes, bytes_of(b, dims));
  }
  if (requests > 0) {
    r.sectors = r.sector_bytes / kSectorBytes / requests;
    r.least_sectors = least / requests;
  }
  if (shared > 0) r.ways = rounds / least_rounds;
}

/// Operations of tensor cores at their peaks, in microseconds; of what they do not do, at the
/// others'.
double tensor_us(const DevicePeaks& peaks, const Walked& w) {
  const double whole = peaks.tensor_integers > 0 ? peaks.tensor_integers : peaks.operations;
  return (w.tensor_by_bytes[1] / whole + w.tensor_by_bytes[2] / peaks.tensor_operations +
          w.tensor_by_bytes[4] / (peaks.tensor_operations / 2) +
          w.tensor_by_bytes[8] / peaks.operations) /
         1e6;
}

void add_roof(const Target& target, LaunchReport& r) {
  // Fixed by: the parts of a multiprocessor.
  constexpr double kIssued = 4;  // by warps of a multiprocessor, a clock
  const DevicePeaks peaks = device_peaks(target);
  const double processors = multiprocessors(target);
  const Walked& w = r.walked;
  const double held = processors * device_limits(target.sm).threads;
  r.fill = std::min({1.0, r.threads / held, r.occupancy.share});
  r.memory_us = r.memory_bytes / peaks.bandwidth / 1e3;
  r.operations_us =
      (w.operations - w.tensor_operations) / peaks.operations / 1e6 + tensor_us(peaks, w);
  r.issue_us = w.instructions / (kIssued * processors * peaks.mhz);
  if (r.memory_bytes > 0) r.intensity = w.operations / r.memory_bytes;
  // With few threads neither roof is near: loads wait for one another.
  // Chosen: an eighth of what a GPU holds (not measured).
  constexpr double kEnough = 0.125;
  const double most = std::max({r.memory_us, r.operations_us, r.issue_us});
  r.bound = r.fill < kEnough      ? "parallelism"
            : most == r.memory_us ? "memory"
            : most == r.issue_us  ? "issue"
                                  : "arithmetic";
}

}  // namespace

std::vector<int64_t> typical_dims(const Nest& nest) {
  std::vector<int64_t> out;
  for (const Dim& d : nest.dims) {
    const int64_t wanted = d.at.empty() ? 64 : d.at.back();
    out.push_back(std::clamp(wanted, d.lo, std::max(d.lo, d.hi)));
  }
  return out;
}

std::vector<LaunchReport> report_on(const Nest& nest, const CudaSource& source,
                                    const Target& target, const std::vector<int64_t>& dims,
                                    const std::vector<KernelResources>& resources,
                                    const WalkOptions& options) {
  const DeviceLimits& limits = device_limits(target.sm);
  std::vector<LaunchReport> out;
  for (size_t i = 0; i < source.launches.size(); ++i) {
    const CudaLaunch& l = source.launches[i];
    LaunchReport r;
    r.name = l.name;
    r.symbol = l.symbol;
    r.grid = grid_of(l, dims);
    r.block = l.block;
    r.shared_bytes = l.shared_bytes + l.dynamic_bytes;
    if (const KernelResources* k = resources_of(resources, l.symbol)) r.resources = *k;
    const int threads = l.block[0] * l.block[1] * l.block[2];
    BlockNeeds needs{threads, 0, r.shared_bytes};
    if (r.resources) {
      needs.registers = r.resources->registers;
      needs.shared_bytes =
          std::max(needs.shared_bytes, r.resources->shared_bytes + l.dynamic_bytes);
    }
    r.occupancy = occupancy(needs, limits);
    // Threads that only start copies do nothing of what the others do.
    std::array<int, 3> workers = l.block;
    if (l.producer_axis > 0) --workers[static_cast<size_t>(l.producer_axis)];
    r.walked = walk(nest, nest.launches[i], workers, r.grid, dims, options);
    r.threads = static_cast<double>(threads);
    for (int64_t g : r.grid) r.threads *= static_cast<double>(g);
    const double resident =
        std::min<double>(r.occupancy.threads, r.threads / multiprocessors(target));
    r.in_flight = resident * bytes_in_flight(nest, nest.launches[i], threads);
    add_traffic(nest, dims, r);
    add_roof(target, r);
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace hone::jit
