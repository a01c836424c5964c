// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/tune/tune.h"
#include "schedules/search/search.h"

namespace hone::runtime {

/// The time of a schedule that was refused or wrong.
inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// The schedules that a run may try: the spaces, their estimates, and those in quarantine.
class Candidates {
 public:
  /// Derives the spaces of the job's problem. `job` must outlive this.
  explicit Candidates(const TuneJob& job);

  const std::vector<schedules::Space>& spaces() const { return spaces_; }
  /// The untuned schedule; empty where it is not allowed.
  const std::string& untuned() const { return untuned_; }
  /// Few enough points, all spaces together, to try them all.
  bool is_small() const { return small_; }
  /// The most knobs that a space has.
  size_t most_knobs() const;
  /// The schedule of a point.
  std::string text_of(const schedules::Candidate& c) const;
  /// False in quarantine, and for another numerics class than the problem pins.
  bool allowed(const std::string& schedule) const;
  /// Is the schedule in quarantine?
  bool in_quarantine(const std::string& schedule) const;
  /// Puts the schedule into quarantine.
  void quarantine(const std::string& schedule) { quarantined_.insert(schedule); }
  /// Estimated cycles of a schedule; infinite where it does not apply or lower.
  double estimate(const std::string& schedule) const;
  /// Estimated cycles of a point whose schedule is `text`; infinite where it is not worth a trial.
  double cost(const schedules::Candidate& c, const std::string& text);

 private:
  bool compiles(const std::string& schedule) const;
  void add_fallback();

  const TuneJob& job_;
  std::vector<schedules::Space> spaces_;
  std::unordered_set<std::string> quarantined_;
  std::string untuned_;
  bool small_ = false;
  std::map<schedules::Candidate, double> costs_;  ///< estimates so far
  double cheapest_ = 0;                           ///< the lowest estimate of an analytic choice
};

}  // namespace hone::runtime
