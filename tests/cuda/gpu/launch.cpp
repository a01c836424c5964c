// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace hone::tests {
namespace {

constexpr std::chrono::microseconds kRampStep{25};

/// Where the kernel that this thread runs finds its memory.
thread_local const Memory* memory_of_this_launch = nullptr;

/// Addresses that callers see become those of the bytes.
void shift(std::vector<unsigned char>& bytes, const Memory& memory) {
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, &bytes[at], 8);
    if (!memory.owns(word)) continue;
    word += static_cast<uint64_t>(memory.shift());
    std::memcpy(&bytes[at], &word, 8);
  }
}

/// Every kernel of the project looks at the word that its first slot points to, unchecked.
std::string status_objection(const LaunchRequest& request, const Memory& memory) {
  if (request.parameters.empty() || request.parameters[0].size() < 8) return "";
  uint64_t status;
  std::memcpy(&status, request.parameters[0].data(), 8);
  return memory.objection(status, 8);
}

int run(const LaunchRequest& request, const Memory& memory) {
  if (const std::string wrong = status_objection(request, memory); !wrong.empty()) {
    tell(request.kernel->name + ": its status word: " + wrong);
    return kIllegalAddress;
  }
  std::vector<std::vector<unsigned char>> parameters = request.parameters;
  std::vector<void*> pointers;
  for (auto& p : parameters) {
    shift(p, memory);
    pointers.push_back(p.data());
  }
  memory_of_this_launch = &memory;
  const Kernel& k = *request.kernel;
  const std::string wrong =
      k.run(request.grid, request.block, request.shared_bytes, pointers.data());
  memory_of_this_launch = nullptr;
  if (wrong.empty()) return kSuccess;
  tell(k.name + ": " + wrong);
  return wrong.find("aligned") != std::string::npos   ? kMisalignedAddress
         : wrong.find("barrier") != std::string::npos ? kLaunchFailed
                                                      : kIllegalAddress;
}

int parameters_of(void** extra, LaunchRequest& request) {
  // Pairs of a key and a value: 1 the bytes, 2 the address of their count, 0 the end.
  const unsigned char* bytes = nullptr;
  size_t count = 0;
  for (; *extra; extra += 2) {
    if (*extra == reinterpret_cast<void*>(uintptr_t{1}))
      bytes = static_cast<unsigned char*>(extra[1]);
    if (*extra == reinterpret_cast<void*>(2)) count = *static_cast<size_t*>(extra[1]);
  }
  size_t at = 0;
  for (const size_t n : request.kernel->parameter_bytes) {
    const size_t alignment = n >= 8 ? 8 : n;
    at = (at + alignment - 1) / alignment * alignment;
    if (!bytes || at + n > count) return kInvalidValue;
    request.parameters.emplace_back(bytes + at, bytes + at + n);
    at += n;
  }
  return kSuccess;
}

}  // namespace

std::string objection_to(const void* bytes, size_t count) {
  const Memory* const memory = memory_of_this_launch;
  if (!memory || count == 0) return "";
  return memory->objection(
      reinterpret_cast<uint64_t>(bytes) - static_cast<uint64_t>(memory->shift()), count);
}

int check(const Context& context, void** parameters, void** extra, LaunchRequest& request) {
  const Kernel& k = *request.kernel;
  const auto refuse = [&](int code, const std::string& why) {
    tell(k.name + ": " + why);
    return code;
  };
  constexpr uint64_t kGrid[] = {2147483647, 65535, 65535}, kBlock[] = {1024, 1024, 64};
  for (int a = 0; a < 3; ++a) {
    if (request.grid[a] == 0 || request.grid[a] > kGrid[a]) {
      return refuse(kInvalidValue,
                    fmt::format("a grid of {} blocks along axis {}", request.grid[a], a));
    }
    if (request.block[a] == 0 || request.block[a] > kBlock[a]) {
      return refuse(kInvalidValue,
                    fmt::format("a block of {} threads along axis {}", request.block[a], a));
    }
  }
  const uint64_t threads = uint64_t{request.block[0]} * request.block[1] * request.block[2];
  if (threads > 1024) return refuse(kInvalidValue, fmt::format("blocks of {} threads", threads));
  if (threads > static_cast<uint64_t>(k.threads)) {
    return refuse(kInvalidValue, fmt::format("blocks of {} threads, and it was compiled for {}",
                                             threads, k.threads));
  }
  for (int a = 0; a < 3; ++a) {
    if (request.grid[a] % static_cast<unsigned>(k.cluster[a]) != 0) {
      return refuse(kInvalidClusterSize,
                    fmt::format("a grid of {} blocks along axis {}, and a cluster has {}",
                                request.grid[a], a, k.cluster[a]));
    }
  }
  if (request.shared_bytes > static_cast<unsigned>(k.dynamic_shared)) {
    return refuse(kInvalidValue,
                  fmt::format("{} bytes of dynamic shared memory, and {} are allowed",
                              request.shared_bytes, k.dynamic_shared));
  }
  if (k.static_shared + static_cast<int>(request.shared_bytes) >
      context.model->block_shared_bytes) {
    return refuse(kLaunchOutOfResources, "more shared memory than a block can have");
  }
  // Nobody will look at them.
  if (gpus().settings.idle) return kSuccess;
  if (extra) return parameters_of(extra, request);
  if (!parameters && !k.parameter_bytes.empty()) return refuse(kInvalidValue, "no parameters");
  for (size_t i = 0; i < k.parameter_bytes.size(); ++i) {
    const auto* const bytes = static_cast<unsigned char*>(parameters[i]);
    request.parameters.emplace_back(bytes, bytes + k.parameter_bytes[i]);
  }
  return kSuccess;
}

WorkRef launch(Context& context, LaunchRequest request, std::vector<WorkRef> after) {
  const Settings& s = gpus().settings;
  const int64_t number = ++gpus().launches;
  if (s.idle) return nullptr;
  if (s.hang == number) return context.queue.add(nullptr, std::move(after), true);
  if (s.fault == number) {
    return context.queue.add(
        [name = request.kernel->name] {
          tell(name + ": a fault that was asked for");
          return kIllegalAddress;
        },
        std::move(after));
  }
  const auto wait = kRampStep * std::max<int64_t>(0, s.ramp - number);
  return context.queue.add(
      [request = std::move(request), memory = &context.memory, wait] {
        std::this_thread::sleep_for(wait);
        return run(request, *memory);
      },
      std::move(after));
}

}  // namespace hone::tests
