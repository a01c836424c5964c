// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "ops/op.h"
#include "tests/support/golden.h"

using hone::ops::parse_problem;

TEST_CASE("golden: problems to programs") {
  hone::tests::check_golden("ops/programs.txt", [](const std::string& text) {
    const auto p = parse_problem(text);
    return p ? p->text + "\n" + print(p->program) : p.failure().message;
  });
}
