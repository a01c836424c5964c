// SPDX-License-Identifier: Apache-2.0
//
// Every op of the library through the engine on a GPU, the machine's own or the emulated one, by
// the default and by random schedules, against the interpreter.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <future>
#include <map>

#include "runtime/measure/work.h"
#include "schedules/search/random_steps.h"
#include "schedules/space/space.h"
#include "tests/cuda/with_threads.h"
#include "tests/device/device_call.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

using Built = Result<std::shared_ptr<const runtime::KernelState>>;

/// Kernels that compile while others are checked.
constexpr size_t kAhead = 2;

/// A problem under a schedule, on its way.
struct Trial {
  const ops::Problem* problem;
  std::string schedule;
  std::future<Built> kernel;
};

/// The case of each op that takes the fewest operations, the first of equals.
std::vector<ops::Problem> smallest_cases(runtime::EngineState& engine) {
  std::map<std::string, std::pair<double, ops::Problem>> least;
  for (const ops::Case& c : ops::stock_library().cases) {
    if (!c.small) continue;
    auto problem = engine.parse(c.problem);
    REQUIRE_MESSAGE(static_cast<bool>(problem), c.problem);
    const auto dims = dims_to_check(problem->program);
    const double work = runtime::work_of(problem->program, dims[0], engine.target).operations;
    // Nothing to do is no trial of a schedule.
    if (work <= 0) continue;
    const std::string op = problem->op.name();
    const auto known = least.find(op);
    if (known != least.end() && known->second.first <= work) continue;
    least.insert_or_assign(op, std::pair(work, *std::move(problem)));
  }
  std::vector<ops::Problem> out;
  for (auto& [op, found] : least) out.push_back(std::move(found.second));
  return out;
}

/// The default schedule, and random ones that the number of the problem is the seed of.
std::vector<std::string> schedules_of(const ops::Problem& problem, const ir::Target& target,
                                      uint64_t number, int count) {
  std::vector<std::string> out{schedules::default_schedule(problem.program, target).text()};
  schedules::RandomSchedules random(problem.program, target, number);
  for (int i = 0; i < count; ++i) {
    schedules::Random draw(1000 * number + static_cast<uint64_t>(i));
    out.push_back(
        with_threads(problem.program, target, random.next(2 + i % 5, nullptr), draw).text());
  }
  return out;
}

/// What is wrong with the results of a kernel, or "".
std::string wrong_with(const std::shared_ptr<const runtime::KernelState>& kernel,
                       const ops::Problem& problem) {
  int number = 0;
  for (const std::vector<int64_t>& dims : dims_to_check(problem.program)) {
    for (int set = 0; set < jit::kDataSetCount; ++set, ++number) {
      std::string wrong =
          check_on_device(kernel, problem, dims, static_cast<jit::DataSet>(set), number % 2 == 1);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace

TEST_CASE("device: every op by the default and by random schedules") {
  if (!choose_device()) return;
  const auto engine = gpu_state();
  const std::vector<ops::Problem> problems = smallest_cases(*engine);
  // On a device kernels compile fast.
  const bool all = real_device();
  const auto every = static_cast<size_t>(all ? by_effort(8, 1, 1) : by_effort(24, 24, 4, 1));
  const int randoms = static_cast<int>(all ? by_effort(1, 3, 12) : by_effort(1, 1, 1, 3));
  const auto seed = static_cast<size_t>(setting("HONE_FUZZ_SEED", 0));
  int checked = 0, refused = 0;
  std::deque<Trial> trials;
  const auto finish = [&] {
    Trial t = std::move(trials.front());
    trials.pop_front();
    const Built kernel = t.kernel.get();
    const std::string repro = t.problem->text + " | " + engine->target_text + " | " + t.schedule;
    // A random schedule may ask for larger blocks than the device has.
    if (!kernel && kernel.failure().code == ErrorCode::kSchedule) {
      ++refused;
      return;
    }
    CHECK_MESSAGE(static_cast<bool>(kernel), kernel.failure().message << "\n  repro: " << repro);
    if (!kernel) return;
    const std::string wrong = wrong_with(*kernel, *t.problem);
    CHECK_MESSAGE(wrong.empty(), wrong << "\n  repro: " << repro);
    ++checked;
  };
  for (size_t i = 0; i < problems.size(); i += every) {
    for (std::string& schedule : schedules_of(problems[i], engine->target, seed + i, randoms)) {
      Trial t{&problems[i], std::move(schedule), {}};
      t.kernel = std::async(std::launch::async, [&engine, problem = t.problem, text = t.schedule] {
        return engine->compile_given(*problem, text);
      });
      trials.push_back(std::move(t));
      if (trials.size() > kAhead) finish();
    }
  }
  while (!trials.empty()) finish();
  MESSAGE(checked << " kernels of " << problems.size() << " ops on " << engine->target_text << ", "
                  << refused << " schedules refused");
  CHECK(checked > 4 * refused);
}
