// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/file_size_signal.h"

#include <pthread.h>
#include <time.h>

#include <cerrno>

namespace hone::runtime {
namespace {

sigset_t only_ours() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

bool pending() {
  sigset_t set;
  return ::sigpending(&set) == 0 && sigismember(&set, SIGXFSZ) == 1;
}

}  // namespace

FileSizeSignal::FileSizeSignal() : was_pending_(pending()) {
  const sigset_t ours = only_ours();
  ::pthread_sigmask(SIG_BLOCK, &ours, &before_);
}

FileSizeSignal::~FileSizeSignal() {
  const int error = errno;
  if (!was_pending_ && pending()) {
    const sigset_t ours = only_ours();
    const timespec now{};
    while (::sigtimedwait(&ours, nullptr, &now) < 0 && errno == EINTR) continue;
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace hone::runtime
