// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "runtime/cli/model_load.h"

namespace hone::runtime {

/// The facts that a report of a model shows, measured now. These are its kernels with times and
/// limits, who reads what of whom, the plan of memory, and rates of the machine. The cache tells
/// how the searches of its kernels went. Equal kernels are timed once. Steps count from 1, times
/// are in microseconds.
Result<Json> model_report(const LoadedGraph& g);

/// A page without anything from elsewhere that draws the report. Whatever names in it hold, they
/// stay text.
std::string report_page(const Json& report);

/// The page with `@DATA@` where the report belongs.
std::string_view report_template();

}  // namespace hone::runtime
