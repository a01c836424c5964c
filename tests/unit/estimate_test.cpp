// SPDX-License-Identifier: Apache-2.0
// The cost model, and how well it ranks.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "ops/op.h"
#include "runtime/measure/correlation.h"
#include "schedules/search/variety.h"

using namespace hone;
using namespace hone::runtime;

namespace {

ir::Target machine() {
  const auto target = ir::parse_target("x86 isa=avx512 threads=1 l1d=32K l2=1M l3=16M", {});
  REQUIRE(target);
  return *target;
}

}  // namespace

TEST_CASE("estimate: rank correlation of few pairs") {
  const auto rho = [](std::vector<double> a, std::vector<double> b) {
    return rank_correlation(a, b);
  };
  CHECK(rho({1, 2, 3}, {10, 20, 1000}) == doctest::Approx(1));
  CHECK(rho({1, 2, 3}, {3, 2, 1}) == doctest::Approx(-1));
  // 1 - 6 * (0 + 1 + 1 + 0) / (4 * 15)
  CHECK(rho({1, 2, 3, 4}, {1, 3, 2, 4}) == doctest::Approx(0.8));
  // Ties share a rank: 0, 1.5, 1.5, 3 against 0, 1, 2, 3.
  CHECK(rho({1, 2, 2, 3}, {1, 2, 3, 4}) == doctest::Approx(4.5 / std::sqrt(4.5 * 5)));
  CHECK(rho({1, 1, 1}, {1, 2, 3}) == 0);
  CHECK(rho({1}, {1}) == 0);
  CHECK(rho({}, {}) == 0);
}

TEST_CASE("estimate: varied schedules are many, all different, the same each time") {
  const auto problem = ops::parse_problem("matmul M=64 N=96 K=128");
  REQUIRE(problem);
  const auto all = schedules::variety(problem->program, machine(), 24, 1);
  CHECK(all.size() == 24);
  CHECK(std::set<std::string>(all.begin(), all.end()).size() == 24);
  CHECK(schedules::variety(problem->program, machine(), 24, 1) == all);
  CHECK(schedules::variety(problem->program, machine(), 24, 2) != all);
}
