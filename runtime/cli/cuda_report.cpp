// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/cuda_report.h"

#include <fmt/format.h>

#include "jit/cuda/nvrtc.h"
#include "jit/cuda/report/report.h"
#include "runtime/cli/report_text.h"
#include "runtime/device/backend.h"

namespace hone::runtime {
namespace {

Json access_facts(const jit::AccessSite& s) {
  Json out = {{"what", s.store ? "store" : "load"},
              {"place", s.place},
              {"memory", s.shared ? "shared" : "global"},
              {"bytes", s.bytes},
              {"requests", rounded(s.requests)}};
  if (s.shared) {
    out["ways"] = rounded(s.rounds / s.least_rounds);
  } else {
    out["sectors"] = rounded(s.sectors / s.requests);
    out["least_sectors"] = rounded(s.least_sectors / s.requests);
  }
  if (s.data) out["depends_on_data"] = true;
  return out;
}

Json launch_facts(const jit::LaunchReport& r, const jit::DevicePeaks& peaks) {
  const jit::Walked& w = r.walked;
  Json out = {{"name", r.name},
              {"kernel", r.symbol},
              {"grid", r.grid},
              {"block", r.block},
              {"shared_bytes", r.shared_bytes}};
  if (r.resources) {
    out["registers"] = r.resources->registers;
    out["spill_bytes"] = r.resources->spill_bytes;
    out["local_bytes"] = r.resources->local_bytes;
  }
  out["occupancy"] = rounded(r.occupancy.share);
  out["occupancy_limit"] = r.occupancy.limit;
  out["device_filled"] = rounded(r.fill);
  out["bytes_in_flight"] = rounded(r.in_flight);
  out["sectors_per_request"] = rounded(r.sectors);
  out["least_sectors"] = rounded(r.least_sectors);
  out["bank_conflict_ways"] = rounded(r.ways);
  out["branches"] = rounded(w.branches);
  out["divergent"] = rounded(w.divergent);
  out["branches_on_data"] = rounded(w.data_branches);
  out["lanes_active"] = rounded(w.lanes_had > 0 ? w.lanes_run / w.lanes_had : 1);
  out["operations"] = rounded(w.operations);
  out["tensor_core_share"] = rounded(w.operations > 0 ? w.tensor_operations / w.operations : 0);
  out["memory_bytes"] = rounded(r.memory_bytes);
  out["sector_bytes"] = rounded(r.sector_bytes);
  out["intensity"] = rounded(r.intensity);
  out["memory_us"] = rounded(r.memory_us);
  out["operations_us"] = rounded(r.operations_us);
  out["instructions"] = rounded(w.instructions);
  out["issue_us"] = rounded(r.issue_us);
  out["roof"] = peaks.device;
  out["bound"] = r.bound;
  out["accesses"] = Json::array();
  for (const jit::AccessSite& s : w.sites) out["accesses"].push_back(access_facts(s));
  return out;
}

}  // namespace

Json cuda_report(const Compiled& compiled, const ir::Target& target) {
  const jit::CudaSource& source = *cuda_source(*compiled.code);
  std::vector<jit::KernelResources> resources;
  std::string compiler;
  if (const auto nvrtc = jit::Nvrtc::open(); !nvrtc) {
    compiler = "no registers and spills: " + nvrtc.failure().message;
  } else if (const auto binary = nvrtc->compile(source, target.sm, target.ptx); !binary) {
    compiler = "no registers and spills: " + binary.failure().message;
  } else if (target.ptx != 0) {
    compiler = fmt::format("NVRTC {}.{}, PTX for sm_{}: no registers and spills", nvrtc->major(),
                           nvrtc->minor(), target.ptx);
  } else {
    resources = jit::resources_in(binary->log);
    compiler = fmt::format("NVRTC {}.{} for sm_{}", nvrtc->major(), nvrtc->minor(), target.sm);
  }
  Json out = {{"compiler", compiler}, {"kernels", Json::array()}};
  const auto reports = jit::report_on(compiled.nest(), source, target,
                                      jit::typical_dims(compiled.nest()), resources);
  for (const jit::LaunchReport& r : reports) {
    out["kernels"].push_back(launch_facts(r, jit::device_peaks(target)));
  }
  return out;
}

}  // namespace hone::runtime
