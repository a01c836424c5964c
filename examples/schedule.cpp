// SPDX-License-Identifier: Apache-2.0
// A schedule written by hand: a register tile of 4 rows by 32 columns, then the raw entry of the
// kernel, for callers who check nothing and schedule their own threads.
#include <hone/hone.h>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
  hone::Engine engine({.threads = 1});
  const hone::Kernel k = engine.compile(
      "matmul M=64 N=64 K=64", {.schedule = "split C/n 32 -> n.o n.i; split C/m 4 -> m.o m.i;"
                                            "reorder C/m.o C/n.o C/k C/m.i C/n.i;"
                                            "stage C at C/n.o -> C.t in=registers;"
                                            "unroll C.t/m C/m.i; vectorize C.t/n C/n.i"});
  std::vector<float> a(64 * 64, 1), b(64 * 64, 2), c(64 * 64);
  k(a, b, c);
  const hone::Report& report = k.report();
  std::printf("%s\n%d instructions, %d spills, %lld bytes, built in %.0f us; c[0] = %g\n",
              k.schedule().c_str(), report.instructions, report.spills,
              static_cast<long long>(report.code_bytes), report.build_us, c[0]);
  if (c.front() != 128 || c.back() != 128) return 1;

  const auto illegal = engine.try_compile("matmul M=64 N=64 K=64",
                                          {.schedule = "split C/m 7 -> m.o m.i tail=exact"});
  if (illegal) return 1;
  std::printf("%s\n", illegal.failure().message.c_str());
  if (report.interpreted) return 0;  // no machine code on this machine, no raw entry

  const hone::Entry& entry = k.entry();
  std::vector<int64_t> slots(entry.slots.size());
  std::vector<std::byte> scratch(static_cast<size_t>(entry.scratch_bytes) + 64);
  int64_t status = INT64_MAX;
  void* const tensors[] = {a.data(), b.data(), c.data()};
  size_t tensor = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (entry.slots[i].kind == hone::Slot::kStatus) slots[i] = reinterpret_cast<int64_t>(&status);
    if (entry.slots[i].kind == hone::Slot::kTensor) {
      slots[i] = reinterpret_cast<int64_t>(tensors[tensor++]);
    }
  }
  for (float& x : c) x = 0;
  for (const hone::Launch& launch : entry.launches) {
    // Any sub-ranges, on any threads; here in two pieces on this one.
    launch.function(slots.data(), 0, launch.extent / 2, scratch.data());
    launch.function(slots.data(), launch.extent / 2, launch.extent, scratch.data());
  }
  return status == INT64_MAX && c.front() == 128 && c.back() == 128 ? 0 : 1;
}
