// SPDX-License-Identifier: Apache-2.0
#include "tests/diff/guarded.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

namespace hone::tests {

GuardedBlock::GuardedBlock(size_t bytes, bool at_end, size_t align) : size_(bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t inner = (bytes + page - 1) / page * page + page;
  mapped_ = inner + 2 * page;
  void* map = ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  map_ = static_cast<char*>(map);
  // An emulator may touch lanes that a mask leaves out; then the guards are plain memory.
  const char* guard = std::getenv("HONE_TEST_GUARD");
  const bool soft = guard && std::strcmp(guard, "off") == 0;
  char* const first = soft ? map_ : map_ + page;
  if (::mprotect(first, soft ? mapped_ : inner, PROT_READ | PROT_WRITE) != 0)
    throw std::bad_alloc();
  size_t offset = page;
  if (at_end) offset = (page + inner - bytes) / align * align;
  data_ = map_ + offset;
}

GuardedBlock& GuardedBlock::operator=(GuardedBlock&& other) noexcept {
  std::swap(map_, other.map_);
  std::swap(mapped_, other.mapped_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

GuardedBlock::~GuardedBlock() {
  if (map_) ::munmap(map_, mapped_);
}

void GuardedBlock::fill(int byte) { std::memset(data_, byte, size_); }

namespace {

sigjmp_buf jump;
volatile sig_atomic_t armed = 0;
volatile sig_atomic_t caught = 0;
void* volatile address = nullptr;

void on_signal(int signal, siginfo_t* info, void*) {
  if (!armed) {
    // Not ours: as if there had been no handler.
    ::signal(signal, SIG_DFL);
    ::raise(signal);
    return;
  }
  caught = signal;
  address = info->si_addr;
  siglongjmp(jump, 1);
}

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGALRM};

}  // namespace

std::string survive(const std::function<void()>& f, int seconds) {
  // A stack that has run out is no place to handle the signal on.
  static char stack[64 << 10];
  stack_t own = {}, others = {};
  own.ss_sp = stack;
  own.ss_size = sizeof stack;
  ::sigaltstack(&own, &others);
  struct sigaction ours = {}, before[std::size(kSignals)];
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &ours, &before[i]);
  ::alarm(static_cast<unsigned>(seconds));
  std::string stopped;
  if (sigsetjmp(jump, 1) == 0) {
    armed = 1;
    try {
      f();
    } catch (const std::exception& e) {
      stopped = e.what();
    }
  } else {
    char text[96];
    std::snprintf(text, sizeof text, "%s at address %p",
                  caught == SIGALRM ? "ran out of time" : ::strsignal(caught), address);
    stopped = text;
  }
  armed = 0;
  ::alarm(0);
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
  ::sigaltstack(&others, nullptr);
  return stopped;
}

}  // namespace hone::tests
