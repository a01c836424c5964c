// SPDX-License-Identifier: Apache-2.0
//
// The library on a GPU, the machine's own or the emulated one, against the interpreter.
#include <doctest/doctest.h>

#include "tests/device/device_call.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// Small cases: all on a device, where kernels compile fast; of the emulated one a sample. The
/// suite `cuda` emulates all of them, in few and large units.
std::vector<std::string> cases_to_check() {
  std::vector<std::string> all;
  for (const ops::Case& c : ops::stock_library().cases) {
    if (c.small) all.push_back(c.problem);
  }
  const auto every =
      static_cast<size_t>(real_device() ? by_effort(8, 1, 1) : by_effort(24, 24, 6, 1));
  std::vector<std::string> out;
  for (size_t i = 0; i < all.size(); i += every) out.push_back(all[i]);
  return out;
}

}  // namespace

TEST_CASE("device: cases of the library by the default schedule") {
  if (!choose_device()) return;
  const auto engine = gpu_state();
  int checked = 0;
  for (const std::string& text : cases_to_check()) {
    auto problem = engine->parse(text);
    REQUIRE_MESSAGE(static_cast<bool>(problem), text);
    auto kernel = engine->compile(text, CompileOptions{});
    CHECK_MESSAGE(static_cast<bool>(kernel), text << ": " << kernel.failure().message);
    if (!kernel) continue;
    int number = checked;
    for (const std::vector<int64_t>& dims : dims_to_check(problem->program)) {
      for (int set = 0; set < jit::kDataSetCount; ++set, ++number) {
        const std::string wrong = check_on_device(*kernel, *problem, dims,
                                                  static_cast<jit::DataSet>(set), number % 2 == 1);
        CHECK_MESSAGE(wrong.empty(), wrong << "\n  repro: " << (*kernel)->repro());
      }
    }
    ++checked;
  }
  MESSAGE(checked << " cases on " << engine->target_text);
}

TEST_CASE("device: independent kernels in several streams at a time") {
  if (!choose_device()) return;
  const auto engine = gpu_state();
  auto problem = engine->parse("softmax M=7 N=130");
  REQUIRE(static_cast<bool>(problem));
  auto kernel = engine->compile(problem->text, CompileOptions{});
  REQUIRE_MESSAGE(static_cast<bool>(kernel), kernel.failure().message);
  runtime::Gpu& gpu = *engine->services->gpu();
  const runtime::UseGpu use(gpu);
  for (int round = 0; round < 4; ++round) {
    std::vector<void*> streams(3);
    for (void*& s : streams) REQUIRE(gpu.driver().stream_create(&s, 1) == 0);
    for (void* s : streams) {
      auto fixture = runtime::Fixture::create(*problem, {}, jit::DataSet::kRandom,
                                              runtime::Guard::kAfter, 1 + round);
      REQUIRE(static_cast<bool>(fixture));
      REQUIRE(static_cast<bool>(fixture->refer()));
      fixture->reset();
      const auto said = DeviceCall(*kernel, *fixture).run(s, true);
      CHECK_MESSAGE(said, (said ? "" : said.failure().message));
      auto found = fixture->compare({});
      REQUIRE(static_cast<bool>(found));
      CHECK_MESSAGE(found->ok(), found->text());
    }
    for (void* s : streams) CHECK(gpu.driver().stream_destroy(s) == 0);
  }
}
