// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "ops/cases.h"
#include "ops/definition.h"
#include "ops/stock.h"

namespace hone::ops {

const Op* Library::find(std::string_view name) const {
  for (const Op& op : ops) {
    if (op.name() == name) return &op;
  }
  return nullptr;
}

Result<Library> parse_library(std::string_view text, std::string_view origin,
                              const Library* known) {
  auto source = make_source(text, origin, 1);
  if (!source) return source.failure();
  Diagnostics diagnostics(*source);
  Library library;
  ScalarFunctions functions;
  KnownOps ops(library, known);
  CaseLines cases;
  int at = 0;
  while (!diagnostics.full()) {
    Parser parser(diagnostics, at, functions);
    const Token next = parser.peek();
    if (next.kind == Token::kEnd && !parser.stuck()) break;
    if (parser.stuck()) {
      parser.skip_to_op();
      at = parser.position();
      continue;
    }
    if (next.is("case")) {
      at = cases.read(next.span.begin, library, diagnostics);
      continue;
    }
    if (next.is("fn")) {
      FunctionParser(parser).parse();
      if (parser.stuck()) parser.skip_to_op();
    } else if (next.is("op")) {
      const size_t before = diagnostics.count();
      Op op{parse_definition(parser, {*source, diagnostics, ops})};
      if (diagnostics.count() > before) cases.leave_out(op.name());
      if (!op.name().empty() && library.find(op.name())) {
        diagnostics.error(op.definition->span,
                          fmt::format("there are two ops named `{}`", op.name()));
      }
      if (!op.definition->closed) parser.skip_to_op();
      library.ops.push_back(std::move(op));
    } else {
      diagnostics.error(
          next.span,
          "`op`, `fn` or `case` is expected here, as in `op f(A: f32[M]) -> (Y: f32[M]) { "
          "Y[i] = 2*A[i] }`",
          ErrorCode::kSyntax);
      parser.skip_to_op();
    }
    at = parser.position();
  }
  functions.tell_uncalled(diagnostics);
  cases.check(library, ops, diagnostics);
  if (diagnostics.failed()) return diagnostics.failure();
  return library;
}

const Library& stock_library() {
  static const Library library = [] {
    Library all;
    for (const StockFile& file : stock_files()) {
      Library one = parse_library(file.text, file.name).value();
      all.ops.insert(all.ops.end(), one.ops.begin(), one.ops.end());
      all.cases.insert(all.cases.end(), one.cases.begin(), one.cases.end());
    }
    return all;
  }();
  return library;
}

std::vector<std::string_view> stock_names() {
  std::vector<std::string_view> names;
  for (const StockFile& file : stock_files()) {
    constexpr std::string_view kOp = "\nop ";
    for (size_t at = file.text.find(kOp); at != file.text.npos; at = file.text.find(kOp, at + 1)) {
      const size_t name = at + kOp.size();
      names.push_back(file.text.substr(name, file.text.find_first_of("<(", name) - name));
    }
  }
  return names;
}

std::optional<Op> find_stock(std::string_view name) {
  const std::string start = "\nop " + std::string(name);
  for (const StockFile& file : stock_files()) {
    for (size_t at = file.text.find(start); at != file.text.npos;
         at = file.text.find(start, at + 1)) {
      const size_t after = at + start.size();
      if (after >= file.text.size() || (file.text[after] != '<' && file.text[after] != '(')) {
        continue;
      }
      const size_t end = file.text.find('}', after);
      const auto line = std::count(file.text.begin(), file.text.begin() + at, '\n');
      constexpr bool kTrusted = true;
      return parse_op(file.text.substr(at + 1, end - at), file.name, static_cast<int>(line) + 2,
                      kTrusted)
          .value();
    }
  }
  return std::nullopt;
}

}  // namespace hone::ops
