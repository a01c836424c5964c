// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/faults.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace hone::runtime;

TEST_CASE("faults: what one request used of the processor is not for the next one to pay") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    rlimit before{}, after{};
    ::getrlimit(RLIMIT_CPU, &before);
    const rlim_t most = before.rlim_max;
    before.rlim_cur = 1;  // as good as spent
    ::setrlimit(RLIMIT_CPU, &before);
    limit_cpu(1000);
    ::getrlimit(RLIMIT_CPU, &after);
    ::_exit(after.rlim_cur >= 1000 && after.rlim_cur < RLIM_INFINITY && after.rlim_max == most ? 0
                                                                                               : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
