// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile.h"

#include <utility>

#include "jit/interp/backend.h"
#include "runtime/build/backends.h"
#include "schedules/legal.h"

namespace hone::runtime {
namespace {

using ir::Reject;

/// What `f` gives; an assertion that fails in a back end is its bug, and no reason for the host to
/// fall.
template <class F>
auto guarded(const jit::Backend& backend, F f) -> decltype(f()) {
  try {
    return f();
  } catch (const InternalError& bug) {
    return Reject{Reject::kBug,
                  {ErrorCode::kInternal,
                   "a bug of the back end " + std::string(backend.name) + ": " + bug.what()}};
  }
}

}  // namespace

Result<Compiled, Reject> compile_schedule(const ir::Program& program, const ir::Target& target,
                                          const std::string& schedule,
                                          const BuildOptions& options) {
  const auto steps = schedules::Schedule::parse(schedule);
  if (!steps) return Reject{Reject::kIllegal, steps.failure()};
  auto scheduled = schedules::apply(program, *steps);
  if (!scheduled) {
    return Reject{Reject::kIllegal, {ErrorCode::kSchedule, schedules::objections(program, *steps)}};
  }
  return compile_scheduled({*steps, *std::move(scheduled)}, target, options);
}

Result<Compiled, Reject> compile_scheduled(schedules::Scheduled scheduled, const ir::Target& target,
                                           const BuildOptions& options) {
  if (const auto wrong = schedules::find_illegal(scheduled.program)) {
    return *wrong;
  }
  Compiled compiled{scheduled.schedule.text(), std::move(scheduled.program), nullptr, nullptr, {}};
  compiled.backend = options.backend ? options.backend : &backend_of(target);
  const auto emit = [&] {
    return guarded(*compiled.backend,
                   [&] { return compiled.backend->emit(compiled.scheduled, target, options); });
  };
  if (options.interpret && !target.is_cuda()) compiled.backend = &jit::kInterpBackend;
  auto code = emit();
  if (!code && !options.refusal_rejects && jit::kInterpBackend.takes(target)) {
    compiled.refusal = code.failure().text();
    compiled.backend = &jit::kInterpBackend;
    code = emit();
  }
  if (!code) return code.failure();
  compiled.code = *std::move(code);
  return compiled;
}

Result<std::shared_ptr<const jit::Executable>, Reject> load(const Compiled& compiled,
                                                            const ir::Target& target,
                                                            const jit::Place& place) {
  return guarded(*compiled.backend,
                 [&] { return compiled.backend->load(compiled.code, target, place); });
}

}  // namespace hone::runtime
