// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/cuda/gpu/context.h"

namespace hone::tests {

/// What the driver says of a launch on the spot. Checks the limits of the device and of the kernel,
/// and copies the parameters into `request`.
int check(const Context& context, void** parameters, void** extra, LaunchRequest& request);

/// Adds a launch that was checked, after other work.
WorkRef launch(Context& context, LaunchRequest request, std::vector<WorkRef> after);

/// Why the kernel that runs on this thread may not touch `count` bytes, or "". Modules ask it.
std::string objection_to(const void* bytes, size_t count);

}  // namespace hone::tests
