// SPDX-License-Identifier: Apache-2.0
// The hone-worker program: candidates are built, checked and timed here, so that what they break is
// not the host's.
#include "runtime/check/faults.h"
#include "runtime/worker/serve.h"

int main() {
  // Fixed by: the three standard streams before it.
  constexpr int kTunerFd = 3;
  hone::runtime::confine_process(kTunerFd, {});
  return hone::runtime::serve_trials(kTunerFd, false);
}
