// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/ir/program.h"
#include "schedules/steps/reduction_parts.h"

namespace hone::schedules {

/// `fn(scale * (a - m))`, where m is the greatest of all a: never more than 1. If m becomes
/// another number, all such terms change by one factor.
struct Exponential {
  const ir::Function* fn = nullptr;  ///< exp or exp2
  ir::Expr scale = {};               ///< a constant above 0; null: 1
  std::vector<ir::Expr> index = {};  ///< of m, in variables of the stage that has the term
  std::string var = {};              ///< the stage's variable that m is reduced over
};

/// A stage that depends on the results of a max reduction in no other way than by exponentials.
struct Dependent {
  size_t stage = 0;
  Exponential term = {};
};

/// What depends on the max reduction of one stage, and may be computed before it is known.
struct Dependents {
  std::vector<Dependent> factors = {};  ///< stages without reduction, which the sums read
  std::vector<Dependent> sums = {};
  std::string why = {};  ///< where there is no sum: what is wrong with the first one looked at
};

/// Finds the sums of terms that are multiples of an exponential, by their form alone.
Dependents dependents_of(const ir::Program& p, size_t max_stage, const std::string& var);

/// The stages that read `buffer`, and those that read what they write, and so on.
std::vector<bool> that_depend_on(const ir::Program& p, const std::string& buffer);

/// The same value of `s` with a part's greatest in place of the greatest of all. `part`: which part
/// it is; `factor`, by name: the sums' factors and what they are called now.
ir::Expr within_part(const ir::Program& p, const Dependent& d, const ir::Buffer& greatest,
                     const ir::Expr& part, const std::string& max_buffer,
                     const std::map<std::string, std::string>& factors);

/// What a part's sum is multiplied by, for the greatest of all instead of the part's.
ir::Expr rescaling(const Exponential& term, const ir::Buffer& greatest, const ir::Buffer& max,
                   const ir::Expr& part, DType type);

/// Conditions under which a part of `s` has terms, as far as `where` decides that.
struct PartDomain {
  std::vector<ir::Expr> conditions = {};
  std::string why = {};  ///< not empty: it cannot be told
};
PartDomain domain_of_part(const ir::Stage& s, const Parts& parts);

}  // namespace hone::schedules
