// SPDX-License-Identifier: Apache-2.0
// Weights that stay: bound once, packed as the schedule likes them, left out of the calls.
#include <hone/hone.h>

#include <cstdio>
#include <memory>
#include <vector>

int main() {
  hone::Engine engine;
  // One kernel for every batch up to 32.
  const hone::Kernel layer = engine.compile("fc_relu M=1..32 N=64 K=48 const=W,b");

  auto w = std::make_unique<std::vector<float>>(48 * 64, 0.25f);
  const std::vector<float> b(64, 1);
  const hone::Bound bound = layer.bind("W", *w).bind("b", b);
  w.reset();  // the Bound owns what it packed

  for (int64_t batch : {1, 5, 32}) {
    std::vector<float> x(static_cast<size_t>(batch) * 48, 1), y(static_cast<size_t>(batch) * 64);
    bound(hone::TensorRef(x.data(), {batch, 48}), hone::TensorRef(y.data(), {batch, 64}));
    std::printf("batch %2d: y[0] = %g\n", static_cast<int>(batch), y[0]);
    if (y.front() != 13 || y.back() != 13) return 1;
  }
  std::printf("%lld bytes are bound\n", static_cast<long long>(bound.bytes()));
}
