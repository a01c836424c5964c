// SPDX-License-Identifier: Apache-2.0
// A host's own threads: kernels run where the host says. A real host would hand the pieces to the
// workers it has; this one starts threads.
#include <hone/hone.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

class HostPool : public hone::ThreadPool {
 public:
  int size() override { return 3; }

  void parallel_for(int64_t n, Task task, void* context) override {
    ++calls;
    std::vector<std::thread> threads;
    for (int worker = 0; worker < size(); ++worker) {
      const int64_t begin = n * worker / size(), end = n * (worker + 1) / size();
      if (begin < end) threads.emplace_back(task, context, begin, end, worker);
    }
    for (std::thread& t : threads) t.join();
  }

  std::atomic<int> calls{0};
};

}  // namespace

int main() {
  HostPool pool;  // outlives engine and kernels
  hone::Engine engine({.pool = &pool});
  const hone::Kernel matmul = engine.compile("matmul M=256 N=256 K=256");
  std::vector<float> a(256 * 256, 1), b(256 * 256, 0.5f), c(256 * 256);
  matmul(a, b, c);
  std::printf("%s\nc[0] = %g, the pool was used %d times\n", engine.target().c_str(), c[0],
              pool.calls.load());
  return c[0] == 128 && c.back() == 128 && pool.calls > 0 ? 0 : 1;
}
