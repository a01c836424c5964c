// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/error.h"
#include "jit/ir/program.h"

namespace hone::ops {

struct Definition;  // the checked syntax tree

/// A checked op of the language; schedule-free. Cheap to copy.
class Op {
 public:
  /// Parses and checks one `op ...` text. Errors underline the source.
  static Result<Op> parse(std::string_view text);
  /// The op's name.
  const std::string& name() const;
  /// Canonical one-line text; parse(text()) == *this.
  const std::string& text() const;

  std::shared_ptr<const Definition> definition;
};

/// A `case` line of a library file.
struct Case {
  bool small = false;   ///< `case small`: tests; else `case bench`
  std::string problem;  ///< problem text, `NAME dims...`
};

/// Ops and cases of one `.hone` text.
struct Library {
  std::vector<Op> ops;
  std::vector<Case> cases;
  /// The op of that name, or null.
  const Op* find(std::string_view name) const;
};

/// Parses a file of ops and cases; `origin` names it in errors. Cases are of its own ops, the stock
/// ones and those `known` besides (may be null).
Result<Library> parse_library(std::string_view text, std::string_view origin,
                              const Library* known = nullptr);

/// The stock ops, embedded.
const Library& stock_library();

/// An op with dims, dtypes, layout and promises bound.
struct Problem {
  Op op;
  std::string text;        ///< canonical one-line text, pasteable
  std::string numerics;    ///< pinned class, `any` by default
  ir::Program definition;  ///< naive stages as written: what the reference evaluates
  ir::Program program;     ///< the same without repeated work: where schedules start from
};

/// Parses `NAME M=128 ... const=W`, or `op ...{...} M=128 ...` with the op inline. Names are
/// looked up in `library` first (may be null), then in the stock library.
Result<Problem> parse_problem(std::string_view text, const Library* library = nullptr);

/// The same for an op at hand; `bindings` is `M=128 N=3072 ...`.
Result<Problem> make_problem(const Op& op, std::string_view bindings,
                             const Library* library = nullptr);

}  // namespace hone::ops
