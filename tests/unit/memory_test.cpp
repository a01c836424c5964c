// SPDX-License-Identifier: Apache-2.0
#include "jit/memory.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace hone::jit {
namespace {

/// mov eax, value; ret
std::vector<uint8_t> returns(uint32_t value) {
  std::vector<uint8_t> code{0xb8, 0, 0, 0, 0, 0xc3};
  std::memcpy(&code[1], &value, 4);
  return code;
}

uint32_t call(const ExecutableSpan& span) {
  return reinterpret_cast<uint32_t (*)()>(reinterpret_cast<uintptr_t>(span.data))();
}

/// Mappings of this process that may be written and executed.
int writable_and_executable() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    const std::string mode = line.substr(line.find(' ') + 1, 4);
    count += mode[1] == 'w' && mode[2] == 'x';
  }
  return count;
}

}  // namespace

TEST_CASE("memory: code runs where no page is writable and executable") {
  ExecutableMemory memory;
  std::vector<ExecutableSpan> spans;
  for (uint32_t i = 0; i < 100; ++i) spans.push_back(memory.add(returns(i)).value());
  CHECK(writable_and_executable() == 0);
  for (uint32_t i = 0; i < 100; ++i) {
    CHECK(reinterpret_cast<uintptr_t>(spans[i].data) % 64 == 0);
    CHECK(call(spans[i]) == i);
  }
  CHECK(memory.used() == 6400);
}

TEST_CASE("memory: what is released traps until its block starts over") {
  ExecutableMemory memory;
  const ExecutableSpan a = memory.add(returns(1)).value();
  const ExecutableSpan b = memory.add(returns(2)).value();
  memory.release(a);
  CHECK(memory.used() == 64);
  CHECK(a.data[0] == 0xcc);
  CHECK(call(b) == 2);
  const ExecutableSpan c = memory.add(returns(3)).value();
  CHECK(c.data != a.data);
  memory.release(b);
  memory.release(c);
  const ExecutableSpan d = memory.add(returns(4)).value();
  CHECK(d.data == a.data);
  CHECK(call(d) == 4);
}

TEST_CASE("memory: blocks come and go") {
  ExecutableMemory memory;
  std::vector<ExecutableSpan> spans;
  const std::vector<uint8_t> padding(100 << 10, 0x90);
  for (uint32_t i = 0; i < 20; ++i) {
    spans.push_back(memory.add(padding).value());
    spans.push_back(memory.add(returns(i)).value());
  }
  for (uint32_t i = 0; i < 20; ++i) CHECK(call(spans[2 * i + 1]) == i);
  for (const ExecutableSpan& s : spans) memory.release(s);
  CHECK(memory.used() == 0);
  CHECK(call(memory.add(returns(5)).value()) == 5);
}

TEST_CASE("memory: pieces larger than a block, and empty ones") {
  ExecutableMemory memory;
  std::vector<uint8_t> large(3 << 20, 0x90);
  const auto tail = returns(77);
  std::copy(tail.begin(), tail.end(), large.end() - static_cast<int64_t>(tail.size()));
  const ExecutableSpan span = memory.add(large).value();
  CHECK(call(span) == 77);
  memory.release(span);
  CHECK(memory.used() == 0);
  CHECK(memory.add({}).value().data == nullptr);
}

TEST_CASE("memory: many threads add and release") {
  ExecutableMemory memory;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 500; ++i) {
        const ExecutableSpan span = memory.add(returns(t * 1000 + i)).value();
        wrong[t] += call(span) != t * 1000 + i;
        memory.release(span);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == std::vector<int>(4, 0));
  CHECK(memory.used() == 0);
}

TEST_CASE("memory: a system without memory to map gives an error that says so") {
  const pid_t child = ::fork();
  if (child == 0) {
    // No descriptor is left for the shared pages that code is written to.
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    ExecutableMemory memory;
    const auto span = memory.add(returns(1));
    const bool right = !span && span.failure().code == ErrorCode::kUnsupported &&
                       span.failure().message.find("memfd_create") != std::string::npos;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace hone::jit
