// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu/calls.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace hone::tests {
namespace {

constexpr const char* kSymbols[] = {
#define HONE_CUDA_FUNCTION(member, symbol, parameters) #symbol,
#include "jit/cuda/driver_functions.def"
#undef HONE_CUDA_FUNCTION
};

std::atomic<int64_t> counts[static_cast<size_t>(Call::count)];
std::atomic<int64_t> bytes_to_host;

/// The code that `FUNCTION:N:CODE` gives for call number `n` of `symbol`.
int wanted(const std::string& fail, const char* symbol, int64_t n) {
  const size_t name = std::strlen(symbol);
  if (fail.compare(0, name, symbol) != 0 || fail[name] != ':') return 0;
  char* rest = nullptr;
  const int64_t number = std::strtoll(fail.c_str() + name + 1, &rest, 10);
  return n == number && *rest == ':' ? std::atoi(rest + 1) : 0;
}

}  // namespace

int begin(Call call) {
  const auto at = static_cast<size_t>(call);
  const int64_t n = ++counts[at];
  const std::string& fail = gpus().settings.fail;
  return fail.empty() ? 0 : wanted(fail, kSymbols[at], n);
}

void count_to_host(size_t bytes) { bytes_to_host += static_cast<int64_t>(bytes); }

int64_t calls_of(const char* symbol) {
  for (size_t i = 0; i < std::size(kSymbols); ++i) {
    if (std::strcmp(kSymbols[i], symbol) == 0) return counts[i];
  }
  return -1;
}

}  // namespace hone::tests

long long hone_gpu_count(const char* what) {
  using namespace hone::tests;
  if (const int64_t calls = calls_of(what); calls >= 0) return calls;
  if (std::strcmp(what, "bytes.to_host") == 0) return hone::tests::bytes_to_host;
  const std::lock_guard lock(gpus().mutex);
  if (std::strcmp(what, "launches") == 0) return gpus().launches;
  if (std::strcmp(what, "live.contexts") == 0) {
    return static_cast<long long>(gpus().contexts.size());
  }
  size_t live = 0;
  bool known = false;
  const auto add = [&](const char* name, size_t count) {
    if (std::strcmp(what, name) != 0) return;
    known = true;
    live += count;
  };
  add("live.bytes", 0), add("live.allocations", 0), add("live.streams", 0);
  add("live.events", 0), add("live.modules", 0), add("live.graphs", 0);
  for (const auto& [device, c] : gpus().contexts) {
    add("live.bytes", c->memory.live_bytes());
    add("live.allocations", c->memory.live_blocks());
    add("live.streams", c->streams.size());
    add("live.events", c->events.size());
    add("live.modules", c->modules.size());
    add("live.graphs", c->graphs.size() + c->executables.size());
  }
  return known ? static_cast<long long>(live) : -1;
}
