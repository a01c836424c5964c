// SPDX-License-Identifier: Apache-2.0
// Exit codes of the hone program where kernels and the definition disagree: the definition is given
// another exp.
#include <doctest/doctest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

namespace {

/// The output and the exit code of a shell command.
std::pair<std::string, int> shell(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string out;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  const int status = pclose(pipe);
  return {out, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

std::pair<std::string, int> spoilt(const std::string& arguments) {
  return shell("LD_PRELOAD=" + std::string(std::getenv("HONE_TEST_EVIL")) + "/libwrong_exp.so '" +
               std::getenv("HONE_PROGRAM") + "' " + arguments + " --cache :memory: 2>&1");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("evil: a mismatch ends the program with 1 and a repro line") {
  if (has(spoilt("target").first, "isa=none")) return;  // the interpreter agrees with itself
  const auto [text, code] = spoilt("run 'exp N=40' --no-time");
  CHECK(code == 1);
  CHECK(has(text, "WRONG     Y["));
  CHECK(has(text, "hone: wrong result\n  exp N=40 | x86 "));
  const auto [json, json_code] = spoilt("run 'exp N=40' --json");
  CHECK(json_code == 1);
  CHECK(has(json, "\"time_us\":null"));
  CHECK(has(json, "\"mismatch\":\"Y["));
  CHECK(json.find('\n') == json.size() - 1);
  CHECK(spoilt("bench --rounds 1 --problem 'exp N=40'").second == 1);
  // Worse than a mismatch.
  CHECK(spoilt("run 'exp N=40' 'exp' --no-time").second == 2);
}

TEST_CASE("evil: the fuzzer tells what it finds, shrunk") {
  if (has(spoilt("target").first, "isa=none")) return;
  const auto [text, code] = spoilt("fuzz 'exp N=40' --json --time 500ms");
  CHECK(code == 1);
  CHECK(has(text, "{\"failure\":\"wrong: Y["));
  CHECK(has(text, "N=1 | x86 "));
  CHECK(!has(text, "\"failures\":0"));
}

TEST_CASE("evil: where no thread can be made, run and tune work on one") {
  if (has(spoilt("target").first, "isa=none")) return;
  const std::string hone = "LD_PRELOAD=" + std::string(std::getenv("HONE_TEST_EVIL")) +
                           "/libno_threads.so '" + std::getenv("HONE_PROGRAM") + "' ";
  const std::string problem = " --cache :memory: --threads 2 'matmul M=64 N=64 K=64'";
  CHECK(shell(hone + "run" + problem).second == 0);
  const auto [text, code] = shell(hone + "tune --json --trials 2" + problem);
  CHECK(code == 0);
  CHECK(has(text, "\"source\":\"tuned\""));
}

TEST_CASE("evil: under a memory limit tune says what run says") {
  if (has(spoilt("target").first, "isa=none")) return;
  // Enough for the programs, not for three tensors of 400 MB.
  for (const char* verb : {"run", "tune --trials 1"}) {
    const auto [text, code] =
        shell("ulimit -v 1000000; '" + std::string(std::getenv("HONE_PROGRAM")) + "' " + verb +
              " --json --cache :memory: --threads 1 'add N=100000000'");
    CHECK(code == 2);
    CHECK_MESSAGE(has(text, "{\"error\":\"memory\""), text);
  }
}
