// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "ops/op.h"
#include "ops/random.h"

using hone::ops::parse_problem;
using hone::ops::random_problem;
using hone::ops::simpler_problems;

TEST_CASE("random problems: they parse, repeat by seed, and differ") {
  std::set<std::string> texts;
  bool reduction = false, guarded = false, gathered = false, ranged = false, layout = false;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const std::string text = random_problem(seed);
    REQUIRE(parse_problem(text));
    CHECK(random_problem(seed) == text);
    texts.insert(text);
    reduction |= text.find("sum[") != text.npos;
    guarded |= text.find("] else ") != text.npos;
    gathered |= !parse_problem(text)->program.checks.empty();
    ranged |= text.find("=0..") != text.npos;
    layout |= text.find('@') != text.npos;
  }
  CHECK(texts.size() > 280);
  CHECK((reduction && guarded && gathered && ranged && layout));
}

TEST_CASE("random problems: a failure shrinks to what causes it") {
  // A stand-in for a bug: whatever takes a maximum of something guarded.
  const auto fails = [](const std::string& text) {
    return text.find("max[") != text.npos && text.find("else") != text.npos;
  };
  int shrunk = 0;
  for (uint64_t seed = 0; shrunk < 5 && seed < 400; ++seed) {
    std::string text = random_problem(seed);
    if (!fails(text) || text.size() < 250) continue;
    for (bool again = true; again;) {
      again = false;
      for (const std::string& simpler : simpler_problems(text)) {
        CHECK(parse_problem(simpler));
        if (!fails(simpler)) continue;
        text = simpler;
        again = true;
        break;
      }
    }
    CHECK_MESSAGE(text.size() < 300, text);
    ++shrunk;
  }
  CHECK(shrunk == 5);
}
