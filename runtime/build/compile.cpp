// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile.h"

#include <utility>

#include "jit/interp/backend.h"
#include "runtime/build/backends.h"
#include "runtime/build/guard.h"
#include "schedules/legal.h"

namespace hone::runtime {
namespace {

using ir::Reject;

/// What `f` gives; where it throws, a bug of `who` is the reject, and the host goes on.
template <class F>
auto checked(const std::string& who, F f) -> decltype(f()) {
  return guarded(f, [&](const std::string& what) {
    return Reject{Reject::kBug, {ErrorCode::kInternal, "a bug of " + who + ": " + what}};
  });
}

std::string named(const jit::Backend& backend) {
  return "the back end " + std::string(backend.name);
}

Result<schedules::Scheduled, Reject> applied(const ir::Program& program,
                                             const std::string& schedule) {
  auto scheduled = schedules::apply_text(program, schedule);
  if (!scheduled) return Reject{Reject::kIllegal, scheduled.failure()};
  return *std::move(scheduled);
}

}  // namespace

Result<Compiled, Reject> compile_schedule(const ir::Program& program, const ir::Target& target,
                                          const std::string& schedule,
                                          const BuildOptions& options) {
  auto scheduled = checked("the steps", [&] { return applied(program, schedule); });
  if (!scheduled) return scheduled.failure();
  return compile_scheduled(*std::move(scheduled), target, options);
}

Result<Compiled, Reject> compile_scheduled(schedules::Scheduled scheduled, const ir::Target& target,
                                           const BuildOptions& options) {
  const auto legal = checked("the check of schedules", [&]() -> Result<Done, Reject> {
    if (auto wrong = schedules::find_illegal(scheduled.program)) return *std::move(wrong);
    return Done{};
  });
  if (!legal) return legal.failure();
  Compiled compiled{scheduled.schedule.text(), std::move(scheduled.program), nullptr, nullptr, {}};
  compiled.backend = options.backend ? options.backend : &backend_of(target);
  jit::EmitOptions asked = options;
  asked.nest = std::move(scheduled.nest);
  const auto emit = [&] {
    return checked(named(*compiled.backend),
                   [&] { return compiled.backend->emit(compiled.scheduled, target, asked); });
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
  return checked(named(*compiled.backend),
                 [&] { return compiled.backend->load(compiled.code, target, place); });
}

}  // namespace hone::runtime
