// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/error.h"
#include "jit/ir/program.h"
#include "jit/ir/reject.h"
#include "schedules/knob.h"

namespace hone::schedules {

/// What an argument of a step is. Parsing, printing, usage and errors all follow from it.
enum class Arg : uint8_t {
  kEnd,        ///< no argument: the list ends here
  kLoop,       ///< a loop: `stage/loop`, or `loop` where that is unique
  kLoops,      ///< one loop or more
  kStage,      ///< a stage
  kStages,     ///< one stage or more
  kTensor,     ///< a buffer
  kPlace,      ///< a loop, or `root`
  kNew,        ///< a name that the step introduces
  kRow,        ///< the name of a row of a table, which `name` is a word for
  kNumber,     ///< a Number
  kPositions,  ///< integers from 0, one or more
  kWord,       ///< the literal word `name`
  kOneOf,      ///< one of the words `choices`
  kClause,     ///< `name PLACE`, may be left out
  kChoice,     ///< `name=` one of `choices`; the first is what leaving it out means
  kSetting,    ///< `name=` a Number, 0 too; required
  kCount,      ///< `name=` a Number; leaving it out means 0
  kLayout      ///< `layout=[i/4][j][i%4]`, may be left out
};

/// One argument of a step.
struct Param {
  Arg kind = Arg::kEnd;
  const char* name = nullptr;
  const char* choices = nullptr;  ///< of kChoice, `|` between
  const char* alias = nullptr;    ///< an older name of an option, which is read all the same
};

/// One axis of a layout: `[dim/div%mod]`; `mod` without factors: none.
struct LayoutAxis {
  std::string dim;
  Number div{1};
  Number mod{};
};

/// What stands for one Param in a parsed step.
struct Value {
  bool present = false;
  std::vector<std::string> names;  ///< loops, stages, tensor, place, new name, choice, clause
  Number number;                   ///< kNumber, kSetting, kCount
  std::vector<LayoutAxis> layout;
};

struct Step;

/// What a step makes of a program.
using Applied = Result<ir::Program, ir::Reject>;

/// Chosen: room for the longest step (not measured).
inline constexpr int kMaxParams = 9;

/// One verb: a row of the table in steps/table.cpp.
struct StepRow {
  const char* verb;
  Param params[kMaxParams];
  const char* doc;  ///< the effect, then before => after
  Applied (*apply)(ir::Program program, const Step& step);
  const char* alias = nullptr;  ///< an older verb, which is read all the same
};

/// A parsed step: a row and a value for each of its params.
struct Step {
  const StepRow* row = nullptr;
  std::vector<Value> values;

  /// The value of the param of that name.
  const Value& at(std::string_view param) const;
  /// Its first name; empty when left out.
  const std::string& name(std::string_view param) const;
  const std::vector<std::string>& names(std::string_view param) const { return at(param).names; }
  /// 0 where a count is left out.
  int64_t number(std::string_view param) const {
    return at(param).number.factors.empty() ? 0 : at(param).number.value();
  }
  /// Every number in it, in text order.
  std::vector<const Number*> numbers() const;
  /// The same step, however it was written.
  bool operator==(const Step& other) const;
};

/// All rows, in the order of the reference.
std::span<const StepRow* const> steps();
/// The row with that verb or alias; null where there is none.
const StepRow* step_named(std::string_view verb);
/// `split LOOP FACTOR -> OUTER INNER [tail=mask|peel|overlap|exact]`.
std::string usage(const StepRow& row);

/// Where and why the text of a step does not parse.
struct SyntaxError {
  size_t at = 0;  ///< byte of the text
  std::string message;
};

/// What is wrong with step `index`, and the step with a caret under the place.
std::string underlined(int index, std::string_view text, const SyntaxError& error);

/// Parses one step.
Result<Step, SyntaxError> parse_step(std::string_view text);
/// The step with the knobs called names[i] replaced by values[i].
Step fix(Step step, const std::vector<std::string>& names, const std::vector<int64_t>& values);
/// Canonical text: single spaces, options in order, defaults left out.
std::string print(const Step& step);

}  // namespace hone::schedules
