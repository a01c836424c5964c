// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "ops/gradient/gradient.h"
#include "ops/op.h"
#include "ops/stock.h"
#include "tests/support/golden.h"

using hone::ops::parse_problem;

TEST_CASE("golden: problems to programs") {
  hone::tests::check_golden("ops/programs.txt", [](const std::string& text) {
    const auto p = parse_problem(text);
    return p ? p->text + "\n" + print(p->program) : p.failure().message;
  });
}

namespace {

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> out;
  std::istringstream words(list);
  for (std::string name; std::getline(words, name, ',');) out.push_back(name);
  return out;
}

/// The gradient of `OP`, or of an op of that name, by the `wrt=` and `take=` that follow.
std::string gradient_of(const std::string& line) {
  const size_t end = line.find('}') == line.npos ? line.find(' ') : line.rfind('}') + 1;
  const std::string text = line.substr(0, end);
  hone::ops::GradientRequest request;
  std::istringstream words(end == line.npos ? "" : line.substr(end));
  for (std::string word; words >> word;) {
    const size_t at = word.find('=') + 1;
    (word.starts_with("wrt=") ? request.wrt : request.take) = names_in(word.substr(at));
  }
  const auto stock = hone::ops::find_stock(text);
  const auto op = stock ? hone::Result<hone::ops::Op>(*stock) : hone::ops::Op::parse(text);
  if (!op) return op.failure().message;
  const auto made = hone::ops::gradient(*op, request);
  return made ? hone::ops::lines_of_op(*made) : made.failure().message;
}

}  // namespace

TEST_CASE("golden: gradients, and what has none") {
  hone::tests::check_golden("ops/gradients.txt", gradient_of);
}
