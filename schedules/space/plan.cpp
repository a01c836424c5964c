// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/plan.h"

#include <algorithm>

#include "schedules/step.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {

Plan::Plan(ir::Program program, const ir::Target& target, std::vector<int> forced)
    : program_(std::move(program)), target_(&target), forced_(std::move(forced)) {}

bool Plan::add(const std::string& text) {
  auto step = parse_step(text);
  if (step) {
    Applied applied = step->row->apply(program_, fix(*step, names_, values_));
    if (applied) {
      program_ = *std::move(applied);
      schedule_.steps.push_back(*std::move(step));
      return true;
    }
    why_ = "`" + print(*step) + "` does not apply: " + applied.failure().reason;
  } else {
    why_ = "`" + text + "` is no step: " + step.failure().message;
  }
  // Knobs that the step would have defined stand nowhere.
  const auto defined = static_cast<size_t>(std::count(text.begin(), text.end(), '?'));
  names_.resize(names_.size() - defined);
  values_.resize(names_.size());
  return false;
}

bool Plan::declines(std::string reason) {
  why_ = std::move(reason);
  return false;
}

std::string Plan::knob(const std::string& name, std::vector<int64_t> domain, int64_t value) {
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) return "$" + name;
  if (std::find(domain.begin(), domain.end(), value) == domain.end()) domain.push_back(value);
  std::sort(domain.begin(), domain.end());
  domain.erase(std::unique(domain.begin(), domain.end()), domain.end());
  if (domain.size() == 1) return std::to_string(value);
  names_.push_back(name);
  values_.push_back(value);
  std::string text = "?" + name + "=";
  for (size_t i = 0; i < domain.size(); ++i) text += (i ? "|" : "") + std::to_string(domain[i]);
  return text;
}

int Plan::decide(const std::string& what, int options, int analytic) {
  const size_t at = decisions_.size();
  const int taken = at < forced_.size() ? forced_[at] : analytic;
  decisions_.push_back({what, options, taken});
  return taken;
}

void Plan::rewind(Mark mark) {
  program_ = std::move(mark.program);
  schedule_.steps.resize(mark.steps);
  names_.resize(mark.knobs);
  values_.resize(mark.knobs);
  windows_ = std::move(mark.windows);
  done_ = std::move(mark.done);
}

StageFacts Plan::facts(const std::string& name) const {
  StageFacts out = facts_of(program_, stage(name));
  const auto windows = windows_.find(name);
  if (windows == windows_.end()) return out;
  for (const auto& [var, extent] : windows->second) {
    out.extents[var] = std::min(out.extents[var], extent);
  }
  return out;
}

void Plan::set_window(const std::string& stage, const std::string& var, int64_t extent) {
  windows_[stage][var] = extent;
}

std::string Plan::loop_of(const std::string& name, const std::string& var) const {
  std::string loop = var;
  for (const ir::Relation& r : stage(name).relations) {
    if (r.parent == loop) loop = r.kind == ir::Relation::kSplit ? r.inner : r.outer;
  }
  return loop;
}

Plan::Halves Plan::split(const std::string& name, const std::string& var, const std::string& factor,
                         const std::string& tail) {
  constexpr const char* kSuffixes[][2] = {{".o", ".i"}, {".t", ".r"}, {".c", ".e"}, {".x", ".y"}};
  const std::string loop = loop_of(name, var);
  for (const auto& suffix : kSuffixes) {
    const Halves h{var + suffix[0], var + suffix[1]};
    const ir::Stage& s = stage(name);
    if (!taken_loop(s, h.outer).empty() || !taken_loop(s, h.inner).empty()) continue;
    const std::string end = tail.empty() ? "" : " tail=" + tail;
    if (add("split " + name + "/" + loop + " " + factor + " -> " + h.outer + " " + h.inner + end)) {
      return h;
    }
    break;
  }
  return {};
}

std::string Plan::again(const std::string& knob) {
  if (!knob.starts_with('?')) return knob;
  return "$" + knob.substr(1, knob.find('=') - 1);
}

std::vector<int64_t> Plan::values() const { return values_; }

int Plan::lanes(DType type) const { return std::max(1, target_->vector_bytes() / size_of(type)); }

}  // namespace hone::schedules
