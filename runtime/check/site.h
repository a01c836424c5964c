// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "jit/backend.h"
#include "runtime/check/guarded_memory.h"
#include "runtime/measure/samples.h"

namespace hone::runtime {

class Gpu;

/// Memory at a site, between bytes that nobody may write.
class Block {
 public:
  virtual ~Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// As launches see it.
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  /// Copies `bytes()` bytes of the host into it.
  virtual Result<Done> write(const void* from) = 0;
  /// Copies `n` bytes from byte `at` on to the host.
  virtual Result<Done> read(void* to, int64_t at, int64_t n) const = 0;
  /// Takes the bytes of another block of this site, which is as large.
  virtual Result<Done> copy(const Block& from) = 0;
  /// True when what surrounds it has changed.
  virtual Result<bool> overwritten() const = 0;

 protected:
  Block(void* data, int64_t bytes) : data_(data), bytes_(bytes) {}

 private:
  void* data_;
  int64_t bytes_;
};

/// One launch of a call.
struct SiteLaunch {
  const jit::Executable& executable;
  size_t number;                   ///< of the launch
  const int64_t* slots;            ///< the args struct
  int64_t extent;                  ///< of its outer range
  bool parallel;                   ///< parts of that range may run at a time
  std::span<void* const> scratch;  ///< per worker
};

/// Where calls run: memory for their operands, and what runs a launch on them. The host is one, and
/// every device.
class Site {
 public:
  using Work = std::function<Result<Done>()>;
  using Calls = std::function<Result<Done>(int64_t n)>;

  virtual ~Site() = default;
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  /// `bytes` (0 is legal) at a multiple of `align` and of 64, holding NaNs. On the host the end
  /// that `guard` names touches a guard page. The site must outlive the block.
  virtual Result<std::unique_ptr<Block>> take(int64_t bytes, int64_t align, Guard guard) = 0;
  /// True where launches run on tensors of the host as they lie.
  virtual bool is_host() const = 0;
  /// Bytes of the cache that timing empties between calls; 0: operands may stay in it.
  virtual int64_t cache_bytes() const = 0;
  /// Threads that run parts of a launch; each needs scratch.
  virtual int workers() const = 0;

  /// Runs a launch whole, or puts it behind what was begun before.
  virtual Result<Done> run(const SiteLaunch& launch) = 0;
  /// Does `work` and waits until all is done. Gives the time that took, in microseconds of
  /// processor time or of the device's clock.
  virtual Result<double> timed(const Work& work) = 0;
  /// Times of one of the `n` calls, `parallel` or not, that `calls(n)` makes. `between`, which may
  /// be empty, runs before each sample.
  virtual Result<Samples> sample(const Calls& calls, bool parallel, const SampleOptions& options,
                                 const std::function<void()>& between) = 0;
  /// The verdict on a candidate whose call failed so: refused, clobbers, faulted or hung.
  virtual std::string_view verdict_on(const Failure& failure) const = 0;

 protected:
  Site() = default;
};

/// The host, where launches run as those of a kernel do: parallel ones on the threads of `pool`;
/// null: all on the calling thread.
std::unique_ptr<Site> host_site(ThreadPool* pool = nullptr);
/// The host, where each launch runs under guard, in uneven parts. A broken rule of the ABI is a
/// failure. One at a time: see GuardedCall.
Result<std::unique_ptr<Site>> guarded_site();
/// A GPU: blocks of its memory pool, and launches in its own stream.
std::unique_ptr<Site> device_site(std::shared_ptr<Gpu> gpu);

}  // namespace hone::runtime
