// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include "ops/definition.h"
#include "ops/lower.h"
#include "ops/parser.h"

namespace hone::ops {

std::shared_ptr<const Definition> parse_definition(Parser& parser,
                                                   std::shared_ptr<const Source> source,
                                                   Diagnostics& diagnostics, bool trusted) {
  const size_t before = diagnostics.count(), notes = diagnostics.notes().size();
  auto d = std::make_shared<Definition>(parser.parse_op());
  d->source = std::move(source);
  check_names(*d, diagnostics);
  if (!d->headless && !trusted) lower(*d, checking_binding(*d), diagnostics);
  if (diagnostics.count() == before) d->text = print(*d);
  d->notes.assign(diagnostics.notes().begin() + static_cast<int64_t>(notes),
                  diagnostics.notes().end());
  return d;
}

Result<std::shared_ptr<const Source>> make_source(std::string_view text, std::string_view origin,
                                                  int line) {
  if (text.size() > kMaxText) {
    return Failure{ErrorCode::kSyntax, "the text is longer than 1 MB"};
  }
  return std::make_shared<const Source>(Source{std::string(text), std::string(origin), line});
}

Result<Op> parse_op(std::string_view text, std::string_view origin, int line, bool trusted) {
  auto source = make_source(text, origin, line);
  if (!source) return source.failure();
  Diagnostics diagnostics(*source);
  ScalarFunctions functions;
  Parser parser(diagnostics, 0, functions);
  Op op{parse_definition(parser, *source, diagnostics, trusted)};
  functions.tell_uncalled(diagnostics);
  if (!diagnostics.failed() && parser.peek().kind != Token::kEnd) {
    diagnostics.error(parser.peek().span, "the op ends before this; one op is expected",
                      ErrorCode::kSyntax);
  }
  if (diagnostics.failed()) return diagnostics.failure();
  return op;
}

Result<Op> Op::parse(std::string_view text) { return parse_op(text, "", 1); }

const std::string& Op::name() const { return definition->name; }

const std::string& Op::text() const { return definition->text; }

}  // namespace hone::ops
