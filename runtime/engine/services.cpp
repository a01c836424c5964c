// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/services.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "runtime/cache/file_size_signal.h"
#include "runtime/device/gpu.h"
#include "runtime/device/memory_pool.h"
#include "runtime/machine/host.h"
#include "runtime/threads/pool.h"

namespace hone::runtime {

Services::Services(const ir::Target& target, ThreadPool* pool, int64_t ceiling, bool perf_map,
                   std::function<void(const Event&)> on_event)
    : threads_(target.threads),
      cores_(pool || threads_ <= 1 ? decltype(cores_)() : usable_cores()),
      given_pool_(pool),
      perf_map_(perf_map),
      on_event_(std::move(on_event)),
      workspaces_(ceiling) {}

Services::~Services() = default;

ThreadPool* Services::pool() {
  if (given_pool_) return given_pool_;
  if (threads_ <= 1) return nullptr;
  const std::lock_guard lock(mutex_);
  if (!own_pool_) own_pool_ = make_pool({.size = threads_, .cores = cores_});
  return own_pool_.get();
}

void Services::tell(Event::Kind kind, const std::function<std::string()>& text) const {
  if (on_event_) on_event_({kind, text()});
}

void Services::tell_once(Event::Kind kind, const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (std::find(told_.begin(), told_.end(), text) != told_.end()) return;
    told_.push_back(text);
  }
  tell(kind, [&] { return text; });
}

void Services::name_code(const void* begin, size_t size, const std::string& name) {
  if (!perf_map_) return;
  const std::string line =
      fmt::format("{:x} {:x} {}\n", reinterpret_cast<uintptr_t>(begin), size, name);
  const std::lock_guard lock(mutex_);
  const FileSizeSignal held;
  if (std::FILE* file = std::fopen(fmt::format("/tmp/perf-{}.map", getpid()).c_str(), "a")) {
    std::fputs(line.c_str(), file);
    std::fclose(file);
  }
}

EngineMemory Services::memory() const {
  const auto code = static_cast<int64_t>(code_.used());
  if (gpu_) return {gpu_->memory().used(), gpu_->memory().ceiling(), code};
  return {workspaces_.used(), workspaces_.ceiling(), code};
}

}  // namespace hone::runtime
