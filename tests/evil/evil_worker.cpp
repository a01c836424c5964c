// SPDX-License-Identifier: Apache-2.0
// A worker that also takes machine code as it is, so that the checks can be tried on code that hone
// would never make.
#include "runtime/check/faults.h"
#include "runtime/worker/serve.h"

int main() {
  constexpr int kTunerFd = 3;
  hone::runtime::confine_process(kTunerFd, {.memory_bytes = int64_t{8} << 30});
  return hone::runtime::serve_trials(kTunerFd, true);
}
