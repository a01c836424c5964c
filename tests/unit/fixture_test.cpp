// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a fixture lie.
#include "runtime/check/fixture.h"

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

using namespace hone;
using namespace hone::runtime;

namespace {

std::vector<std::string> bytes_in(const Fixture& f) {
  std::vector<std::string> all;
  for (const jit::TensorView& v : f.params()) {
    all.emplace_back(static_cast<const char*>(v.data), static_cast<size_t>(jit::bytes_of(v)));
  }
  return all;
}

/// Where parameter `param` begins in its page.
size_t in_page(const Fixture& f, size_t param) {
  return reinterpret_cast<uintptr_t>(f.params()[param].data) % 4096;
}

}  // namespace

TEST_CASE("fixture: tensors that are placed anew hold what they held, elsewhere") {
  auto problem = ops::parse_problem("matmul M=5 N=1030 K=7");
  REQUIRE(problem);
  auto made = Fixture::create(*problem, {}, jit::DataSet::kTimed, Guard::kFar, 1, kStagger);
  REQUIRE(made);
  Fixture& f = *made;
  f.reset();
  const auto before = bytes_in(f);
  for (int64_t n : {1, 2, 40}) {
    CAPTURE(n);
    std::vector<void*> places;
    for (const jit::TensorView& v : f.params()) places.push_back(v.data);
    REQUIRE(f.place(stagger_of(n)));
    CHECK(bytes_in(f) == before);
    CHECK(f.overwritten().empty());
    for (size_t p = 0; p < places.size(); ++p) {
      CHECK(f.params()[p].data != places[p]);
      CHECK(in_page(f, p) == p * stagger_of(n) % 4096);
    }
    std::memset(f.params()[2].data, 1, static_cast<size_t>(jit::bytes_of(f.params()[2])));
    f.reset();
  }
}

TEST_CASE("fixture: placements differ by lines, and each is met once") {
  std::set<size_t> all;
  for (int64_t n = 0; n < 64; ++n) {
    CHECK(stagger_of(n) % 64 == 0);
    all.insert(stagger_of(n));
  }
  CHECK(all.size() == 64);
  CHECK(stagger_of(0) == kStagger);
}
