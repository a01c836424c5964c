// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/align.h"

#include <algorithm>
#include <set>

namespace hone::schedules {

std::map<std::string, std::string> alignment(const ir::Stage& producer, const ir::Stage& consumer) {
  std::map<std::string, std::string> out;
  const std::vector<ir::Expr> loads = loads_of(consumer, producer.output);
  for (size_t d = 0; d < producer.out_index.size() && !loads.empty(); ++d) {
    const std::string own = plain_var(producer.out_index[d]);
    const std::string theirs = plain_var(loads[0]->args[d]);
    bool same = !own.empty() && !theirs.empty() && producer.var(own) && consumer.var(theirs);
    for (const ir::Expr& load : loads) {
      same = same && !load->guarded && plain_var(load->args[d]) == theirs;
    }
    if (same) out[own] = theirs;
  }
  return out;
}

namespace {

/// True when all variables of the producer follow variables of the consumer, each another one.
bool follow_apart(const std::map<std::string, std::string>& follows, const ir::Stage& producer) {
  if (follows.size() != producer.vars.size() || follows.size() != producer.out_index.size()) {
    return false;
  }
  std::set<std::string> followed;
  return std::all_of(follows.begin(), follows.end(),
                     [&](const auto& pair) { return followed.insert(pair.second).second; });
}

}  // namespace

bool pointwise(const ir::Stage& producer, const ir::Stage& consumer) {
  const auto follows = alignment(producer, consumer);
  return follow_apart(follows, producer) &&
         std::none_of(follows.begin(), follows.end(),
                      [&](const auto& pair) { return consumer.is_reduction_var(pair.second); });
}

bool makes_terms(const ir::Stage& producer, const ir::Stage& consumer) {
  return !consumer.rvars.empty() &&
         producer.vars.size() == consumer.vars.size() + consumer.rvars.size() &&
         follow_apart(alignment(producer, consumer), producer);
}

std::string follower(const std::map<std::string, std::string>& alignment, const std::string& var) {
  for (const auto& [own, theirs] : alignment) {
    if (theirs == var) return own;
  }
  return {};
}

int64_t repeats(const std::map<std::string, std::string>& alignment, const ir::Stage& consumer,
                const StageFacts& facts) {
  int64_t times = 1;
  for (const ir::IndexVar& v : consumer.vars) {
    if (!follower(alignment, v.name).empty()) continue;
    times = saturating_product(times, std::max<int64_t>(facts.extent(v.name), 1));
  }
  return times;
}

}  // namespace hone::schedules
