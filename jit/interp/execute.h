// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/ir/nest.h"

namespace hone::jit {

/// A fault of a nest: an access outside its buffer, or a read of an element that was never written.
/// Always a bug of whoever made the nest.
struct ExecuteFault {
  std::string message;
};

/// Remembers which elements of temporaries were written; one for all launches of a call. Worker
/// scratch and register tiles are forgotten at the start of each run.
struct Shadow {
  std::vector<std::vector<uint8_t>> written;  ///< per buffer of the nest, per element
};

/// Runs the launches of a lowered program as compiled code would, checking every access against its
/// buffer. It serves where machine code may not be made, and as a back end in the tests. Float
/// results are rounded to the type that computes them. Vector loops run statement by statement over
/// all lanes.
class NestExecutor {
 public:
  explicit NestExecutor(ir::Nest nest);
  NestExecutor(NestExecutor&&) noexcept;
  NestExecutor& operator=(NestExecutor&&) noexcept;
  ~NestExecutor();

  const ir::Nest& nest() const;
  /// The extent of a launch's outer range, for the dims in `args`.
  int64_t extent(int launch, const int64_t* args) const;
  /// The elements of a buffer, for the dims in `args`.
  int64_t elements(int buffer, const int64_t* args) const;
  /// An empty shadow for one call; checks reads of temporaries when given to `run`.
  Shadow make_shadow() const;
  /// `launch` for the outer range [begin, end); `args` as ArgsLayout says, `scratch` of one worker.
  /// Thread-safe; the first fault ends the run.
  std::optional<ExecuteFault> run(int launch, const int64_t* args, int64_t begin, int64_t end,
                                  void* scratch, Shadow* shadow = nullptr) const;

 private:
  struct Compiled;
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace hone::jit
