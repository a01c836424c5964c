// SPDX-License-Identifier: Apache-2.0
// Says where a program that lies where this one does finds its worker, or where it looked.
#include <cstdio>

#include "runtime/worker/process.h"

int main() {
  const std::string worker = hone::runtime::find_worker("");
  std::puts(worker.empty() ? hone::runtime::no_worker().message.c_str() : worker.c_str());
}
