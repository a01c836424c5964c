// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "ops/foreign.h"
#include "ops/parser.h"

namespace hone::ops {
namespace {

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

void FunctionParser::parse() {
  ScalarFunction f;
  Diagnostics& diagnostics = p_.diagnostics_;
  const size_t errors = diagnostics.count();
  p_.expect("fn", "`fn`");
  f.name = p_.parse_name("the function's name", &f.span);
  parse_params(f);
  p_.expect("=", "`=` and the value of the function");
  f.body = p_.parse_term();
  const bool ended = p_.token_.first_on_line || p_.token_.kind == Token::kEnd;
  if (!p_.stuck_ && !ended && !p_.token_.is(";")) p_.expected("an operator, `;` or a new line");
  while (p_.accept(";")) {
  }
  p_.terms_ = 0;
  if (p_.stuck_) return;
  std::vector<std::string> known = function_words();
  if (has(known, f.name)) {
    diagnostics.error(
        f.span, fmt::format("`{}` is a function of the language; choose another name", f.name));
    return;
  }
  if (p_.functions_.find(f.name)) {
    diagnostics.error(f.span, fmt::format("there are two functions named `{}`", f.name));
    return;
  }
  for (std::string& name : p_.functions_.names()) known.push_back(std::move(name));
  check_body(f, known, diagnostics);
  f.broken = diagnostics.count() > errors;
  p_.functions_.add(std::move(f));
}

void FunctionParser::parse_params(ScalarFunction& f) {
  constexpr std::string_view kParameter = "a parameter, as in `fn square(x) = x*x`";
  if (!p_.expect("(", "`(` and the function's parameters")) return;
  do {
    Span span;
    std::string name = p_.parse_name(kParameter, &span);
    if (p_.stuck_) return;
    if (has(function_words(), name) || p_.functions_.find(name)) {
      p_.diagnostics_.error(span, fmt::format("`{}` is a function; choose another name for what "
                                              "`{}` takes",
                                              name, f.name));
    }
    if (has(f.params, name)) {
      p_.diagnostics_.error(span,
                            fmt::format("`{}` takes two parameters named `{}`", f.name, name));
    }
    f.params.push_back(std::move(name));
    if (f.params.size() > kMaxRank) p_.fail(span, "a function takes 12 values");
  } while (p_.accept(","));
  if (p_.token_.is(":")) {
    p_.expected("`,` or `)`", "; a function's values have the types that it is called with");
    return;
  }
  p_.expect(")", "`,` or `)`");
}

Term FunctionParser::called(Term call, int begin) {
  ScalarFunction* f = p_.functions_.find(call.name);
  call = p_.finish(std::move(call), begin);
  if (!f || p_.stuck_) return call;
  f->called = true;
  // What is wrong is told already; a value fits most places.
  if (f->broken) return call.args.empty() ? Term{} : call.args[0];
  if (call.args.size() != f->params.size()) {
    p_.fail(call.span, fmt::format("`{}` takes {} value{}, not {}", f->name, f->params.size(),
                                   f->params.size() == 1 ? "" : "s", call.args.size()));
    return call;
  }
  const int most = kMaxTerms - p_.terms_, size = written_size(*f, call.args, most);
  Term out;
  if (size <= most) out = written_out(*f, call.args, call.span);
  if (size > most || out.depth > kMaxDepth) {
    p_.fail(
        call.span,
        fmt::format("with `{}` written out here, {}; name a part of it in a statement of its own",
                    f->name,
                    size > most ? "the op has more than 4096 names, numbers and operators"
                                : "this expression is nested deeper than 200"));
    return call;
  }
  p_.terms_ += size;
  return out;
}

}  // namespace hone::ops
