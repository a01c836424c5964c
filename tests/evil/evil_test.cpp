// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "jit/interp/reference.h"
#include "runtime/worker/process.h"
#include "tests/evil/evil_code.h"

using namespace hone::runtime;

namespace {

constexpr int kOpenMs = 60000;
constexpr int kTryMs = 2000;
constexpr const char* kTarget = "x86 threads=1";

std::string program(const char* name) {
  return std::string(std::getenv("HONE_TEST_EVIL")) + "/" + name;
}

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string out;
  for (uint8_t b : bytes) out += fmt::format("{:02x}", b);
  return out;
}

std::unique_ptr<WorkerProcess> opened(const char* problem = kProblem) {
  auto worker = WorkerProcess::start(program("evil_worker"));
  REQUIRE(worker);
  Message open{"open", {}};
  open.add("problem", problem).add("target", kTarget);
  auto reply = (*worker)->ask(open, {kOpenMs});
  REQUIRE_MESSAGE(reply.has_value(), (*worker)->why());
  REQUIRE_MESSAGE(reply->get("error").empty(), std::string(reply->get("error")));
  return std::move(*worker);
}

Message code(const std::vector<uint8_t>& bytes) {
  Message m{"code", {}};
  m.add("bytes", hex(bytes));
  return m;
}

}  // namespace

TEST_CASE("evil: the right kernel passes") {
  auto worker = opened();
  auto reply = worker->ask(code(good_code()), {kTryMs});
  REQUIRE_MESSAGE(reply.has_value(), worker->why());
  CHECK_MESSAGE(reply->get("verdict") == "ok", std::string(reply->get("note")));
}

TEST_CASE("evil: every bad candidate is caught by the check it is named with") {
  const auto all = evil_candidates();
  CHECK(all.size() >= 24);
  auto worker = opened();
  for (const Evil& evil : all) {
    CAPTURE(evil.name);
    auto reply = worker->ask(code(evil.bytes), {kTryMs});
    const std::string word = reply ? std::string(reply->get("verdict"))
                                   : worker->why().substr(0, worker->why().find(':'));
    const std::string note = reply ? std::string(reply->get("note")) : worker->why();
    CAPTURE(note);
    CHECK(word == evil.caught_as);
    CHECK(note.find(evil.note) != std::string::npos);
    // Whoever ran it is replaced; the host goes on.
    worker = opened();
  }
}

TEST_CASE("evil: one wrong element of a large problem is caught, in the sample or not") {
  auto worker = opened(kLargeProblem);
  auto right = worker->ask(code(large_code(-1)), {kTryMs});
  REQUIRE_MESSAGE(right.has_value(), worker->why());
  CHECK_MESSAGE(right->get("verdict") == "ok", std::string(right->get("note")));
  const std::vector<int64_t> shape = {kLargeElements};
  const auto sampled = hone::jit::sample_positions(shape, std::vector<int64_t>{16}, 256, 1);
  int outside = 0;
  for (int wrong : {0, 1, 777, 1778, 2047, 3001, kLargeElements - 2, kLargeElements - 1}) {
    CAPTURE(wrong);
    outside += !std::binary_search(sampled.begin(), sampled.end(), wrong);
    auto reply = worker->ask(code(large_code(wrong)), {kTryMs});
    REQUIRE_MESSAGE(reply.has_value(), worker->why());
    CHECK(reply->get("verdict") == "wrong");
    CHECK(reply->get("note").find(fmt::format("Y[{}] is ", wrong)) != std::string::npos);
  }
  CHECK(outside >= 4);
}

TEST_CASE("evil: a worker that sleeps dies with its parent") {
  const std::string command = fmt::format("{} {} {} '{}'", program("evil_parent"),
                                          program("evil_worker"), hex(sleeping_code()), kProblem);
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe);
  int pid = 0;
  REQUIRE(std::fscanf(pipe, "%d", &pid) == 1);
  CHECK(::pclose(pipe) == 0);
  for (int i = 0; i < 100 && ::kill(pid, 0) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(::kill(pid, 0) != 0);
}
