// SPDX-License-Identifier: Apache-2.0
// The hone program where something around it fails: output, cache, threads, memory, the worker.
#include <signal.h>
#include <sys/stat.h>

#include <chrono>

#include "runtime/machine/host.h"
#include "tests/cli/program.h"

using namespace hone::tests;

namespace {

bool machine_code_here() { return hone::runtime::host_target().vector_bytes() > 0; }

/// The words that have the program use a worker which is a shell script.
std::string with_worker(const Hone& hone, const std::string& script) {
  const std::string path = hone.write("worker", "#!/bin/sh\n" + script + "\n");
  ::chmod(path.c_str(), 0755);
  return "HONE_WORKER='" + path + "' ";
}

/// `hone run` and `tune` lines with a schedule by hand.
constexpr const char* kByHand = "'add N=64 | x86 threads=1 | split Y/i 16 -> a b; vectorize b'";

}  // namespace

TEST_CASE("cli: output that cannot be written is no success, whatever the verb") {
  const Hone hone;
  CHECK(hone("run --no-time 'add N=8'").code == 0);
  for (const char* line :
       {"run --no-time 'add N=8'", "run --json --no-time 'add N=8'", "show 'add N=8'", "target",
        "ops", "cache export", "cache stat", "cache ls --json", "--help", "run --help", "--version",
        "cache export /dev/full"}) {
    CAPTURE(line);
    const std::string words = line;
    // An empty cache has nothing for `ls` to say.
    const int expected = words == "cache ls --json" ? 0 : 2;
    CHECK(hone(words + " 2>&1 >/dev/full").code == expected);
  }
}

TEST_CASE("cli: a pipe that is named as a cache is not waited for") {
  const Hone hone;
  REQUIRE(::mkfifo(hone.file("pipe").c_str(), 0644) == 0);
  const auto start = std::chrono::steady_clock::now();
  const Ran ran = hone("run --no-time 'add N=8' --cache " + hone.file("pipe"));
  CHECK(ran.code == 0);
  CHECK(ran.has("no regular file"));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("cli: a schedule by hand runs in the worker, which may die of it") {
  if (!machine_code_here()) return;
  const Hone hone;
  const Ran right = hone(std::string("run --no-time ") + kByHand);
  CHECK(right.code == 0);
  CHECK(right.has("right     "));
  const std::string opened = "read line <&3; echo opened >&3; read line <&3; ";
  const struct {
    const char* script;
    int code;
    const char* says;
  } deaths[] = {
      {"kill -SEGV $$", 1, "crashed: by signal 11"},
      {"kill -ILL $$", 1, "crashed: by signal 4"},
      {"printf 'crash\\tsignal=SIGILL\\taddress=0x10\\n' >&3", 1, "crashed: SIGILL at 0x10"},
      {"printf 'result\\tverdict=wrong\\tnote=Y[3] is 1\\n' >&3; cat", 1, "WRONG     Y[3] is 1"},
      {"printf 'result\\tverdict=clobbers\\tnote=rbx\\n' >&3; cat", 1, "clobbers: rbx"},
      {"kill -KILL $$", 2, "killed: by signal 9"},
  };
  for (const auto& death : deaths) {
    CAPTURE(death.script);
    const std::string first = with_worker(hone, opened + death.script);
    const Ran text = hone(std::string("run ") + kByHand, first);
    CHECK(text.code == death.code);
    CHECK(text.has(death.says));
    if (death.code == 1) CHECK(text.has("add N=64 | x86 isa="));
    const Ran json = hone(std::string("run --json ") + kByHand, first);
    CHECK(json.code == death.code);
    CHECK(json.out.starts_with("{"));
    CHECK(json.out.find('\n') == json.out.size() - 1);
    if (death.code == 1) CHECK(json.has("\"time_us\":null"));
  }
}
