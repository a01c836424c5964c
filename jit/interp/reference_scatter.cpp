// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/reference_scatter.h"

#include <algorithm>

namespace hone::jit {

using ir::Expr;

ScatteredTerms::ScatteredTerms(RefState& state, int stage, std::vector<std::string> names,
                               RangeOf range_of)
    : state_(state), stage_(stage), names_(std::move(names)), range_of_(std::move(range_of)) {
  const ir::Stage& s = state.program->stages[static_cast<size_t>(stage)];
  scattered_ = ir::scattered_vars(s);
  if (scattered_.empty()) {
    known_ = false;
    return;
  }
  for (const ir::ScatteredVar& v : scattered_) extent_.push_back(state.extent(s.var(v.var)->hi));
  const auto told = [&](const std::string& name) {
    return std::any_of(scattered_.begin(), scattered_.end(),
                       [&](const ir::ScatteredVar& v) { return v.var == name; });
  };
  for (size_t i = 0; i < s.vars.size(); ++i) {
    const std::string& name = names_[i];
    bool used = false;
    for (const ir::ScatteredVar& v : scattered_) used |= ir::mentions_var(v.at, name);
    for (const ir::IndexVar& r : s.rvars) {
      used |= (r.lo && ir::mentions_var(r.lo, name)) || ir::mentions_var(r.hi, name);
    }
    // An element that another element's index decides on is of no stage that statements make.
    if (used && told(name)) known_ = false;
    if (!used || told(name)) continue;
    given_.push_back(static_cast<int>(i));
    extent_.push_back(state.extent(s.vars[i].hi));
  }
  loops_ = given_;
  for (size_t i = s.vars.size(); i + 1 < names_.size(); ++i) loops_.push_back(static_cast<int>(i));
  env_.resize(names_.size());
}

bool ScatteredTerms::known() {
  if (!known_) find();
  return *known_;
}

bool ScatteredTerms::decides(int slot) const {
  const std::string& name = names_[static_cast<size_t>(slot)];
  return std::find(given_.begin(), given_.end(), slot) != given_.end() ||
         std::any_of(scattered_.begin(), scattered_.end(),
                     [&](const ir::ScatteredVar& v) { return v.var == name; });
}

/// Adds a variable to the row-major number of an element; -1: it is none of the result's.
int64_t ScatteredTerms::place(int64_t key, size_t variable, int64_t value) const {
  const int64_t extent = extent_[variable];
  return key < 0 || value < 0 || value >= extent ? -1 : key * extent + value;
}

void ScatteredTerms::find() {
  known_ = true;
  std::vector<Expr> at;
  for (const ir::ScatteredVar& v : scattered_) at.push_back(v.at);
  to_ = make_tape(state_, stage_, {names_, names_.back()}, at);
  over(0);
  if (!*known_) terms_.clear();
}

void ScatteredTerms::over(size_t k) {
  const int slot = k < loops_.size() ? loops_[k] : static_cast<int>(names_.size()) - 1;
  const auto range = range_of_(slot, env_.data());
  if (!range) known_ = false;
  if (k == loops_.size()) return over_last(to_);
  for (int64_t x = range ? range->first : 0; *known_ && x < range->second; ++x) {
    env_[static_cast<size_t>(slot)] = x;
    over(k + 1);
  }
}

/// Terms of the last reduced variable, as many at a time as a tape takes.
void ScatteredTerms::over_last(RefTape& to) {
  if (!*known_) return;
  const auto [begin, end] = *range_of_(static_cast<int>(names_.size()) - 1, env_.data());
  int64_t lanes[kLanes];
  for (int64_t x = begin; x < end && *known_; x += kLanes) {
    const int n = static_cast<int>(std::min<int64_t>(kLanes, end - x));
    for (int l = 0; l < n; ++l) lanes[l] = x + l;
    to.run(state_, env_.data(), lanes, n);
    if (to.frame.any_poison) known_ = false;
    for (int l = 0; l < n; ++l) {
      int64_t key = 0;
      for (size_t v = 0; v < scattered_.size(); ++v) {
        key = place(key, v, to.frame.i(to.results[v])[l]);
      }
      for (size_t v = 0; v < given_.size(); ++v) {
        key = place(key, scattered_.size() + v, env_[static_cast<size_t>(given_[v])]);
      }
      if (key < 0) continue;
      std::vector<int64_t>& terms = terms_[key];
      for (size_t v = given_.size(); v < loops_.size(); ++v) {
        terms.push_back(env_[static_cast<size_t>(loops_[v])]);
      }
      terms.push_back(lanes[l]);
    }
  }
}

std::span<const int64_t> ScatteredTerms::of(const int64_t* env) const {
  int64_t key = 0;
  size_t variable = 0;
  for (const ir::ScatteredVar& v : scattered_) {
    const auto slot = std::find(names_.begin(), names_.end(), v.var) - names_.begin();
    key = place(key, variable++, env[slot]);
  }
  for (const int slot : given_) key = place(key, variable++, env[slot]);
  const auto found = terms_.find(key);
  return found == terms_.end() ? std::span<const int64_t>() : found->second;
}

}  // namespace hone::jit
