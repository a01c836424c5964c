// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "ops/op.h"
#include "ops/parser.h"
#include "ops/syntax.h"

namespace hone::ops {

/// Parses the op that comes next, and checks it unless it is `trusted`. Stock ops are trusted: the
/// tests have checked them, and their binding checks them again. Never null; errors are in
/// `diagnostics`.
std::shared_ptr<const Definition> parse_definition(Parser& parser,
                                                   std::shared_ptr<const Source> source,
                                                   Diagnostics& diagnostics, bool trusted = false);

/// A source for `text`; a failure when it is longer than a text may be.
Result<std::shared_ptr<const Source>> make_source(std::string_view text, std::string_view origin,
                                                  int line);

/// Tells that `name`, a span of the text, begins a problem and names no op.
void tell_unknown_op(Span name, const Library* library, Diagnostics& diagnostics);

/// One op that is all of `text`; `origin` and `line` say in errors where it stands.
Result<Op> parse_op(std::string_view text, std::string_view origin, int line, bool trusted = false);

}  // namespace hone::ops
