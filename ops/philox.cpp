// SPDX-License-Identifier: Apache-2.0
#include "ops/philox.h"

#include <cstdint>

namespace hone::ops {
namespace {

using ir::Expr;

/// Fixed by: the paper.
constexpr int kRounds = 10;
constexpr int64_t kMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
constexpr int64_t kWeyl[2] = {0x9E3779B9, 0xBB67AE85};

Expr low(const Expr& e) { return ir::make_binary(ir::Op::kBitAnd, e, ir::make_int(0xFFFFFFFF)); }
Expr high(const Expr& e) { return low(ir::make_binary(ir::Op::kShr, e, ir::make_int(32))); }
Expr mixed(const Expr& a, const Expr& b) { return ir::make_binary(ir::Op::kBitXor, a, b); }

}  // namespace

Expr philox(const Expr& seed, const Expr& counter) {
  const Expr keys[2] = {low(seed), high(seed)};
  Expr words[4] = {low(counter), high(counter), ir::make_int(0), ir::make_int(0)};
  for (int64_t round = 0; round < kRounds; ++round) {
    const Expr key[2] = {low(keys[0] + ir::make_int(round * kWeyl[0])),
                         low(keys[1] + ir::make_int(round * kWeyl[1]))};
    const Expr products[2] = {words[0] * ir::make_int(kMultipliers[0]),
                              words[2] * ir::make_int(kMultipliers[1])};
    const Expr next[4] = {mixed(mixed(high(products[1]), words[1]), key[0]), low(products[1]),
                          mixed(mixed(high(products[0]), words[3]), key[1]), low(products[0])};
    for (int i = 0; i < 4; ++i) words[i] = next[i];
  }
  return words[0];
}

}  // namespace hone::ops
