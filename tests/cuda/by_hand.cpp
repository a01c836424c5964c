// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/by_hand.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/diff/subject.h"

namespace hone::tests {
namespace {

constexpr int64_t kDim = 37;

DiffProblem problem_of(const std::string& text) {
  DiffProblem p = problem(text);
  p.dims.assign(p.program.dims.size(), kDim);
  return p;
}

Printed printed(const DiffProblem& p, const std::string& schedule) {
  auto made = print(p, parsed(schedule));
  REQUIRE_MESSAGE(static_cast<bool>(made), p.text << ": " << made.failure() << "\n" << schedule);
  return *std::move(made);
}

}  // namespace

schedules::Schedule parsed(const std::string& text) {
  auto schedule = schedules::Schedule::parse(text);
  REQUIRE_MESSAGE(static_cast<bool>(schedule), text);
  return *std::move(schedule);
}

void check_all(const std::vector<ByHand>& all) {
  std::vector<DiffProblem> problems;
  for (const ByHand& row : all) problems.push_back(problem_of(row.problem));
  Batch batch;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string refused = batch.add(problems[i], parsed(all[i].schedule), all[i].narrows);
    CHECK_MESSAGE(refused.empty(), all[i].problem << ": " << refused << "\n" << all[i].schedule);
  }
  batch.check();
}

void check_refused(const std::vector<Refusal>& all) {
  for (const Refusal& r : all) {
    const auto made = print(problem(r.problem), parsed(r.schedule));
    REQUIRE_MESSAGE(!made, r.problem << ": " << r.schedule);
    CHECK_MESSAGE(made.failure().find(r.reason) != std::string::npos, made.failure());
  }
}

void check_caught(const std::string& text, const std::vector<Altered>& all) {
  const DiffProblem p = problem_of(text);
  std::vector<Printed> made;
  EmulatedCode code;
  for (const Altered& a : all) {
    made.push_back(printed(p, a.schedule));
    std::string& kernels = made.back().source.kernels;
    const size_t at = kernels.find(a.from);
    REQUIRE_MESSAGE(at != std::string::npos, a.what << "\n" << kernels);
    kernels.replace(at, a.from.size(), a.to);
    code.add(made.back().source);
  }
  const std::string refused = code.compile();
  REQUIRE_MESSAGE(refused.empty(), refused);
  Subject subject(p.text, p.program, p.dims);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string failed = subject.check(made[i].nest, [&](int launch, const int64_t* args) {
      return code.run(static_cast<int>(i), launch, args, subject.dims());
    });
    CHECK_MESSAGE(!failed.empty(), all[i].what);
  }
}

std::optional<jit::Nvrtc> compiler_at_hand() {
  auto nvrtc = jit::Nvrtc::open();
  if (nvrtc) return *std::move(nvrtc);
  MESSAGE("skipped: " << nvrtc.failure().message);
  return std::nullopt;
}

bool compiles_for(const jit::Nvrtc& nvrtc, int sm) {
  const auto known = nvrtc.architectures();
  return std::find(known.begin(), known.end(), sm) != known.end();
}

std::optional<jit::Nvrtc> compiler_for(int sm) {
  auto nvrtc = compiler_at_hand();
  if (!nvrtc || compiles_for(*nvrtc, sm)) return nvrtc;
  MESSAGE("skipped: the compiler at hand does not know sm_" << sm);
  return std::nullopt;
}

void check_compiles(const std::vector<ByHand>& all, size_t every) {
  const auto nvrtc = compiler_for(90);
  if (!nvrtc) return;
  for (size_t i = 0; i < all.size(); i += every) {
    const Printed made = printed(problem_of(all[i].problem), all[i].schedule);
    const auto binary = nvrtc->compile(made.source, 90);
    REQUIRE_MESSAGE(static_cast<bool>(binary), all[i].problem << ": " << binary.failure().message);
    CHECK_FALSE(binary->cubin.empty());
  }
}

}  // namespace hone::tests
