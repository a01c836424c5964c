// SPDX-License-Identifier: Apache-2.0
#include "schedules/search/variety.h"

#include <algorithm>
#include <set>

#include "jit/passes/lower.h"
#include "schedules/search/random_steps.h"
#include "schedules/search/sampling.h"

namespace hone::schedules {
namespace {

/// Fixed by: time.
constexpr size_t kDrawsEach = 12;  // for each schedule wanted

/// What was drawn so far.
class Drawn {
 public:
  Drawn(const ir::Program& program, const ir::Target& target)
      : program_(program), target_(target) {}

  void add(const Schedule& s) {
    std::string text = s.text();
    if (!seen_.insert(text).second) return;
    const auto applied = apply(program_, s);
    if (applied && jit::lower(*applied, target_)) texts_.push_back(std::move(text));
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  const ir::Program& program_;
  const ir::Target& target_;
  std::set<std::string> seen_;
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<std::string> variety(const ir::Program& program, const ir::Target& target, size_t count,
                                 uint64_t seed) {
  const std::vector<Space> spaces = derive_space(program, target);
  const SearchInput input{spaces, seed, {}, {}};
  Sampler sampler(input);
  RandomSchedules steps(program, target, seed);
  Drawn drawn(program, target);
  for (size_t s = 0; s < spaces.size() && drawn.texts().size() < count / 3; ++s) {
    drawn.add(spaces[s].analytic());
  }
  for (size_t draw = 0; draw < kDrawsEach * count && drawn.texts().size() < count; ++draw) {
    const Candidate c = sampler.any();
    const Space& space = spaces[static_cast<size_t>(c.space)];
    drawn.add(draw % 2 == 0 ? fix(space.schedule, c.values) : steps.vary(space.analytic()));
  }
  return drawn.texts();
}

}  // namespace hone::schedules
