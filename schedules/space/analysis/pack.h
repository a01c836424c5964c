// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// Elements along a variable that lie together.
struct Groups {
  std::string var;  ///< "": none do
  int size = 1;
};

/// Copies what an iteration of the loop `at` reads of `tensor`, or all of it at the root, as
/// `stage` reads it. Schedules the copy. Panels are `width` wide along the dim that `var` indexes;
/// `groups` lie together. False where a step does not apply.
bool pack(Plan& plan, const std::string& stage, const std::string& tensor, const std::string& var,
          const Number& width, const Groups& groups = {}, const ir::Place& at = {});

/// Copies what an iteration of `loop` of stage `root` reads of `tensor`, along the dim that `var`
/// indexes in `stage`, just before it is read. False where a step does not apply.
bool pack_panel(Plan& plan, const std::string& stage, const std::string& tensor,
                const std::string& var, const std::string& root, const std::string& loop);

/// Copies `tensor`, as `stage` reads it, at the root with `groups` together and the order of its
/// dims kept. False where a step does not apply.
bool pack_groups(Plan& plan, const std::string& stage, const std::string& tensor,
                 const Groups& groups);

/// True when packed panels are read faster than the rows of `access` as they lie. That is so for a
/// tensor bound once, and for rows far apart that are read often.
bool pays_to_pack(const Plan& plan, const std::string& stage, const Access& access);

}  // namespace hone::schedules
