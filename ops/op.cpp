// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include <fmt/format.h>

#include "ops/choices.h"
#include "ops/definition.h"
#include "ops/einsum.h"
#include "ops/lower.h"
#include "ops/parser.h"
#include "ops/uses/uses.h"

namespace hone::ops {

std::shared_ptr<const Definition> parse_definition(Parser& parser, const Reading& reading) {
  Diagnostics& diagnostics = reading.diagnostics;
  const size_t before = diagnostics.count(), notes = diagnostics.notes().size();
  auto d = std::make_shared<Definition>(parser.parse_op());
  d->source = reading.source;
  write_out_uses(*d, reading.ops, diagnostics);
  write_out_choices(*d, diagnostics);
  check_names(*d, diagnostics);
  if (!d->headless && !reading.trusted) lower(*d, checking_binding(*d), diagnostics);
  if (diagnostics.count() == before) d->text = print(*d);
  d->notes.assign(diagnostics.notes().begin() + static_cast<int64_t>(notes),
                  diagnostics.notes().end());
  return d;
}

namespace {

/// The op that `einsum ij,jk->ik` stands for. Its errors point into the text that it stands for.
Op parse_einsum(Diagnostics& diagnostics, int* end) {
  const std::string text = op_of_einsum(diagnostics, end);
  if (text.empty()) return Op{std::make_shared<const Definition>()};
  auto op = parse_op(text, "", 1);
  if (op) return std::move(*op);
  diagnostics.error({0, *end}, op.failure().message);
  return Op{std::make_shared<const Definition>()};
}

}  // namespace

Op parse_last_op(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                 const Library* besides, bool trusted, int* end) {
  if (is_einsum(source->text)) return parse_einsum(diagnostics, end);
  Library here;
  KnownOps ops(here, besides);
  ScalarFunctions functions;
  for (int at = 0;;) {
    Parser parser(diagnostics, at, functions);
    Op op{parse_definition(parser, {source, diagnostics, ops, trusted})};
    at = parser.position();
    const bool more = parser.peek().is("op") || parser.peek().is("fn");
    if (here.find(op.name()) && !op.name().empty()) {
      diagnostics.error(op.definition->span,
                        fmt::format("there are two ops named `{}`", op.name()));
    }
    if (!more || !op.definition->closed || diagnostics.full()) {
      functions.tell_uncalled(diagnostics);
      ops.tell_unused(diagnostics);
      *end = at;
      return op;
    }
    here.ops.push_back(std::move(op));
  }
}

Result<std::shared_ptr<const Source>> make_source(std::string_view text, std::string_view origin,
                                                  int line) {
  if (text.size() > kMaxText) {
    return Failure{ErrorCode::kSyntax, "the text is longer than 1 MB"};
  }
  return std::make_shared<const Source>(Source{std::string(text), std::string(origin), line});
}

Result<Op> parse_op(std::string_view text, std::string_view origin, int line, bool trusted,
                    const Library* besides) {
  auto source = make_source(text, origin, line);
  if (!source) return source.failure();
  Diagnostics diagnostics(*source);
  int end = 0;
  Op op = parse_last_op(*source, diagnostics, besides, trusted, &end);
  const Token next = diagnostics.failed() ? Token() : Lexer((*source)->text, end).next();
  if (next.kind != Token::kEnd) {
    diagnostics.error(next.span, "the op ends before this; one op is expected", ErrorCode::kSyntax);
  }
  if (diagnostics.failed()) return diagnostics.failure();
  return op;
}

Result<Op> Op::parse(std::string_view text) { return parse_op(text, "", 1); }

const std::string& Op::name() const { return definition->name; }

const std::string& Op::text() const { return definition->text; }

}  // namespace hone::ops
