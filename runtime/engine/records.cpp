// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/records.h"

#include <utility>

#include "schedules/schedule.h"

namespace hone::runtime {
namespace {

/// What is wrong with a record: its texts must parse, and a good one's schedule must apply.
std::string flaw_of(const Record& r, EngineState& engine) {
  const auto target = ir::parse_target(r.key.target, {});
  if (!target) return target.failure().message;
  // Plans name nodes of graphs, which are not here.
  if (names_graph(r.key.problem)) return r.median_us > 0 ? "" : "a plan without a time";
  auto problem = engine.parse(r.key.problem);
  if (!problem) return problem.failure().message;
  if (problem->text != r.key.problem) {
    return "the problem's text is not canonical, which is `" + problem->text + "`";
  }
  // Another code generation may have known other steps.
  if (r.key.codegen != jit::kCodeGeneration) return "";
  if (!r.ok()) {
    const auto schedule = schedules::Schedule::parse(r.schedule);
    return schedule ? "" : schedule.failure().message;
  }
  const auto scheduled = schedules::apply_text(problem->program, r.schedule);
  return scheduled ? "" : scheduled.failure().message;
}

}  // namespace

std::string place_of(const Record& r) {
  return r.key.problem + " | " + r.key.target + " | " + r.schedule;
}

Result<CacheReport> take_in(EngineState& engine, std::vector<Record> records) {
  CacheReport report;
  std::erase_if(records, [&](const Record& r) {
    std::string flaw = flaw_of(r, engine);
    if (flaw.empty()) return false;
    report.flaws.push_back({place_of(r), std::move(flaw)});
    return true;
  });
  const std::string why = engine.cache->unite(records);
  if (!why.empty()) return Failure{ErrorCode::kCache, "the records are not kept: " + why};
  report.records = static_cast<int64_t>(records.size());
  return report;
}

CacheReport verify(EngineState& engine) {
  CacheReport report;
  std::string integrity = engine.cache->integrity();
  if (!integrity.empty()) report.flaws.push_back({engine.cache->path(), std::move(integrity)});
  for (const Record& r : engine.cache->all()) {
    ++report.records;
    std::string flaw = flaw_of(r, engine);
    if (!flaw.empty()) report.flaws.push_back({place_of(r), std::move(flaw)});
  }
  return report;
}

}  // namespace hone::runtime
