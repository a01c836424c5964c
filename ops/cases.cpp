// SPDX-License-Identifier: Apache-2.0
#include "ops/cases.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "ops/bindings.h"
#include "ops/definition.h"
#include "ops/stock.h"

namespace hone::ops {
namespace {

constexpr std::string_view kSpaces = " \t\r";

/// The span without spaces around it.
Span trimmed(std::string_view text, Span span) {
  const std::string_view all = text.substr(span.begin, span.end - span.begin);
  const size_t first = all.find_first_not_of(kSpaces);
  if (first == all.npos) return {span.end, span.end};
  const size_t last = all.find_last_not_of(kSpaces);
  return {span.begin + static_cast<int>(first), span.begin + static_cast<int>(last) + 1};
}

}  // namespace

int CaseLines::read(int at, Library& library, Diagnostics& diagnostics) {
  const std::string_view text = diagnostics.source().text;
  const int end = static_cast<int>(std::min(text.find('\n', at), text.size()));
  const int comment = static_cast<int>(std::min<size_t>(text.find('#', at), end));
  const int word = at + static_cast<int>(std::string_view("case").size());
  Span rest = trimmed(text, {word, comment});
  const std::string_view line = text.substr(rest.begin, rest.end - rest.begin);
  const bool small = line.starts_with("small ");
  if (!small && !line.starts_with("bench ")) {
    diagnostics.error({at, end}, "a case is `case small NAME M=1 ...` or `case bench NAME M=1 ...`",
                      ErrorCode::kSyntax);
    return end;
  }
  rest = trimmed(text, {rest.begin + static_cast<int>(std::string_view("small").size()), rest.end});
  std::string problem(text.substr(rest.begin, rest.end - rest.begin));
  places_.push_back({rest.begin, problem});
  library.cases.push_back({small, std::move(problem)});
  return end;
}

void CaseLines::check(const Library& library, KnownOps& ops, Diagnostics& diagnostics) {
  for (const Place& place : places_) {
    if (diagnostics.full()) return;
    const size_t end = std::min(place.problem.find_first_of(kSpaces), place.problem.size());
    const std::string name = place.problem.substr(0, end);
    if (left_out_.contains(name)) continue;
    const Op* op = ops.find(name);
    Diagnostics found(std::make_shared<Source>(Source{place.problem, "", 1}));
    if (op) {
      parse_bindings(*op->definition, found, static_cast<int>(end));
    } else {
      tell_unknown_op({0, static_cast<int>(end)}, &library, found);
    }
    diagnostics.adopt(found, place.begin);
  }
}

}  // namespace hone::ops
