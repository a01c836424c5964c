// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/candidate.h"

#include <chrono>

#include "jit/passes/barriers.h"
#include "jit/passes/lower.h"
#include "runtime/device/forms.h"
#include "schedules/schedule.h"

namespace hone::runtime {
namespace {

/// A problem under a schedule, lowered.
struct Lowered {
  ir::Program program;
  ir::Nest nest;
};

Result<Lowered, Refused> lowered(const ops::Problem& problem, const ir::Target& target,
                                 const std::string& schedule) {
  auto parsed = schedules::Schedule::parse(schedule);
  if (!parsed) return Refused{parsed.failure().message};
  auto program = schedules::apply(problem.program, *parsed);
  if (!program) return Refused{schedules::objections(problem.program, *parsed)};
  auto nest = jit::lower(*program, target);
  if (!nest) return Refused{nest.failure().message};
  return Lowered{*std::move(program), *std::move(nest)};
}

Result<jit::CudaSource, Refused> source_of(ir::Nest* nest, const ir::Target& target) {
  *nest = jit::with_barriers(std::move(*nest));
  const auto forms = cuda_forms();
  if (!forms) return Refused{forms.failure().message};
  auto source = jit::print_cuda(*nest, target, *forms);
  if (!source) return Refused{source.failure().message};
  return *std::move(source);
}

Result<Candidate, Refused> build_for_gpu(Lowered lowered, const ir::Target& target,
                                         const CandidatePlace& place) {
  auto source = source_of(&lowered.nest, target);
  if (!source) return source.failure();
  const auto code = place.compiler->compile(*source, place.gpu->facts().sm, target.ptx);
  if (!code) return Refused{code.failure().message};
  auto program = GpuProgram::load(place.gpu, *source, code->binary);
  if (!program) return Refused{program.failure().message};
  Candidate c;
  c.edges = tile_edges(lowered.program);
  c.nest = std::move(lowered.nest);
  c.program = *std::move(program);
  c.code.report.code_bytes = c.program->code_bytes();
  for (const GpuLaunch& l : c.program->launches()) {
    c.code.report.spills = std::max(c.code.report.spills, static_cast<int>(l.local_bytes / 4));
  }
  return c;
}

Result<Candidate, Refused> build_for_cpu(Lowered lowered, const ir::Target& target,
                                         jit::ExecutableMemory& memory) {
  auto code = jit::compile_x86(lowered.nest, target);
  if (!code) return Refused{code.failure().message};
  auto span = memory.add(code->bytes);
  if (!span) return Refused{span.failure().message};
  Candidate c;
  c.edges = tile_edges(lowered.program);
  c.nest = std::move(lowered.nest);
  c.code = *std::move(code);
  c.span = *span;
  for (const jit::CodeLaunch& l : c.code.launches) {
    c.functions.push_back(reinterpret_cast<LaunchFunction>(
        reinterpret_cast<uintptr_t>(c.span.data) + static_cast<uintptr_t>(l.entry)));
  }
  return c;
}

}  // namespace

Result<Candidate, Refused> build_candidate(const ops::Problem& problem, const ir::Target& target,
                                           const std::string& schedule,
                                           const CandidatePlace& place) {
  const auto start = std::chrono::steady_clock::now();
  auto ready = lowered(problem, target, schedule);
  if (!ready) return ready.failure();
  auto made = place.gpu ? build_for_gpu(*std::move(ready), target, place)
                        : build_for_cpu(*std::move(ready), target, *place.memory);
  if (!made) return made;
  made->place = place;
  made->jit_us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  return made;
}

void compile_ahead(const ops::Problem& problem, const ir::Target& target,
                   const std::string& schedule, const CandidatePlace& place) {
  if (!place.gpu) return;
  auto ready = lowered(problem, target, schedule);
  if (!ready) return;
  auto source = source_of(&ready->nest, target);
  if (source) place.compiler->ahead(*std::move(source), place.gpu->facts().sm, target.ptx);
}

void release(Candidate& candidate) {
  if (candidate.span.data) candidate.place.memory->release(candidate.span);
  candidate.span = {};
  candidate.program.reset();
}

}  // namespace hone::runtime
