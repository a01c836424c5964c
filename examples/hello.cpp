// SPDX-License-Identifier: Apache-2.0
#include <hone/hone.h>

#include <cstdio>
#include <vector>

int main() {
  hone::Engine engine;
  hone::Kernel matmul = engine.compile("matmul M=2 N=3 K=4");
  std::vector<float> a(2 * 4, 1), b(4 * 3, 2), c(2 * 3);
  matmul(a, b, c);
  std::printf("hone %s: %g\n", hone::version(), c[0]);
}
