// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "include/hone/tune.h"

namespace hone::runtime {

/// How tuning goes, on stderr: trials, default, best, share of the limit, time left. On a terminal
/// one line that is written over.
class ProgressLine {
 public:
  ProgressLine();
  void show(const TuneProgress& progress);
  /// Ends a line that stands open.
  void end();

 private:
  bool terminal_;
  bool open_ = false;
};

/// `hit`, `budget`, `converged`, `limit`, `stopped`, `trials`, `exhausted`.
const char* name_of(TuneEnd end);

}  // namespace hone::runtime
