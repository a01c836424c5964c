// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace hone::runtime {

/// Bytes of memory, of the machine or of the control group that this process is in.
struct MachineMemory {
  double all = 0;
  double free = 0;  ///< without swapping, as the system estimates it
};

/// What there is now; 0 where the system does not say.
MachineMemory machine_memory();

/// `25.6 TB`: three digits, powers of a thousand.
std::string bytes_text(double bytes);

/// `25.6 TB, this machine has 23.4 GB`; empty where so much is free, or nobody knows.
std::string lack_of_memory(double bytes);

}  // namespace hone::runtime
