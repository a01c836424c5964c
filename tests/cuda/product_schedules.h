// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace hone::tests {

/// A product of the types of an instruction on tiles:
/// `op p(A: u8[M,K], B: i8[K,N]) -> (C: i32[M,N]) { .. } M=.. N=.. K=..`, and `more` behind it.
std::string product(const std::string& instruction, int m, int n, int k,
                    const std::string& more = "");

/// Two warpgroups a block with 64 by 32 results each, `depth` of k at a time, `step` in each
/// product: operands are copied to `As` and `Bs` at the loop `Ct/k.o`. `of_b` says how `Bs` lies;
/// `rest` are the steps that follow.
std::string by_warpgroups(const std::string& instruction, int depth, int step,
                          const std::string& of_b, const std::string& rest);

}  // namespace hone::tests
