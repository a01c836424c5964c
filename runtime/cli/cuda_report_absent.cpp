// SPDX-License-Identifier: Apache-2.0
// Stands in for cuda_report.cpp in a build without CUDA, which compiles nothing for GPUs.
#include "runtime/cli/cuda_report.h"

namespace hone::runtime {

Json cuda_report(const Compiled&, const ir::Target&) { return Json::object(); }

}  // namespace hone::runtime
