// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/plan.h"

#include <algorithm>

#include "jit/ir/recurrence.h"
#include "schedules/step.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {

Plan::Plan(ir::Program program, const ir::Target& target, LaunchTrials& trials,
           std::vector<int> forced)
    : program_(std::move(program)),
      target_(&target),
      trials_(&trials),
      machine_(ir::machine_of(target)),
      forced_(std::move(forced)),
      recurs_(ir::has_recurrence(program_)) {}

bool Plan::add(Step step) {
  Applied applied = step.row->apply(program_, fix(step, names_, values_));
  if (applied && recurs_) {
    if (auto broken = ir::broken_order(*applied)) applied = *std::move(broken);
  }
  if (applied) {
    change(*std::move(applied));
    schedule_.steps.push_back(std::move(step));
    return true;
  }
  why_ = "`" + print(step) + "` does not apply: " + applied.failure().reason;
  // Knobs that the step would have defined stand nowhere.
  for (const Number* number : step.numbers()) {
    for (const Factor& f : number->factors) {
      const auto at = std::find(names_.begin(), names_.end(), f.name);
      if (f.kind != Factor::kKnob || at == names_.end()) continue;
      values_.erase(values_.begin() + (at - names_.begin()));
      names_.erase(at);
    }
  }
  return false;
}

bool Plan::add_together(const std::vector<Step>& steps) {
  ir::Program made = program_;
  const auto refused = [&](const Step& step, const std::string& reason) {
    return declines("`" + print(step) + "` does not apply: " + reason);
  };
  for (const Step& step : steps) {
    Applied applied = step.row->apply(std::move(made), step);
    if (!applied) return refused(step, applied.failure().reason);
    made = *std::move(applied);
  }
  if (auto broken = recurs_ ? ir::broken_order(made) : std::nullopt) {
    return refused(steps.back(), broken->reason);
  }
  change(std::move(made));
  schedule_.steps.insert(schedule_.steps.end(), steps.begin(), steps.end());
  return true;
}

bool Plan::declines(std::string reason) {
  why_ = std::move(reason);
  return false;
}

Number Plan::knob(const std::string& name, std::vector<int64_t> domain, int64_t value) {
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
    return Number::reference(name);
  }
  if (std::find(domain.begin(), domain.end(), value) == domain.end()) domain.push_back(value);
  std::sort(domain.begin(), domain.end());
  domain.erase(std::unique(domain.begin(), domain.end()), domain.end());
  if (domain.size() == 1) return value;
  names_.push_back(name);
  values_.push_back(value);
  return Number::knob(name, std::move(domain));
}

int Plan::decide(const std::string& what, int options, int analytic) {
  const size_t at = decisions_.size();
  const int taken = at < forced_.size() ? forced_[at] : analytic;
  decisions_.push_back({what, options, taken});
  return taken;
}

/// Steps make new stages and buffers of what they change, and share the others with the program
/// before.
bool Plan::keeps_facts(const std::string& name, const StageFacts& facts,
                       const ir::Program& changed) const {
  const ir::Stage* s = program_.stage(name);
  const auto same = [&](const Access& a) {
    const ir::Buffer* b = program_.buffer(a.buffer);
    return b && b == changed.buffer(a.buffer);
  };
  return s && s == changed.stage(name) && same(facts.store) &&
         std::all_of(facts.loads.begin(), facts.loads.end(), same);
}

void Plan::change(ir::Program program) {
  std::erase_if(
      facts_, [&](const auto& known) { return !keeps_facts(known.first, known.second, program); });
  program_ = std::move(program);
}

void Plan::rewind(Mark mark) {
  change(std::move(mark.program));
  schedule_.steps.resize(mark.steps);
  names_.resize(mark.knobs);
  values_.resize(mark.knobs);
  if (windows_ != mark.windows) facts_.clear();
  windows_ = std::move(mark.windows);
  done_ = std::move(mark.done);
}

const StageFacts& Plan::facts(const std::string& name) const {
  const auto known = facts_.find(name);
  if (known != facts_.end()) return known->second;
  StageFacts out = facts_of(program_, stage(name), target_->is_cuda());
  if (const auto windows = windows_.find(name); windows != windows_.end()) {
    for (const auto& [var, extent] : windows->second) {
      out.extents[var] = std::min(out.extents[var], extent);
    }
  }
  return facts_.emplace(name, std::move(out)).first->second;
}

Result<Work, ir::Reject> Plan::work_of(const std::string& launch) const {
  return trials_->work_of(program_, *target_, launch, fix(schedule_, values_).text());
}

void Plan::set_window(const std::string& stage, const std::string& var, int64_t extent) {
  windows_[stage][var] = extent;
  facts_.erase(stage);
}

std::string Plan::loop_of(const std::string& name, const std::string& var) const {
  std::string loop = var;
  for (const ir::Relation& r : stage(name).relations) {
    if (r.parent == loop) loop = r.kind == ir::Relation::kSplit ? r.inner : r.outer;
  }
  return loop;
}

Plan::Halves Plan::split(const std::string& name, const std::string& var, Number factor,
                         ir::Tail tail) {
  constexpr const char* kSuffixes[][2] = {{".o", ".i"}, {".t", ".r"}, {".c", ".e"}, {".x", ".y"}};
  const std::string loop = loop_of(name, var);
  for (const auto& suffix : kSuffixes) {
    const Halves h{var + suffix[0], var + suffix[1]};
    const ir::Stage& s = stage(name);
    if (!taken_loop(s, h.outer).empty() || !taken_loop(s, h.inner).empty()) continue;
    if (add(step::split({name, loop}, std::move(factor), h.outer, h.inner, tail))) return h;
    return {};
  }
  declines("loop " + loop + " is cut as often as there are names for it");
  return {};
}

std::string Plan::fresh_stage(std::string name) const {
  while (!taken_stage(program_, name).empty()) name += name.back();
  return name;
}

std::vector<int64_t> Plan::values() const { return values_; }

int Plan::lanes(DType type) const { return std::max(1, machine_.vector_bytes / size_of(type)); }

}  // namespace hone::schedules
