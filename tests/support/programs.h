// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "jit/ir/program.h"
#include "jit/ir/target.h"

namespace hone::tests {

/// Small naive programs built by hand, so that tests of schedules need no parser:
/// `chain`: e[i,j] = exp(X[i,j]); Y[i,j] = e[i,j] * 2;
/// `product`: C[m,n] = sum[k](A[m,k] * B[k,n]), 31 x 40 x 100;
/// `bytes`: C.1[m,n] = sum[k](A[m,k] * B[k,n]) of bytes in i32, 13 x 40 x 38, C = C.1 + b[n];
/// `layer`: Y.1[m,n] = sum[k](A[m,k] * W[k,n]), Y = max(Y.1 + b[n], 0), W constant;
/// `rows`: m, e, s and Y of a normalised exponential over rows;
/// `bag`: Y[b,d] = sum[j in offs[b]..offs[b+1]](E[ids[j], d]);
/// `border`: Y[i] = (X[i-1] else 0) + X[i]; `masked`: t[i,j] = X[i,j]*2 where j <= i, Y its row
/// sums.
ir::Program example_program(std::string_view name);

/// The target of a text that parses.
ir::Target target_named(std::string_view text);

/// A problem's program by the default schedule.
ir::Program by_default(const std::string& problem, const ir::Target& target);

}  // namespace hone::tests
