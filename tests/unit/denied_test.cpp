// SPDX-License-Identifier: Apache-2.0
// Systems that forbid executable memory: the interpreter serves, and says so.
#include <doctest/doctest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "include/hone/hone.h"

using namespace hone;

namespace {

constexpr int kRight = 0, kWrong = 1, kNoFilter = 77;

/// From here on system call `number` fails with EPERM where all bits of `mask` are set in its third
/// argument; false where filters cannot be set.
bool forbid(int number, uint32_t mask) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, mask, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{sizeof program / sizeof program[0], program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// What a host without rights to executable memory sees.
int serve_without_code() {
  std::vector<std::string> notices;
  EngineOptions options;
  options.cache = ":memory:";
  options.threads = 1;
  options.on_event = [&](const Event& e) {
    if (e.kind == Event::kNotice) notices.push_back(e.text);
    if (e.kind == Event::kBug) notices.push_back("bug: " + e.text);
  };
  Engine engine(options);
  std::vector<float> a(15, 1), w(21, 2), y(35);
  for (const char* problem : {"matmul M=5 N=7 K=3", "matmul M=5 N=7 K=3 numerics=seq"}) {
    const Kernel k = engine.compile(problem);
    k(a, w, y);
    if (y != std::vector<float>(35, 6) || !k.report().interpreted) return kWrong;
  }
  const bool said = notices.size() == 1 && notices[0].starts_with("the interpreter serves: ");
  return engine.target().find("isa=none") != std::string::npos || said ? kRight : kWrong;
}

/// Serves in a child in which that call is forbidden.
int serve_where_forbidden(int number, uint32_t mask) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(forbid(number, mask) ? serve_without_code() : kNoFilter);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return kWrong;
  if (WEXITSTATUS(status) == kNoFilter) MESSAGE("no filters of system calls here");
  return WEXITSTATUS(status) == kNoFilter ? kRight : WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("denied: no files in memory") { CHECK(serve_where_forbidden(SYS_memfd_create, 0) == 0); }

TEST_CASE("denied: no executable pages") { CHECK(serve_where_forbidden(SYS_mmap, PROT_EXEC) == 0); }
