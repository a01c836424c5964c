// SPDX-License-Identifier: Apache-2.0
// Starts a worker (argv[1]), has it run the code of argv[2] (hex) on the problem of argv[3], prints
// the worker's pid and dies while the worker sleeps.
#include <unistd.h>

#include <cstdio>

#include "runtime/worker/process.h"

int main(int, char** argv) {
  using namespace hone::runtime;
  auto worker = WorkerProcess::start(argv[1]);
  if (!worker) return 1;
  Message open{"open", {}};
  open.add("problem", argv[3]).add("target", "x86 threads=1");
  if (!(*worker)->ask(open, {20000})) return 2;
  std::printf("%d\n", (*worker)->pid());
  std::fflush(stdout);
  Message code{"code", {}};
  code.add("bytes", argv[2]);
  (*worker)->ask(code, {300});  // it sleeps far longer
  ::_exit(0);
}
