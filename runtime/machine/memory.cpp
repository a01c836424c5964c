// SPDX-License-Identifier: Apache-2.0
#include "runtime/machine/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

namespace hone::runtime {
namespace {

/// The number in a file of one line; infinite where it has none, as for `max`.
double number_in(const std::string& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? value : std::numeric_limits<double>::infinity();
}

/// The folder of the control group of this process; empty without the unified hierarchy.
std::string control_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return "/sys/fs/cgroup" + line.substr(3);
  }
  return "";
}

}  // namespace

MachineMemory machine_memory() {
  MachineMemory memory;
  std::ifstream file("/proc/meminfo");
  for (std::string key, rest; file >> key && std::getline(file, rest);) {
    double* field = key == "MemTotal:"       ? &memory.all
                    : key == "MemAvailable:" ? &memory.free
                                             : nullptr;
    if (field) *field = std::strtod(rest.c_str(), nullptr) * 1024;
  }
  const std::string group = control_group();
  const double most = number_in(group + "/memory.max");
  if (!group.empty() && most < memory.all) {
    memory.all = most;
    memory.free =
        std::min(memory.free, most - std::min(number_in(group + "/memory.current"), most));
  }
  return memory;
}

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
  size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

std::string lack_of_memory(double bytes) {
  const MachineMemory memory = machine_memory();
  if (memory.all <= 0 || bytes <= memory.free) return "";
  if (bytes > memory.all) {
    return fmt::format("{}, this machine has {}", bytes_text(bytes), bytes_text(memory.all));
  }
  return fmt::format("{}, of this machine's {} are {} free", bytes_text(bytes),
                     bytes_text(memory.all), bytes_text(memory.free));
}

}  // namespace hone::runtime
