// SPDX-License-Identifier: Apache-2.0
// An op of one's own: a weighted moving average along rows, checked like the library's. The number
// of rows is known at the call only; one kernel serves them all.
#include <hone/hone.h>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  const hone::Op op = hone::Op::parse(R"(
    op smooth<T=f32>(X: T[R,N], w: T[K]) -> (Y: T[R,N]) {   # K odd; zeros beyond the ends
      Y[r,i] = sum[k]((X[r, i+k-K/2] else 0) * w[k])
    })");
  hone::Engine engine;
  const hone::Kernel smooth = engine.compile(op, "R=1..64 N=100 K=5");

  const std::vector<float> w = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
  for (int64_t rows : {1, 7, 64}) {
    std::vector<float> x(static_cast<size_t>(rows) * 100), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    smooth(hone::TensorRef(x.data(), {rows, 100}), w, hone::TensorRef(y.data(), {rows, 100}));
    const float want = 0.1f * x[3] + 0.2f * x[4] + 0.4f * x[5] + 0.2f * x[6] + 0.1f * x[7];
    std::printf("%2d rows: y[5] = %.6f, by hand %.6f\n", static_cast<int>(rows), y[5], want);
    if (std::fabs(y[5] - want) > 1e-6f) return 1;
  }

  // What is wrong with a text is said where it is wrong.
  const auto wrong = hone::Op::try_parse("op broken(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i+1] }");
  if (wrong) return 1;
  std::printf("%s\n", wrong.failure().message.c_str());
}
