// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// How a producer's dims follow a consumer's variables: for every load of it, the same variable
/// indexes the same dim. Maps variables of the producer to those of the consumer; a dim that is
/// indexed in another way, or in several, is left out. Empty when the consumer does not read it.
std::map<std::string, std::string> alignment(const ir::Stage& producer, const ir::Stage& consumer);

/// True when each point of the consumer reads the producer at the point of the same variables only.
bool pointwise(const ir::Stage& producer, const ir::Stage& consumer);

/// True when each result of the producer is one term of the reducing consumer. Its variables are
/// then all of the consumer's, reduced ones as well.
bool makes_terms(const ir::Stage& producer, const ir::Stage& consumer);

/// The variable of the producer that follows `var`, or "".
std::string follower(const std::map<std::string, std::string>& alignment, const std::string& var);

/// How often the consumer's loops would compute the same results of a producer. That is once for
/// each value of the variables that the producer does not have. `facts` are the consumer's.
int64_t repeats(const std::map<std::string, std::string>& alignment, const ir::Stage& consumer,
                const StageFacts& facts);

}  // namespace hone::schedules
