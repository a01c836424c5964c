// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/windows_apart.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/measure/domain.h"
#include "schedules/steps/build.h"

namespace hone::runtime {
namespace {

/// Terms that a stage combines, or values that it computes.
double terms_of(const ir::Program& program, const std::string& stage,
                std::span<const int64_t> dims) {
  return Domain(program, *program.stage(stage), dims).points();
}

/// The program with the windows of `stage` taken apart into `partial` where that is cheapest;
/// nothing where no index is worth it.
std::optional<ir::Program> taken_apart(const ir::Program& program, const std::string& stage,
                                       const std::string& partial, std::span<const int64_t> dims) {
  std::optional<ir::Program> best;
  double least = terms_of(program, stage, dims);
  for (const ir::IndexVar& v : program.stage(stage)->rvars) {
    const schedules::Step step = schedules::step::separate({stage, v.name}, partial);
    auto apart = step.row->apply(program, step);
    if (!apart) continue;
    const double terms = terms_of(*apart, stage, dims) + terms_of(*apart, partial, dims);
    if (terms >= least) continue;
    least = terms;
    best = *std::move(apart);
  }
  return best;
}

}  // namespace

ir::Program with_windows_apart(ir::Program program, std::span<const int64_t> dims) {
  std::vector<std::string> names;
  for (const ir::Stage& s : program.stages) {
    if (s.rvars.size() > 1) names.push_back(s.name);
  }
  while (!names.empty()) {
    const std::string name = names.back(), partial = name + ".w";
    names.pop_back();
    if (program.stage(name)->rvars.size() < 2) continue;
    auto apart = taken_apart(program, name, partial, dims);
    if (!apart) continue;
    program = *std::move(apart);
    names.push_back(partial);
  }
  return program;
}

}  // namespace hone::runtime
