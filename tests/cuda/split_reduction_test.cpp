// SPDX-License-Identifier: Apache-2.0
//
// Products of parts of a sum: operands that move with the part and the rest, parts that end inside
// a step and a last one that is shorter.
#include <doctest/doctest.h>

#include "tests/cuda/by_hand.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// Parts of so many terms, each by steps of 32, operands in shared memory.
std::string in_parts(int terms, const std::string& more = "") {
  const std::string p = std::to_string(terms);
  return "split_reduction C/k " + p +
         " -> q; split q/m 32 -> m.b m.t tail=pad; split q/n 32 -> n.b n.t tail=pad; split m.t 4 "
         "-> "
         "m.y m.r; reorder q/k.p" +
         p + " m.b n.b m.y n.t q/k m.r; bind q/k.p" + p +
         " block.z; bind m.b block.y; bind n.b block.x; stage q at n.t -> acc in=registers; split "
         "acc/k 32 -> k.o k.i tail=pad; reorder acc/k.p" +
         p +
         " k.o k.i acc/m; bind m.y thread.y; bind n.t thread.x; stage A at k.o -> As in=shared; "
         "stage "
         "B at k.o -> Bs in=shared" +
         more;
}

}  // namespace

TEST_CASE("cuda split reduction: sums that end in a whole step, in the tensor, or before") {
  const std::string ahead = "; tma As; tma Bs; pipeline acc/k.o depth=2";
  std::vector<ByHand> all;
  for (const char* k : {"0", "1", "63", "128", "130", "200"}) {
    all.push_back({std::string("matmul M=40 N=36 K=") + k, in_parts(64)});
  }
  all.push_back({"matmul M=40 N=36 K=200", in_parts(96)});
  all.push_back({"matmul M=40 N=36 K=200", in_parts(64, ahead)});
  all.push_back({"matmul M=40 N=36 K=132", in_parts(64, ahead + "; specialize acc/k.o")});
  all.push_back({"matmul M=40 N=36 K=1..200", in_parts(64)});
  check_all(all);
}

TEST_CASE("cuda split reduction: steps that would run on into the next part are refused") {
  const char* const reason = "adds what lies beyond its end";
  check_refused({{"matmul M=40 N=36 K=130", in_parts(50), reason},
                 {"matmul M=40 N=36 K=100", in_parts(50), reason},
                 {"matmul M=40 N=36 K=1..200", in_parts(100), reason}});
}
