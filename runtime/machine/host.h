// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/target.h"

namespace hone::runtime {

/// This machine: instruction sets that the CPU has and the kernel saves, and caches from sysfs
/// (else usual sizes). One thread for each CPU that this process may run on.
ir::Target host_target();

/// Cores this process may run on, each the list of its CPUs.
std::vector<std::vector<int>> usable_cores();

/// Their CPUs, one of each core first, then their siblings.
std::vector<int> usable_cpus();

}  // namespace hone::runtime
