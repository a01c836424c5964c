// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "jit/cuda/nvrtc.h"
#include "tests/cuda/batch.h"

namespace hone::tests {

/// A schedule written by hand and the problem that it is for.
struct ByHand {
  std::string problem;
  std::string schedule;
  bool narrows = false;  ///< drops bits of its inputs: only small integers come out right
};

/// The schedule of a text, which must parse.
schedules::Schedule parsed(const std::string& text);

/// Runs all of them against the definition. Dims that calls give are 37.
void check_all(const std::vector<ByHand>& all);

/// A schedule that is refused, with a part of the reason.
struct Refusal {
  std::string problem;
  std::string schedule;
  std::string reason;
};
/// Each is refused, with its reason.
void check_refused(const std::vector<Refusal>& all);

/// A kernel in whose text `to` stands in the place of `from`, which makes it wrong.
struct Altered {
  std::string what;
  std::string schedule;
  std::string from;
  std::string to;
};
/// The emulation finds fault with each, or the results are not the problem's. Dims that calls give
/// are 37.
void check_caught(const std::string& problem, const std::vector<Altered>& all);

/// The device's compiler; the test says that it is skipped where there is none.
std::optional<jit::Nvrtc> compiler_at_hand();
/// The same, where it compiles for a GPU of capability `sm`.
std::optional<jit::Nvrtc> compiler_for(int sm);
/// Whether it is known to compile for a GPU.
bool compiles_for(const jit::Nvrtc& nvrtc, int sm);

/// Every `every`-th compiles for sm_90, where a compiler is at hand.
void check_compiles(const std::vector<ByHand>& all, size_t every);

}  // namespace hone::tests
