// SPDX-License-Identifier: Apache-2.0
//
// Products of a warpgroup: every row, however operands lie in shared memory.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "jit/ir/instructions.h"
#include "tests/cuda/by_hand.h"
#include "tests/cuda/product_schedules.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// How an operand's tile lies in shared memory.
struct Way {
  bool transposed = false;  ///< neighbours along m or n
  int row = 128;            ///< bytes of a row, 16: not swizzled
};

/// Copies the window of a tensor by two warpgroups. `along` is the dim of neighbours.
std::string shared(const std::string& tensor, const std::string& copy, int size, int across,
                   int along, Way way) {
  const int run = way.row / size;
  return fmt::format(
      "stage {0} at Ct/k.o -> {1} in=shared swizzle={2} layout=[d{4}/{5}][d{3}][d{4}%{5}]; split "
      "{1}/d{3} 2 -> d.o y; split {1}/d{4} {6} -> e.o x; reorder {1}/y {1}/d.o {1}/e.o {1}/x; bind "
      "{1}/x thread.x; bind {1}/y thread.y; ",
      tensor, copy, way.row > 16 ? "on" : "off", across, along, run, 128);
}

/// Two warpgroups a block, each with 64 x `columns` results.
std::string schedule(const ir::Instruction& row, int columns, Way a, Way b, int stages = 1,
                     bool a_held = false) {
  const int size = size_of(row.a),
            depth = std::max({a.transposed ? 0 : a.row, b.transposed ? 0 : b.row, 32}) / size;
  std::string s = fmt::format(
      "split C/m 128 -> m.b m.i tail=pad; split C/n {0} -> n.b n.i tail=pad; split C/m.i 64 -> m.w "
      "m.r; reorder C/m.b C/n.b C/m.w C/m.r C/n.i; stage C at C/m.w -> Ct in=warp; bind C/m.b "
      "block.y; bind C/n.b block.x; bind C/m.w thread.y; lanes C/m.r C/n.i 2 -> lane warps=4; ",
      columns);
  s += fmt::format(
      "split Ct/k {0} -> k.o k.i tail=pad; split Ct/k.i {1} -> k.s k.t; split Ct/m 64 -> m.o m.t; "
      "split Ct/n {2} -> n.o n.t; reorder k.o k.s Ct/m.o Ct/n.o m.t n.t k.t; ",
      depth, row.group, columns);
  s += a.transposed ? shared("A", "As", size, 1, 0, a) : shared("A", "As", size, 0, 1, a);
  s += b.transposed ? shared("B", "Bs", size, 0, 1, b) : shared("B", "Bs", size, 1, 0, b);
  if (a_held) {
    s += fmt::format("stage As at Ct/k.s -> Af in=warp; lanes Af/d0 Af/d1 {} -> lane warps=4; ",
                     4 / size);
  }
  if (stages > 1) s += fmt::format("pipeline Ct/k.o depth={}; ", stages);
  return s + "tensorize m.t n.t k.t " + row.name;
}

ByHand by_hand(const ir::Instruction& row, int m, int n, int k, const std::string& schedule,
               const std::string& more = "") {
  return {product(row.name, m, n, k, more), schedule, row.narrows};
}

}  // namespace

TEST_CASE("cuda: products of a warpgroup, each row") {
  std::vector<ByHand> all;
  for (const ir::Instruction& row : ir::instructions()) {
    if (row.most_columns == 0) continue;
    all.push_back(by_hand(row, 128, 32, 128 / size_of(row.a), schedule(row, 32, {}, {})));
    all.push_back(by_hand(row, 140, 45, 3 * row.group + 5, schedule(row, 32, {}, {}, 3)));
    if (effort() == hone::tests::Effort::kSmoke) continue;
    all.push_back(by_hand(row, 3, 2, 1, schedule(row, 8, {}, {}, 2), " B@N,K"));
    all.push_back(by_hand(row, 5, 9, 0, schedule(row, 16, {}, {})));
  }
  check_all(all);
}

TEST_CASE("cuda: products of a warpgroup by a persistent grid") {
  const ir::Instruction& row = *ir::instruction_named("wgmma.f16");
  // Four blocks that take every fourth tile each.
  std::string s = schedule(row, 32, {}, {true, 64}, 3);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    const size_t at = s.find(from);
    REQUIRE(at != std::string::npos);
    s.replace(at, from.size(), to);
  };
  replaced("bind C/m.b block.y; bind C/n.b block.x;",
           "fuse C/m.b C/n.b -> t; split C/t 4 -> t.o t.i; bind C/t.i block.x;");
  std::vector<ByHand> all;
  all.push_back(by_hand(row, 300, 90, 150, s));
  all.push_back(by_hand(row, 130, 70, 70, s));
  check_all(all);
}

TEST_CASE("cuda: products of a warpgroup, ways that operands lie") {
  const ir::Instruction& row = *ir::instruction_named("wgmma.bf16");
  std::vector<ByHand> all;
  for (const int bytes : {16, 32, 64, 128}) {
    for (const bool transposed : {false, true}) {
      if (effort() == hone::tests::Effort::kSmoke && transposed != (bytes == 64)) continue;
      all.push_back(by_hand(row, 150, 100, 100,
                            schedule(row, 96, {transposed, bytes}, {!transposed, bytes}, 3)));
      all.push_back(
          by_hand(row, 70, 130, 80, schedule(row, 64, {transposed, bytes}, {transposed, 128}, 2)));
    }
  }
  all.push_back(by_hand(row, 70, 300, 80, schedule(row, 256, {}, {true, 128}, 2, true)));
  check_all(all);
}

TEST_CASE("cuda: products of a warpgroup that read what its threads have not fenced are caught") {
  const ir::Instruction& row = *ir::instruction_named("wgmma.tf32");
  const std::string ahead = schedule(row, 32, {}, {}, 3);
  check_caught(
      product(row.name, 140, 45, 53),
      {{"stored", schedule(row, 32, {}, {}), "fence_proxy_async();", ""},
       {"copied ahead", ahead, "fence_proxy_async();", ""},
       {"fenced before they are there", ahead, "wait_copies<0>();\n        fence_proxy_async();",
        "fence_proxy_async(); wait_copies<0>();"}});
}
