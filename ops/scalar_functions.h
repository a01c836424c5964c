// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/source.h"
#include "ops/syntax.h"

namespace hone::ops {

/// A function that stands before the ops of a text: `fn square(x) = x*x`. Where it is called its
/// body is written out, so no op has any.
struct ScalarFunction {
  std::string name;
  Span span;  ///< of the name
  std::vector<std::string> params;
  Term body;
  bool called = false;
  bool broken = false;  ///< an error was found in it
};

/// The functions of one text, in order; each may call those before it.
class ScalarFunctions {
 public:
  /// The function of that name, or null; those that every text has are among them.
  ScalarFunction* find(std::string_view name);
  void add(ScalarFunction f) { all_.push_back(std::move(f)); }
  /// Tells of those that nothing calls.
  void tell_uncalled(Diagnostics& diagnostics) const;
  /// Their names.
  std::vector<std::string> names() const;

 private:
  std::vector<ScalarFunction> all_;
};

/// The function of that name that every text has, written in the language; or nothing.
std::optional<ScalarFunction> common_function(std::string_view name);

/// Names, numbers and operators of the body of `f` with `args` in the place of its parameters; no
/// more than `most` + 1.
int written_size(const ScalarFunction& f, const std::vector<Term>& args, int most);
/// The body itself, with `args` in the place of its parameters; it stands at `span`.
Term written_out(const ScalarFunction& f, const std::vector<Term>& args, Span span);

/// Tells what in the body of `f` no function has, or the language has not: `known` are functions.
void check_body(const ScalarFunction& f, const std::vector<std::string>& known,
                Diagnostics& diagnostics);

}  // namespace hone::ops
