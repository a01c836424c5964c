// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace hone::tests {

/// Memory one end of which touches a page that faults.
class GuardedBlock {
 public:
  GuardedBlock() = default;
  /// `bytes` whose end, or else whose start, touches the page; `align`ed as far as that allows.
  GuardedBlock(size_t bytes, bool at_end, size_t align);
  GuardedBlock(GuardedBlock&& other) noexcept { *this = static_cast<GuardedBlock&&>(other); }
  GuardedBlock& operator=(GuardedBlock&& other) noexcept;
  ~GuardedBlock();

  char* data() const { return data_; }
  size_t size() const { return size_; }
  /// Fills the block with a byte.
  void fill(int byte);

 private:
  char* map_ = nullptr;
  size_t mapped_ = 0;
  char* data_ = nullptr;
  size_t size_ = 0;
};

/// Calls `f`; what stopped it (a fault, an exception, a time limit), or "". What `f` holds when it
/// is stopped is lost. So only what takes no lock, as generated code, may have a limit: stopped
/// while it allocates, it would leave memory locked. 0 `seconds`: no limit.
std::string survive(const std::function<void()>& f, int seconds);

}  // namespace hone::tests
