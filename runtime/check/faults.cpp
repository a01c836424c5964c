// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/faults.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace hone::runtime {
namespace {

/// Where the handler writes: a signal handler has no other way to know.
int fault_fd = -1;

const char* name_of_signal(int number) {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGILL:
      return "SIGILL";
    case SIGFPE:
      return "SIGFPE";
    case SIGTRAP:
      return "SIGTRAP";
    case SIGXCPU:
      return "SIGXCPU";
    case SIGABRT:
      return "SIGABRT";
    case SIGSYS:
      return "SIGSYS";
    default:
      return "signal";
  }
}

/// Async-signal-safe: formats by hand, writes once, leaves.
void on_fault(int number, siginfo_t* info, void*) {
  char line[128];
  size_t n = 0;
  const auto text = [&](const char* s) {
    while (*s && n < sizeof line - 20) line[n++] = *s++;
  };
  // What somebody sent is no word on the code that ran.
  const bool sent = info->si_code <= 0 && info->si_pid != ::getpid();
  text(sent ? "killed\tsignal=" : "crash\tsignal=");
  text(name_of_signal(number));
  text("\taddress=0x");
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (int shift = 60; shift >= 0; shift -= 4)
    line[n++] = "0123456789abcdef"[(address >> shift) & 15];
  line[n++] = '\n';
  if (::write(fault_fd, line, n) < 0) ::_exit(4);
  ::_exit(3);
}

void limit(int resource, int64_t value) {
  rlimit r{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &r);
}

}  // namespace

void confine_process(int fd, const WorkerLimits& limits) {
  fault_fd = fd;
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // it died before the line above
  // Ctrl-C reaches the whole group; its meaning is for the parent to say.
  ::signal(SIGINT, SIG_IGN);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, int64_t{16} << 30);
  if (limits.memory_bytes > 0) limit(RLIMIT_AS, limits.memory_bytes);

  // Chosen: several times what a handler needs (not measured).
  constexpr size_t kStack = 64 << 10;
  void* memory =
      ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kStack;
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, SIGXCPU}) {
    ::sigaction(number, &action, nullptr);
  }
}

/// Only the soft limit, whose signal the handler reports; the hard one could not be raised again.
void limit_cpu(int64_t seconds) {
  rusage used{};
  rlimit r{};
  if (::getrusage(RUSAGE_SELF, &used) != 0 || ::getrlimit(RLIMIT_CPU, &r) != 0) return;
  const int64_t cores = std::max<int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN));
  const int64_t past = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1;
  r.rlim_cur = std::min(static_cast<rlim_t>(past + seconds * cores), r.rlim_max);
  ::setrlimit(RLIMIT_CPU, &r);
}

}  // namespace hone::runtime
