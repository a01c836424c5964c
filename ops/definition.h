// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "ops/op.h"
#include "ops/parser.h"
#include "ops/syntax.h"
#include "ops/uses/known_ops.h"

namespace hone::ops {

/// What a text is read into. Stock ops are `trusted`, and not checked: the tests have checked them,
/// and their binding checks them again.
struct Reading {
  std::shared_ptr<const Source> source;
  Diagnostics& diagnostics;
  KnownOps& ops;
  bool trusted = false;
};

/// Parses the op that comes next, and checks it. Never null; errors are in the diagnostics.
std::shared_ptr<const Definition> parse_definition(Parser& parser, const Reading& reading);

/// The last of the ops that a text begins with; those before it are there to be used. Or the one
/// that `einsum ...` stands for. `end`: where what follows begins.
Op parse_last_op(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                 const Library* besides, bool trusted, int* end);

/// A source for `text`; a failure when it is longer than a text may be.
Result<std::shared_ptr<const Source>> make_source(std::string_view text, std::string_view origin,
                                                  int line);

/// Tells that `name`, a span of the text, begins a problem and names no op.
void tell_unknown_op(Span name, const Library* library, Diagnostics& diagnostics);

/// One op that is all of `text`, with those before it that it uses; `origin` and `line` say in
/// errors where it stands. Others that it uses are of `besides` (may be null) and of the stock.
Result<Op> parse_op(std::string_view text, std::string_view origin, int line, bool trusted = false,
                    const Library* besides = nullptr);

}  // namespace hone::ops
