// SPDX-License-Identifier: Apache-2.0
// Loaded before the C library's own: a definition of exp that no kernel agrees with.
extern "C" double exp(double x) { return x + 1; }
