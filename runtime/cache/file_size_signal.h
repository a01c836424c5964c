// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

namespace hone::runtime {

/// While it lives, a write past the process's file-size limit is an error of that write (EFBIG) and
/// nothing else: the signal that comes with it, and by default ends the process, is held back on
/// this thread and taken away in the end. The host's handlers stay as they are; a signal that was
/// under way before is left to them.
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
