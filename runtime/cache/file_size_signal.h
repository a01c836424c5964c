// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

namespace hone::runtime {

/// While it lives, a write past the process's file-size limit only fails with EFBIG. The signal
/// that comes with it (SIGXFSZ) ends a process by default. It is held back on this thread and
/// consumed in the end. The host's handlers stay as they are, and a signal that was pending before
/// is left to them.
class FileSizeSignal {
 public:
  FileSizeSignal();
  ~FileSizeSignal();
  FileSizeSignal(const FileSizeSignal&) = delete;
  FileSizeSignal& operator=(const FileSizeSignal&) = delete;

 private:
  sigset_t before_;
  bool was_pending_;
};

}  // namespace hone::runtime
