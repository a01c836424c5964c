// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "jit/backend.h"
#include "jit/ir/target.h"
#include "jit/memory.h"
#include "runtime/engine/workspace.h"

namespace hone::runtime {

class Gpu;

/// What kernels use of their engine; lives as long as the last of them.
class Services {
 public:
  /// `pool` may be null: one is made when the first kernel wants threads.
  Services(const ir::Target& target, ThreadPool* pool, int64_t ceiling, bool perf_map,
           std::function<void(const Event&)> on_event);
  ~Services();

  /// The GPU that the engine's kernels run on; null where they run on the CPU.
  const std::shared_ptr<Gpu>& gpu() const { return gpu_; }
  void use_gpu(std::shared_ptr<Gpu> gpu) { gpu_ = std::move(gpu); }
  /// The pool; null for a target of one thread.
  ThreadPool* pool();
  /// How many threads the pool has; a host's own is asked once, when the engine is opened.
  int workers() { return given_pool_ || !pool() ? threads_ : pool()->size(); }
  /// Who makes code, where it is not the target's back end.
  const jit::Backend* backend() const { return backend_; }
  void use_backend(const jit::Backend* backend) { backend_ = backend; }
  EngineMemory memory() const;
  WorkspacePool& workspaces() { return workspaces_; }
  jit::ExecutableMemory& code() { return code_; }
  /// Tells the host, if it listens; `text` is called only then.
  void tell(Event::Kind kind, const std::function<std::string()>& text) const;
  /// The same, once for each engine and text.
  void tell_once(Event::Kind kind, const std::string& text);
  /// Names code for perf, where that was asked for.
  void name_code(const void* begin, size_t size, const std::string& name);

 private:
  std::shared_ptr<Gpu> gpu_;
  const jit::Backend* backend_ = nullptr;
  int threads_;
  /// Where the engine was opened: who compiles later may be kept to one of them.
  std::vector<std::vector<int>> cores_;
  ThreadPool* given_pool_;
  bool perf_map_;
  std::function<void(const Event&)> on_event_;
  std::mutex mutex_;
  std::unique_ptr<ThreadPool> own_pool_;
  std::vector<std::string> told_;
  WorkspacePool workspaces_;
  jit::ExecutableMemory code_;
};

}  // namespace hone::runtime
