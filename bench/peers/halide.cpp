// SPDX-License-Identifier: Apache-2.0
// Halide on the same stages: by the steps of hone's default schedule, and by a scheduler of its
// own.
#include <cstdlib>
#include <memory>
#include <string>

#include "bench/peer.h"
#include "jit/halide/backend.h"
#include "runtime/check/frame_slots.h"
#include "runtime/fine.h"
#include "runtime/machine/host.h"
#include "schedules/schedule.h"
#include "schedules/space/space.h"

namespace hone::bench {
namespace {

/// A pipeline with its arguments.
struct HalideCall {
  HalideCall(const ir::Nest& nest, const runtime::Fixture& fixture)
      : slots(nest, fixture.dims(), fixture.scalars()), launches(nest.launches.size()) {
    slots.status(&status);
    for (size_t i = 0; i < fixture.params().size(); ++i) slots.tensor(i, fixture.params()[i].data);
  }
  bool run() const {
    for (size_t l = 0; l < launches; ++l) {
      if (!code->run(l, slots.data(), {0, 1, nullptr, nullptr})) return false;
    }
    return true;
  }

  jit::ExecutableMemory memory;
  std::shared_ptr<const jit::Executable> code;
  int64_t status = runtime::kFine;
  runtime::FrameSlots slots;
  size_t launches;
};

Prepared prepare_halide(const PeerTask& task, const char* words) {
  if (!jit::has_halide() || task.sets.size() != 1) return {};
  const runtime::Fixture& fixture = task.first;
  auto target = ir::parse_target(words, runtime::host_target());
  if (!target) return {};
  const char* threads = std::getenv("OMP_NUM_THREADS");
  if (threads) target->threads = std::max(1, std::atoi(threads));
  const ir::Program& program = fixture.problem().program;
  const auto compiled = [&](const schedules::Schedule& schedule) {
    std::shared_ptr<const jit::Code> code;
    const auto scheduled = schedules::apply(program, schedule);
    if (!scheduled) return code;
    auto made = jit::kHalideBackend.emit(*scheduled, *target, {});
    if (made) code = *std::move(made);
    return code;
  };
  auto code = compiled(schedules::default_schedule(program, *target));
  if (!code) return {};
  auto call = std::make_shared<HalideCall>(code->nest(), fixture);
  auto loaded = jit::kHalideBackend.load(code, *target, jit::Place(&call->memory));
  if (!loaded) return {};
  call->code = *std::move(loaded);
  if (!call->run()) return {};
  const jit::Report& report = call->code->report();
  return {[call](int64_t n) {
            for (int64_t i = 0; i < n; ++i) call->run();
          },
          report.schedule_us, report.compile_us};
}

std::string about_halide() { return "of this build"; }

}  // namespace

extern const Peer kHalide, kHalideAdams;
const Peer kHalide = {
    "Halide", [](const PeerTask& task) { return prepare_halide(task, "halide float=fast"); },
    about_halide};
const Peer kHalideAdams = {"Adams2019",
                           [](const PeerTask& task) {
                             return prepare_halide(task,
                                                   "halide autoschedule=adams2019 float=fast");
                           },
                           about_halide};

}  // namespace hone::bench
