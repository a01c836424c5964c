// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/candidates.h"

#include <algorithm>

#include "runtime/build/compile.h"
#include "schedules/model/model.h"
#include "schedules/numerics.h"

namespace hone::runtime {
namespace {

/// Chosen: the estimate's error, with room; a space that is soon tried (not measured).
constexpr double kFarFetched = 12;  // times the cheapest by estimate: not worth a trial
constexpr size_t kSmallSpace = 64;  // points, which are all tried

bool has_few_points(const std::vector<schedules::Space>& spaces) {
  size_t all = 0;
  for (const schedules::Space& s : spaces) {
    size_t n = 1;
    for (const schedules::Knob& k : schedules::knobs(s.schedule)) {
      if (n <= kSmallSpace) n *= k.values.size();
    }
    all += n;
  }
  return all <= kSmallSpace;
}

}  // namespace

Candidates::Candidates(const TuneJob& job)
    : job_(job), spaces_(schedules::derive_space(job.problem.program, job.target)) {
  untuned_ = schedules::default_schedule(job.problem.program, job.target).text();
  for (const Record& r : job.cache.quarantine(job.key)) quarantined_.insert(r.schedule);
  add_fallback();
  if (!allowed(untuned_)) untuned_.clear();
  small_ = has_few_points(spaces_);
  for (size_t s = 0; s < spaces_.size(); ++s) {
    const schedules::Candidate analytic{static_cast<int>(s), spaces_[s].values};
    const std::string text = text_of(analytic);
    const double cycles = allowed(text) && compiles(text) ? estimate(text) : kInfinite;
    if (cheapest_ == 0 || cycles < cheapest_) cheapest_ = cycles;
  }
}

/// True where the schedule gives code; of a GPU's the source, since its compiler takes long.
bool Candidates::compiles(const std::string& schedule) const {
  // A bug is told where a worker meets it.
  return static_cast<bool>(compile_schedule(job_.problem.program, job_.target, schedule));
}

/// Where the back end refuses the analytic structure, the one that serves instead is searched too.
void Candidates::add_fallback() {
  if (job_.target.is_cuda() || job_.target.vector_bytes() == 0 || compiles(untuned_)) return;
  const schedules::Schedule fallback = schedules::fallback_schedule(
      job_.problem.program, job_.target,
      [&](const schedules::Schedule& s) { return allowed(s.text()) && compiles(s.text()); });
  untuned_ = fallback.text();
  if (!fallback.steps.empty()) spaces_.push_back({fallback, {}});
}

size_t Candidates::most_knobs() const {
  size_t most = 0;
  for (const auto& s : spaces_) most = std::max(most, s.values.size());
  return most;
}

std::string Candidates::text_of(const schedules::Candidate& c) const {
  return schedules::fix(spaces_[static_cast<size_t>(c.space)].schedule, c.values).text();
}

bool Candidates::in_quarantine(const std::string& schedule) const {
  return quarantined_.count(schedule) != 0;
}

bool Candidates::allowed(const std::string& schedule) const {
  if (in_quarantine(schedule)) return false;
  const std::string& pinned = job_.problem.numerics;
  if (pinned == "any") return true;
  auto parsed = schedules::Schedule::parse(schedule);
  if (!parsed) return false;
  auto program = schedules::apply(job_.problem.program, *parsed);
  return program &&
         schedules::admits(pinned, schedules::numerics_class(job_.problem.program, *program));
}

double Candidates::estimate(const std::string& schedule) const {
  auto parsed = schedules::Schedule::parse(schedule);
  if (!parsed) return kInfinite;
  auto program = schedules::apply(job_.problem.program, *parsed);
  return program ? schedules::estimate(*program, job_.target, job_.weights) : kInfinite;
}

double Candidates::cost(const schedules::Candidate& c, const std::string& text) {
  auto known = costs_.find(c);
  if (known == costs_.end()) {
    double cycles = allowed(text) ? estimate(text) : kInfinite;
    if (cycles > kFarFetched * cheapest_) cycles = kInfinite;
    known = costs_.emplace(c, cycles).first;
  }
  return known->second;
}

}  // namespace hone::runtime
