// SPDX-License-Identifier: Apache-2.0
// How candidates are timed on a GPU, which is the emulated one: on which data, from when on, and
// how the data are made.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "jit/cuda/driver.h"
#include "jit/ir/poly.h"
#include "runtime/device/backend.h"
#include "runtime/worker/session.h"
#include "tests/cuda/on_gpu.h"

using namespace hone;
using namespace hone::runtime;
using namespace hone::tests;
using ir::Reject;

namespace {

/// Launches that found other than whole numbers in the first input, in order.
std::vector<bool> fractions_seen;

/// A program that looks at its first input before each launch.
class Looks final : public jit::Executable {
 public:
  Looks(std::shared_ptr<const jit::Executable> inner, int slot, size_t elements)
      : inner_(std::move(inner)), slot_(static_cast<size_t>(slot)), elements_(elements) {}
  Result<Done> run(size_t launch, const int64_t* slots, const jit::Part& part) const override {
    std::vector<float> values(elements_);
    auto driver = jit::CudaDriver::open();
    if (!driver) return driver.failure();
    const auto address = static_cast<uint64_t>(slots[slot_]);
    (*driver)->to_host(values.data(), address, elements_ * sizeof(float));
    fractions_seen.push_back(
        std::any_of(values.begin(), values.end(), [](float v) { return v != std::trunc(v); }));
    return inner_->run(launch, slots, part);
  }

 private:
  std::shared_ptr<const jit::Executable> inner_;
  size_t slot_, elements_;
};

Result<std::shared_ptr<const jit::Executable>, Reject> load_and_look(
    std::shared_ptr<const jit::Code> code, const ir::Target& target, const jit::Place& place) {
  const auto& buffers = code->nest().buffers;
  const auto input = std::find_if(buffers.begin(), buffers.end(), [](const ir::NestBuffer& b) {
    return b.home == ir::Home::kArgument;
  });
  const auto elements = static_cast<size_t>(ir::Poly::of(input->elements).value().value_or(0));
  const int slot = input->slot;
  auto loaded = kCudaBackend.load(std::move(code), target, place);
  if (!loaded) return loaded.failure();
  return std::shared_ptr<const jit::Executable>(
      std::make_shared<Looks>(*std::move(loaded), slot, elements));
}

const jit::Backend kLooking = {"looking", kCudaBackend.takes, kCudaBackend.emit, load_and_look};

int threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

}  // namespace

TEST_CASE("device timing: on random reals, as tensor cores draw less power on whole numbers") {
  const OnGpu gpu;
  auto session = Session::open("relu N=700", "cuda sm=90", 0, false);
  REQUIRE_MESSAGE(session, session.failure().message);
  (*session)->use_backend(&kLooking);
  fractions_seen.clear();
  const Verdict checked = (*session)->try_schedule("", {.samples = 0});
  REQUIRE_MESSAGE(checked.word == "ok", checked.note);
  const size_t checks = fractions_seen.size();
  // Whole numbers are among the data that it is checked on.
  CHECK(std::count(fractions_seen.begin(), fractions_seen.end(), false) > 0);
  const Verdict timed = (*session)->try_schedule("", {.samples = 2, .sample_us = 50});
  REQUIRE_MESSAGE(timed.word == "ok", timed.note);
  REQUIRE(fractions_seen.size() > checks);
  CHECK(std::all_of(fractions_seen.begin() + static_cast<std::ptrdiff_t>(checks),
                    fractions_seen.end(), [](bool fractions) { return fractions; }));
}

TEST_CASE("device timing: samples begin when the clock has settled") {
  // Of the ramp's launches three check; each is slower by 25 us than the next. Five runs of warm-up
  // would leave samples of 750 us in each attempt, where a busy machine leaves some in one.
  double first_us = INFINITY;
  double median_us = INFINITY;
  for (int attempt = 0; attempt < 5 && std::max(first_us, median_us) >= 400; ++attempt) {
    const OnGpu gpu({{"HONE_GPU_RAMP", std::to_string(OnGpu::count("launches") + 40)}});
    auto session = Session::open("relu N=70", "cuda sm=90", 0, false);
    REQUIRE_MESSAGE(session, session.failure().message);
    const Verdict v = (*session)->try_schedule("", {.samples = 3, .sample_us = 10});
    REQUIRE_MESSAGE(v.word == "ok", v.note);
    REQUIRE(v.samples_us.size() == 3);
    first_us = v.samples_us[0], median_us = v.median_us;
  }
  CHECK(first_us < 400);
  CHECK(median_us < 400);
}

TEST_CASE("device timing: data sets are made on threads of their own") {
  const OnGpu gpu;
  const int before = threads_of_this_process();
  int most = 0;
  auto session = Session::open("relu N=2000000", "cuda sm=90", 0, false,
                               [&] { most = std::max(most, threads_of_this_process()); });
  REQUIRE_MESSAGE(session, session.failure().message);
  // The emulated GPU has one as well.
  CHECK_MESSAGE(most >= before + 1 + 2, before << " threads, then " << most);
}
