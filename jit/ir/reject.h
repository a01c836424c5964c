// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "include/hone/error.h"

namespace hone::ir {

/// Why a schedule, or the code for it, cannot be had. Steps, legality, lowering, back ends and
/// loading all return this value. Inside one pass it may be thrown; no caller of the pass sees
/// that.
struct Reject {
  enum Kind : uint8_t {
    kIllegal,  ///< the schedule is illegal: a step does not apply, or an access is not proved
    kRefused,  ///< the schedule asks for something that the back end lacks
    kBug,      ///< a defect of hone: an assertion failed
    kFailed,   ///< not caused by the schedule: memory, a driver, a setting
  };

  /// An illegal schedule, unless `k` says otherwise.
  explicit Reject(std::string why, Kind k = kIllegal) : kind(k), reason(std::move(why)) {}
  /// An illegal schedule, at a loop of a stage.
  Reject(std::string stage_name, std::string loop_name, std::string why)
      : kind(kIllegal),
        reason(std::move(why)),
        stage(std::move(stage_name)),
        loop(std::move(loop_name)) {}
  /// A failure of the kind `k`.
  Reject(Kind k, Failure failure)
      : kind(k), code(failure.code), reason(std::move(failure.message)) {}

  Kind kind;
  ErrorCode code = ErrorCode::kSchedule;  ///< what a user is told
  std::string reason;                     ///< what is wrong and what would be accepted
  int step = -1;                          ///< index in the schedule; -1: not known, or no step
  std::string step_text;                  ///< canonical text of the step
  std::string stage;                      ///< empty: not known
  std::string loop;  ///< of the stage; empty: not known, or the placement of the stage

  /// `step 3 "split k 7 -> ...": 7 does not divide 31 and tail=exact; use tail=mask or tail=peel`.
  std::string text() const {
    if (step < 0) return reason;
    return "step " + std::to_string(step + 1) + " \"" + step_text + "\": " + reason;
  }
  /// The same as an error of a user.
  Failure failure() const { return {code, text()}; }
};

}  // namespace hone::ir
