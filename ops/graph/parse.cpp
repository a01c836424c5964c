// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/definition.h"
#include "ops/graph/graph.h"
#include "ops/parser.h"
#include "ops/uses/known_ops.h"

namespace hone::ops {

/// The part of the parser that knows graphs: arguments may be `const`, and what an op makes may
/// stand without indices.
class GraphParser {
 public:
  explicit GraphParser(Parser& parser) : p_(parser) { p_.in_graph_ = true; }

  /// `graph name(arguments) -> (outputs) { statements }`.
  Definition parse() {
    Definition d;
    d.graph = true;
    p_.expect("graph", "`op`, `fn` or `graph`");
    d.name = p_.parse_name("the graph's name", &d.span);
    p_.parse_arguments(d, false);
    if (p_.expect("->", "`->` and the outputs")) p_.parse_arguments(d, true);
    if (p_.stuck()) {
      d.headless = true;
      p_.recover_header();
    }
    p_.parse_statements(d);
    if (!p_.stuck() && p_.peek().kind != Token::kEnd) p_.expected("the end of the text");
    return d;
  }

 private:
  Parser& p_;
};

Result<Graph> parse_graph(std::string_view text, std::string_view origin, const Library* library) {
  auto source = make_source(text, origin, 1);
  if (!source) return source.failure();
  Diagnostics diagnostics(*source);
  Library here;
  KnownOps ops(here, library);
  ScalarFunctions functions;
  for (int at = 0;;) {
    Parser parser(diagnostics, at, functions);
    if (!parser.peek().is("op") && !parser.peek().is("fn")) {
      const Definition d = GraphParser(parser).parse();
      functions.tell_uncalled(diagnostics);
      if (diagnostics.failed()) return diagnostics.failure();
      Graph graph = graph_of(d, ops, diagnostics);
      if (diagnostics.failed()) return diagnostics.failure();
      std::string own;
      for (const Op& op : here.ops) own += op.text() + "\n";
      graph.text = own + graph.text;
      graph.own = std::move(here);
      return graph;
    }
    Op op{parse_definition(parser, {*source, diagnostics, ops})};
    if (here.find(op.name()) && !op.name().empty()) {
      diagnostics.error(op.definition->span,
                        fmt::format("there are two ops named `{}`", op.name()));
    }
    at = parser.position();
    if (!op.definition->closed || diagnostics.full()) return diagnostics.failure();
    here.ops.push_back(std::move(op));
  }
}

}  // namespace hone::ops
