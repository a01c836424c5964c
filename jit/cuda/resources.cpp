// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/resources.h"

#include <algorithm>
#include <charconv>

namespace hone::jit {
namespace {

/// The number that stands before `words` in `line`, or 0.
int number_before(std::string_view line, std::string_view words) {
  const size_t end = line.find(words);
  if (end == std::string_view::npos) return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

}  // namespace

std::vector<KernelResources> resources_in(std::string_view log) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::vector<KernelResources> out;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (const size_t at = line.find(kEntry); at != std::string_view::npos) {
      const std::string_view name = line.substr(at + kEntry.size());
      out.emplace_back().symbol = name.substr(0, name.find('\''));
    }
    if (out.empty()) continue;
    KernelResources& k = out.back();
    if (line.find(" bytes stack frame") != std::string_view::npos) {
      k.local_bytes = number_before(line, " bytes stack frame");
      k.spill_bytes =
          number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    }
    if (line.find(" registers") != std::string_view::npos) {
      k.registers = number_before(line, " registers");
      k.shared_bytes = number_before(line, " bytes smem");
    }
  }
  return out;
}

const KernelResources* resources_of(const std::vector<KernelResources>& all,
                                    std::string_view symbol) {
  for (const KernelResources& k : all) {
    if (k.symbol == symbol) return &k;
  }
  return nullptr;
}

}  // namespace hone::jit
