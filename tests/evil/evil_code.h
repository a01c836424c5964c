// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// A bad candidate: machine code for `fn(args, begin, end, scratch)` of the problem kProblem, and
/// how the worker must tell what it did.
struct Evil {
  std::string name;
  /// A verdict word (wrong, clobbers, overwrites, nondeterministic), or how the worker ends
  /// (crashed, hung, exited).
  std::string caught_as;
  /// Must be part of the note or of the ending; empty: anything.
  std::string note;
  std::vector<uint8_t> bytes;
};

/// Y[i] = X[i] + 1 with a temporary, so that there is a workspace: args slots 1 workspace, 2 X, 3
/// Y.
inline constexpr const char* kProblem =
    "op evil(X: f32[N]) -> (Y: f32[N]) { t[i] = X[i] + 1.0; Y[i] = t[i] } N=147";
inline constexpr int kElements = 147;

/// Too large to be evaluated whole: Y[i] is X[i], after more operations than the definition takes.
inline constexpr const char* kLargeProblem =
    "op evil(X: i32[N], Z: i32[K]) -> (Y: i32[N]) { Y[i] = max[k](X[i] + Z[k] * 0) } "
    "N=4099 K=4099";
inline constexpr int kLargeElements = 4099;

/// The large problem's kernel, but that element `wrong` is one too large; -1: it is right.
std::vector<uint8_t> large_code(int wrong);

/// All of them.
std::vector<Evil> evil_candidates();

/// The correct kernel, which must pass.
std::vector<uint8_t> good_code();

/// Sleeps for an hour.
std::vector<uint8_t> sleeping_code();
