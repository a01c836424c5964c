// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

namespace hone::runtime {

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const TuneProgress& p) {
  const std::string share =
      p.of_limit > 0 ? fmt::format("{:3.0f}% of the limit", 100 * p.of_limit) : "limit unknown    ";
  const std::string line =
      fmt::format("{:5} trials  default {:9.2f} us  best {:9.2f} us  {}  {:4.0f} s left", p.trials,
                  p.default_us, p.best_us, share, p.left.count());
  std::cerr << (terminal_ ? "\r" : "") << line << (terminal_ ? "" : "\n") << std::flush;
  open_ = terminal_;
}

void ProgressLine::end() {
  if (open_) std::cerr << "\n";
  open_ = false;
}

const char* name_of(TuneEnd end) {
  constexpr const char* names[] = {"hit",     "budget", "converged", "limit",
                                   "stopped", "trials", "exhausted"};
  return names[static_cast<int>(end)];
}

}  // namespace hone::runtime
