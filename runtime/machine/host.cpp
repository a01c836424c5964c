// SPDX-License-Identifier: Apache-2.0
#include "runtime/machine/host.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

namespace hone::runtime {
namespace {

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(unsigned leaf, unsigned sub = 0) {
  Leaf r;
  if (!__get_cpuid_count(leaf, sub, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

bool has(unsigned word, int bit) { return ((word >> bit) & 1) != 0; }

/// State components that the operating system saves (XCR0).
uint64_t saved_state() {
  unsigned lo = 0, hi = 0;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return (uint64_t{hi} << 32) | lo;
}

uint32_t detect_isa() {
  using ir::Isa;
  const auto bit = [](Isa i) { return static_cast<uint32_t>(i); };
  const Leaf one = cpuid(1);
  const bool osxsave = has(one.ecx, 27), avx = has(one.ecx, 28);
  const bool fma = has(one.ecx, 12), f16c = has(one.ecx, 29);
  if (!osxsave || !avx || !fma || !f16c) return 0;
  const uint64_t state = saved_state();
  const Leaf seven = cpuid(7), seven1 = cpuid(7, 1);
  // XMM and YMM; AVX-512 also needs the masks, the upper halves and the upper sixteen.
  if ((state & 0x06) != 0x06 || !has(seven.ebx, 5)) return 0;
  uint32_t isa = bit(Isa::kAvx2);
  if (has(seven1.eax, 4)) isa |= bit(Isa::kAvxVnni);
  const bool f = has(seven.ebx, 16), dq = has(seven.ebx, 17), cd = has(seven.ebx, 28);
  const bool bw = has(seven.ebx, 30), vl = has(seven.ebx, 31);
  if ((state & 0xE6) != 0xE6 || !f || !dq || !cd || !bw || !vl) return isa;
  isa |= bit(Isa::kAvx512);
  if (has(seven.ecx, 11)) isa |= bit(Isa::kVnni);
  if (has(seven1.eax, 5)) isa |= bit(Isa::kBf16);
  if (has(seven.edx, 23)) isa |= bit(Isa::kFp16);
  return isa;
}

/// `amd-1a-02`: vendor, family and model in hex.
std::string detect_cpu() {
  const Leaf zero = cpuid(0);
  char vendor[13] = {};
  std::memcpy(vendor, &zero.ebx, 4);
  std::memcpy(vendor + 4, &zero.edx, 4);
  std::memcpy(vendor + 8, &zero.ecx, 4);
  std::string_view name = vendor;
  name = name == "AuthenticAMD" ? "amd" : name == "GenuineIntel" ? "intel" : "other";
  const unsigned eax = cpuid(1).eax;
  unsigned family = (eax >> 8) & 15, model = (eax >> 4) & 15;
  if (family == 15) family += (eax >> 20) & 255;
  if (family >= 6) model |= ((eax >> 16) & 15) << 4;
  return fmt::format("{}-{:02x}-{:02x}", name, family, model);
}

std::string read_word(const std::string& path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

int64_t parse_size(const std::string& text) {
  if (text.empty()) return 0;
  const int64_t number = std::strtoll(text.c_str(), nullptr, 10);
  const int shift = text.back() == 'K' ? 10 : text.back() == 'M' ? 20 : text.back() == 'G' ? 30 : 0;
  return number << shift;
}

void read_caches(ir::Target* target) {
  for (int i = 0; i < 8; ++i) {
    const std::string dir = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
    const std::string level = read_word(dir + "level");
    if (level.empty()) return;
    const int64_t bytes = parse_size(read_word(dir + "size"));
    if (bytes <= 0 || read_word(dir + "type") == "Instruction") continue;
    if (level == "1") target->l1d = bytes;
    if (level == "2") target->l2 = bytes;
    if (level == "3") target->l3 = bytes;
  }
}

}  // namespace

ir::Target host_target() {
  ir::Target target;
  target.isa = detect_isa();
  target.cpu = detect_cpu();
  target.threads = static_cast<int>(usable_cpus().size());
  read_caches(&target);
  return target;
}

std::vector<std::vector<int>> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {{0}};
  std::vector<std::vector<int>> cores;
  std::vector<std::string> names;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    std::string name =
        read_word(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    if (name.empty()) name = std::to_string(cpu);
    const auto known = std::find(names.begin(), names.end(), name);
    if (known != names.end()) {
      cores[static_cast<size_t>(known - names.begin())].push_back(cpu);
    } else {
      names.push_back(std::move(name));
      cores.push_back({cpu});
    }
  }
  return cores;
}

std::vector<int> usable_cpus() {
  std::vector<int> first, siblings;
  for (const std::vector<int>& core : usable_cores()) {
    first.push_back(core[0]);
    siblings.insert(siblings.end(), core.begin() + 1, core.end());
  }
  first.insert(first.end(), siblings.begin(), siblings.end());
  return first;
}

}  // namespace hone::runtime
