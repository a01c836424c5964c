// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are wrong in the ways that asynchronous ones are: the emulation must say which.
#include <doctest/doctest.h>

#include "tests/cuda/emulated_code.h"
#include "tests/cuda/rows_kernels.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// A kernel, and what the emulation must say of it.
struct Wrong {
  const char* name;
  const char* body;
  const char* caught;  ///< part of the message; null: the kernel is right
  int threads = 128;
  int cluster = 1;
};

// X and Y are 1024 i32s.
#define MAKE                                                                           \
  "HONE_TEAM(u64, bar, 1); HONE_TEAM(i32, s, 256);"                                    \
  "const u32 b = shared_address(HONE_AT(bar, 0)), to = shared_address(HONE_AT(s, 0));" \
  "if (t == 0) { mbarrier_init(b, 1); fence_mbarrier_init(); } __syncthreads();"
#define LOAD "if (t == 0) { mbarrier_arrive_expect(b, 512); bulk_load(to, HONE_AT(X, 0), 512, b); }"

#define ASYNC "copy_async<4>(HONE_AT(s, t), HONE_AT(X, t)); commit_copies();"
#define STORE "if (t == 0) { bulk_store(HONE_AT(Y, 0), to, 512); bulk_commit(); bulk_wait<0>(); }"

constexpr Wrong kBarriers[] = {
    {"right: a copy that is waited for", MAKE LOAD "mbarrier_wait(b, 0); Y[t] = s[t];", nullptr},
    {"read before the copy is waited for", MAKE LOAD "Y[t] = s[t];",
     "is read before the copy that mbarrier bar[0] counts is waited for"},
    {"waiting for the phase before: the parity is wrong",
     MAKE LOAD "mbarrier_wait(b, 1); Y[t] = s[t];",
     "is read before the copy that mbarrier bar[0] counts is waited for"},
    {"only one thread waits", MAKE LOAD "if (t == 5) mbarrier_wait(b, 0); Y[t] = s[t];",
     "is read before the copy that mbarrier bar[0] counts is waited for"},
    {"the parity does not alternate",
     MAKE LOAD "mbarrier_wait(b, 0); i32 v = s[t]; __syncthreads();" LOAD
               "mbarrier_wait(b, 0); Y[t] = v + s[t];",
     "a thread waits again for phase 0 of mbarrier bar[0]"},
    {"more bytes are expected than come",
     MAKE "if (t == 0) { mbarrier_arrive_expect(b, 1024); bulk_load(to, HONE_AT(X, 0), 512, b); }"
          "mbarrier_wait(b, 0); Y[t] = s[t];",
     "nothing goes on: 128 threads wait for phase 0 of mbarrier bar[0], where 0 of 1 arrivals and "
     "512 bytes are missing"},
    {"nobody arrives",
     MAKE "if (t == 0) { mbarrier_expect(b, 512); bulk_load(to, HONE_AT(X, 0), 512, b); }"
          "mbarrier_wait(b, 0); Y[t] = s[t];",
     "where 1 of 1 arrivals and 0 bytes are missing"},
    {"nobody waits", MAKE LOAD "Y[t] = X[t];",
     "a block leaves while a copy to its shared memory is under way"},
    {"fewer bytes are expected than come",
     MAKE "if (t == 0) { mbarrier_arrive_expect(b, 256); bulk_load(to, HONE_AT(X, 0), 512, b); }"
          "mbarrier_wait(b, 0); Y[t] = s[t];",
     "mbarrier bar[0] sees 256 bytes more than its phase 0 expects"},
    {"more arrive than are counted",
     MAKE LOAD "if (t == 1) mbarrier_arrive(b); mbarrier_wait(b, 0); Y[t] = s[t];",
     "more than the 1 that it counts arrive at mbarrier bar[0] in phase 0"},
    {"the copies do not see that the barrier was made",
     "HONE_TEAM(u64, bar, 1); HONE_TEAM(i32, s, 128);"
     "const u32 b = shared_address(HONE_AT(bar, 0)), to = shared_address(HONE_AT(s, 0));"
     "if (t == 0) mbarrier_init(b, 1); __syncthreads();" LOAD "mbarrier_wait(b, 0); Y[t] = s[t];",
     "counts a copy without fence_mbarrier_init after it was made"},
    {"threads do not see that the barrier was made",
     "HONE_TEAM(u64, bar, 1); const u32 b = shared_address(HONE_AT(bar, 0));"
     "if (t == 0) { mbarrier_init(b, 128); fence_mbarrier_init(); }"
     "mbarrier_arrive(b); mbarrier_wait(b, 0);",
     "mbarrier bar[0] is used without a barrier after another thread made it"},
    {"no barrier was made",
     "HONE_TEAM(u64, bar, 1); mbarrier_arrive(shared_address(HONE_AT(bar, 0)));",
     "bar[0] is used as an mbarrier and is none"},
    {"a barrier is made twice", MAKE "if (t == 0) mbarrier_init(b, 1);",
     "bar[0] is an mbarrier already"},
    {"a barrier between two words",
     "HONE_TEAM(u64, bar, 2); if (t == 0) mbarrier_init(shared_address(HONE_AT(bar, 0)) + 4, 1);",
     "is not at a multiple of 8 bytes"},
    {"arrivals order nothing that comes after them",
     "HONE_TEAM(u64, bar, 1); HONE_TEAM(i32, s, 128); const u32 b = shared_address(HONE_AT(bar, "
     "0));"
     "if (t == 0) { mbarrier_init(b, 128); fence_mbarrier_init(); } __syncthreads();"
     "mbarrier_arrive(b); s[t] = X[t]; mbarrier_wait(b, 0); Y[t] = s[127 - t];",
     "is read in the barrier interval in which another thread writes it"},
};

constexpr Wrong kCopies[] = {
    {"a second copy to a place where the first is not there yet",
     MAKE "if (t == 0) { mbarrier_arrive_expect(b, 1024); bulk_load(to, HONE_AT(X, 0), 512, b);"
          "bulk_load(to, HONE_AT(X, 128), 512, b); } mbarrier_wait(b, 0); Y[t] = s[t];",
     "is written by the copy that mbarrier bar[0] counts before the copy that mbarrier bar[0] "
     "counts "
     "is waited for"},
    {"a copy to a place that is still read",
     MAKE LOAD "mbarrier_wait(b, 0); i32 v = s[127 - t]; if (t == 127) {"
               "mbarrier_arrive_expect(b, 512); bulk_load(to, HONE_AT(X, 0), 512, b); }"
               "mbarrier_wait(b, 1); Y[t] = v + s[t];",
     "is written by the copy that mbarrier bar[0] counts in the barrier interval in which another "
     "thread reads it"},
    {"a thread writes where a copy will", MAKE LOAD "s[t] = 1; mbarrier_wait(b, 0); Y[t] = s[t];",
     "is written before the copy that mbarrier bar[0] counts is waited for"},
    {"a copy to a place that threads wrote, without a fence",
     MAKE "s[t] = X[t]; __syncthreads();" LOAD "mbarrier_wait(b, 0); Y[t] = s[t];",
     "is written by the copy that mbarrier bar[0] counts without fence.proxy.async by the thread "
     "that wrote it"},
    {"right: fenced",
     MAKE "s[t] = X[t]; fence_proxy_async(); __syncthreads();" LOAD
          "mbarrier_wait(b, 0); Y[t] = s[t];",
     nullptr},
    {"fenced by the thread that starts the copy, and not by those that wrote",
     MAKE "s[t] = X[t]; __syncthreads(); if (t == 0) fence_proxy_async();" LOAD
          "mbarrier_wait(b, 0); Y[t] = s[t];",
     "s[1] is written by the copy that mbarrier bar[0] counts without fence.proxy.async by the "
     "thread that wrote it"},
    {"a store of what threads wrote after their fence",
     MAKE "s[t] = X[t]; fence_proxy_async(); s[t] = 1; __syncthreads();"
          "if (t == 0) { bulk_store(HONE_AT(Y, 0), to, 512); bulk_commit(); bulk_wait<0>(); }",
     "s[0] is read by a bulk store without fence.proxy.async by the thread that wrote it"},
    {"right: a store of what copies brought, fenced after the wait for them",
     MAKE ASYNC "wait_copies<0>(); fence_proxy_async(); __syncthreads();" STORE, nullptr},
    {"a store of what copies brought, without a fence",
     MAKE ASYNC "wait_copies<0>(); __syncthreads();" STORE,
     "s[0] is read by a bulk store without fence.proxy.async by the thread that waited for an "
     "asynchronous copy to it"},
    {"a store of what copies brought, fenced before they are there",
     MAKE ASYNC "fence_proxy_async(); wait_copies<0>(); __syncthreads();" STORE,
     "s[0] is read by a bulk store without fence.proxy.async by the thread that waited for an "
     "asynchronous copy to it"},
    {"a store of what copies brought, of which half the threads fence",
     MAKE ASYNC "wait_copies<0>(); if (t < 64) fence_proxy_async(); __syncthreads();" STORE,
     "s[64] is read by a bulk store without fence.proxy.async"},
    {"a store of what threads wrote, without a fence",
     MAKE "s[t] = X[t]; __syncthreads();"
          "if (t == 0) { bulk_store(HONE_AT(Y, 0), to, 512); bulk_commit(); bulk_wait<0>(); }",
     "s[0] is read by a bulk store without fence.proxy.async by the thread that wrote it"},
    {"a store of what threads write",
     MAKE "s[t] = X[t]; fence_proxy_async();"
          "if (t == 127) { bulk_store(HONE_AT(Y, 0), to, 512); bulk_commit(); bulk_wait<0>(); }",
     "is read by a bulk store in the barrier interval in which another thread writes it"},
    {"what a store reads is written again",
     MAKE "s[t] = X[t]; fence_proxy_async(); __syncthreads();"
          "if (t == 0) { bulk_store(HONE_AT(Y, 0), to, 512); bulk_commit(); } __syncthreads();"
          "s[t] = 1; if (t == 0) bulk_wait<0>();",
     "is written while a bulk store still reads it"},
    {"one group too few is waited for",
     MAKE "s[t] = s[t + 128] = X[t]; fence_proxy_async(); __syncthreads();"
          "if (t == 0) { bulk_store(HONE_AT(Y, 0), to, 512); bulk_commit();"
          "bulk_store(HONE_AT(Y, 128), to + 512, 512); bulk_commit(); bulk_wait_read<1>(); }"
          "__syncthreads(); s[t] = 1; s[t + 128] = 1; if (t == 0) bulk_wait<0>();",
     "is written while a bulk store still reads it"},
    {"a store that is never committed",
     MAKE "s[t] = X[t]; fence_proxy_async(); __syncthreads();"
          "if (t == 0) bulk_store(HONE_AT(Y, 0), to, 512);",
     "a thread leaves before it commits its bulk stores"},
    {"a store that is never waited for",
     MAKE "s[t] = X[t]; fence_proxy_async(); __syncthreads();"
          "if (t == 0) { bulk_store(HONE_AT(Y, 0), to, 512); bulk_commit(); }",
     "a thread leaves before it waits for its bulk stores"},
    {"two threads store one place",
     MAKE "s[t] = X[t]; Y[t] = 5; fence_proxy_async(); __syncthreads();"
          "if (t == 0) { bulk_store(HONE_AT(Y, 0), to, 512); bulk_commit(); bulk_wait<0>(); }",
     "a store writes global memory that another thread writes"},
    {"bytes that are no multiple of 16",
     MAKE "if (t == 0) { mbarrier_arrive_expect(b, 24); bulk_load(to, HONE_AT(X, 0), 24, b); }",
     "a bulk copy of 24 bytes"},
    {"a copy to an odd place",
     MAKE "if (t == 0) { mbarrier_arrive_expect(b, 16); bulk_load(to + 8, HONE_AT(X, 0), 16, b); }",
     "a bulk copy's place in shared memory is not at a multiple of 16 bytes"},
    {"a copy from an odd place",
     MAKE "if (t == 0) { mbarrier_arrive_expect(b, 16); bulk_load(to, HONE_AT(X, 1), 16, b); }",
     "a bulk copy's place in X is not at a multiple of 16 bytes"},
    {"a copy from past the end",
     MAKE
     "if (t == 0) { mbarrier_arrive_expect(b, 512); bulk_load(to, HONE_AT(X, 1000), 512, b); }",
     "X[1127] is outside its 1024 elements"},
    {"a copy to past the end of shared memory",
     MAKE "if (t == 0) { mbarrier_arrive_expect(b, 2048); bulk_load(to, HONE_AT(X, 0), 2048, b); }",
     "where nothing is"},
    {"no tensor map", MAKE "if (t == 0) tensor_load(to, &args.map[0], b, 0);",
     "a tensor copy's map is none"},
};

constexpr Wrong kGroups[] = {
    {"barrier of a part that not all reach", "if (t < 64) barrier_sync(1, 128); Y[t] = X[t];",
     "nothing goes on: 64 threads wait for barrier 1, which 64 of 128 reach"},
    {"barrier of a part for different counts",
     "if (t < 64) barrier_sync(1, 96); else barrier_sync(1, 128);",
     "barrier 1 is for 96 and for 128 threads"},
    {"barrier for no whole warps", "if (t < 40) barrier_sync(1, 40);", "which are no whole warps"},
    {"barrier that there is not", "barrier_sync(16, 128);", "barrier 16 is none of the 16"},
    {"a part orders nothing for the others",
     "HONE_TEAM(i32, s, 128); s[t] = 0; __syncthreads(); s[t] = X[t]; barrier_sync(1 + t / 64, 64);"
     "Y[t] = s[127 - t];",
     "is written in the barrier interval in which another thread reads it"},
    {"one who only arrives does not wait",
     "HONE_TEAM(i32, s, 128); s[t] = X[t]; if (t < 64) barrier_arrive(1, 128); else "
     "barrier_sync(1, 128);"
     "Y[t] = s[127 - t];",
     "is read before anything is written there"},
    {"lanes that do not meet", "if (t % 2) warp_barrier(); Y[t] = X[t];",
     "a barrier or shuffle is reached by"},
    {"elected in a branch", "if (t % 2 == 0 && elect_one()) Y[t] = X[t];",
     "a barrier or shuffle is reached by"},
    {"registers that are no multiple of 8", "more_registers<100>();", "100 registers of a thread"},
    {"registers that nobody gives back", "more_registers<232>();",
     "nothing goes on: 12 threads wait for 2048 registers, of which 0 are free", 384},
    {"registers that a warp has not", "fewer_registers<176>();",
     "fewer_registers to 176 of a warp with 168", 384},
    {"another block's memory before it is written",
     "HONE_TEAM(u32, s, 128); cluster_arrive(); cluster_wait(); s[t] = 1;"
     "const u32 there = shared_of_rank(shared_address(HONE_AT(s, t)), 1 - cluster_rank());"
     "Y[t] = (i32)load_cluster(there); cluster_arrive(); cluster_wait();",
     "is read before anything is written there", 128, 2},
    {"another block's memory, arrived at without release",
     MAKE "cluster_arrive(); cluster_wait();"
          "store_cluster(shared_of_rank(shared_address(HONE_AT(s, t)), 1 - cluster_rank()), 1);"
          "mbarrier_arrive_at(b, 1 - cluster_rank());",
     "stored to another block's memory arrives there without release", 128, 2},
    {"a relaxed arrival shows nothing that was written",
     "HONE_TEAM(u32, s, 128); s[t] = 1; cluster_arrive_relaxed(); cluster_wait();"
     "Y[t] = (i32)load_cluster(shared_of_rank(shared_address(HONE_AT(s, t)), 1 - cluster_rank()));",
     "is read in the barrier interval in which another thread writes it", 128, 2},
    {"a block of another cluster",
     "HONE_TEAM(u32, s, 128); s[t] = 1; load_cluster(shared_of_rank(shared_address(HONE_AT(s, t)), "
     "2));",
     "block 2 is not one of the 2 of the cluster", 128, 2},
    {"a block that leaves early",
     "HONE_TEAM(u32, s, 128); const u32 there = shared_address(HONE_AT(s, t));"
     "if (cluster_rank() == 1) return; __syncthreads(); store_cluster(shared_of_rank(there, 1), "
     "1);",
     "block 1 of the cluster leaves while another uses its memory", 128, 2},
    {"the cluster's barrier without all",
     "if (cluster_rank() == 0) { cluster_arrive(); cluster_wait(); }",
     "wait for the cluster's barrier, which 128 of 256 reach", 128, 2},
    {"the cluster's barrier without arriving", "cluster_wait();", "and did not arrive", 128, 2},
    {"another block's barrier is waited for",
     MAKE
     "cluster_arrive(); cluster_wait(); mbarrier_wait(shared_of_rank(b, 1 - cluster_rank()), 0);",
     "of another block is waited for", 128, 2},
};

#define TILES                                                                                 \
  "HONE_DYNAMIC(16384); HONE_TEAM_AT(bf16, As, 4096, 0); HONE_TEAM_AT(bf16, Bs, 4096, 8192);" \
  "for (i32 i = t; i < 4096; i += 128) { As[i] = 0; Bs[i] = 0; }"                             \
  "const u64 a = matrix_descriptor(shared_address(HONE_AT(As, 0)), 16, 1024, 128);"           \
  "const u64 b = matrix_descriptor(shared_address(HONE_AT(Bs, 0)), 16, 1024, 128);"           \
  "HONE_OWN(float, d, 8); for (i32 i = 0; i < 8; ++i) d[i] = 0;"
#define READY TILES "fence_proxy_async(); __syncthreads();"
#define COPIED                                                                               \
  "HONE_DYNAMIC(16384); HONE_TEAM_AT(i32, As, 2048, 0); HONE_OWN(float, d, 8);"              \
  "for (i32 i = 0; i < 8; ++i) d[i] = 0;"                                                    \
  "const u64 a = matrix_descriptor(shared_address(HONE_AT(As, 0)), 16, 1024, 128);"          \
  "for (i32 i = t; i < 2048; i += 128) copy_async<4>(HONE_AT(As, i), HONE_AT(X, i % 1024));" \
  "commit_copies();"
#define TIMES(a, b) "wgmma_m64n16k16_bf16(HONE_AT(d, 0), " a ", " b ", true);"

constexpr Wrong kProducts[] = {
    {"right: a product",
     READY "wgmma_fence();" TIMES("a", "b") "wgmma_commit(); wgmma_wait<0>(); Y[t] = d[0];",
     nullptr},
    {"right: two products, and a tile that is written again",
     READY "wgmma_fence();" TIMES("a", "b")
         TIMES("a + 2", "b + 2") "wgmma_commit(); wgmma_wait<0>();"
                                 "__syncthreads(); As[t] = 1; Y[t] = d[0];",
     nullptr},
    {"the tile is not fenced",
     TILES "__syncthreads(); wgmma_fence();" TIMES("a", "b") "wgmma_commit(); wgmma_wait<0>();",
     "is read by a product of the tensor cores without fence.proxy.async by the thread that wrote "
     "it"},
    {"the tile is copied and not fenced",
     COPIED "wait_copies<0>(); __syncthreads(); wgmma_fence();" TIMES(
         "a", "a") "wgmma_commit(); wgmma_wait<0>();",
     "As[0] is read by a product of the tensor cores without fence.proxy.async by the thread that "
     "waited for an asynchronous copy to it"},
    {"right: the tile is copied and fenced",
     COPIED "wait_copies<0>(); fence_proxy_async(); __syncthreads(); wgmma_fence();" TIMES(
         "a", "a") "wgmma_commit(); wgmma_wait<0>(); Y[t] = d[0];",
     nullptr},
    {"a copied tile of which a thread writes a word again after the fence",
     COPIED "wait_copies<0>(); fence_proxy_async(); if (t == 7) As[7] = 1; __syncthreads(); "
            "wgmma_fence();" TIMES("a", "a") "wgmma_commit(); wgmma_wait<0>();",
     "As[7] is read by a product of the tensor cores without fence.proxy.async by the thread that "
     "wrote it"},
    {"the tile is not there yet for all warps",
     READY "if (t == 0) { As[0] = 1; fence_proxy_async(); } wgmma_fence();" TIMES(
         "a", "b") "wgmma_commit(); wgmma_wait<0>();",
     "is read by a product of the tensor cores in the barrier interval in which another thread "
     "writes it"},
    {"a tile that nobody wrote",
     "HONE_DYNAMIC(16384); HONE_TEAM_AT(bf16, As, 8192, 0); HONE_OWN(float, d, 8);"
     "const u64 a = matrix_descriptor(shared_address(HONE_AT(As, 0)), 16, 1024, 128);"
     "wgmma_fence();" TIMES("a", "a"),
     "As[0] is read before anything is written there"},
    {"no fence at all", READY TIMES("a", "b") "wgmma_commit(); wgmma_wait<0>();",
     "a product comes without wgmma_fence before it"},
    {"sums are written after the fence",
     READY "wgmma_fence(); d[3] = 1;" TIMES("a", "b") "wgmma_commit(); wgmma_wait<0>();",
     "d[3] is touched, and no wgmma_fence comes before the product that takes it"},
    {"sums are read before the wait",
     READY "wgmma_fence();" TIMES("a", "b") "wgmma_commit(); Y[t] = d[0]; wgmma_wait<0>();",
     "d[0] is touched before wgmma_wait for the product that has it"},
    {"one group too few is waited for",
     READY "wgmma_fence();" TIMES(
         "a", "b") "wgmma_commit(); wgmma_wait<1>(); Y[t] = d[0]; wgmma_wait<0>();",
     "d[0] is touched before wgmma_wait for the product that has it"},
    {"a product that is not committed",
     READY "wgmma_fence();" TIMES("a", "b") "wgmma_wait<0>(); Y[t] = d[0];",
     "d[0] is touched before wgmma_wait for the product that has it"},
    {"the thread leaves before the wait", READY "wgmma_fence();" TIMES("a", "b") "wgmma_commit();",
     "a thread leaves d before wgmma_wait"},
    {"three of four warps",
     READY "if (t < 96) { wgmma_fence();" TIMES("a", "b") "wgmma_commit(); wgmma_wait<0>(); }",
     "a product that only 96 of the 128 threads of its warpgroup issue"},
    {"warps that differ",
     READY "wgmma_fence();" TIMES("a + (t < 32 ? 0 : 2)", "b") "wgmma_commit(); wgmma_wait<0>();",
     "the threads of a warpgroup issue products that differ"},
    {"too few threads", READY "wgmma_fence();" TIMES("a", "b"),
     "a product takes 128 threads, and the block has 64", 64},
    {"the tile is written again too early",
     READY "wgmma_fence();" TIMES(
         "a", "b") "wgmma_commit(); __syncthreads(); As[t] = 1; wgmma_wait<0>();",
     "is written while a product of the tensor cores still reads it"},
    {"a tile that starts inside its pattern", READY "wgmma_fence();" TIMES("a + 8", "b"),
     "a matrix descriptor starts inside its swizzle's pattern of 1024 bytes"},
    {"a tile past the end", READY "wgmma_fence();" TIMES("a", "b + 512"), "where nothing is"},
    {"registers past the end",
     READY "wgmma_fence(); wgmma_m64n16k16_bf16(HONE_AT(d, 4), a, b, true);",
     "d[11] is outside its 8 elements"},
    {"a factor's registers are changed too early",
     READY "HONE_OWN(u32, f, 4); for (i32 i = 0; i < 4; ++i) f[i] = 0; wgmma_fence();"
           "wgmma_m64n16k16_bf16_registers(HONE_AT(d, 0), HONE_AT(f, 0), b, true); wgmma_commit();"
           "f[0] = 1; wgmma_wait<0>();",
     "f[0] is touched before wgmma_wait for the product that has it"},
};

struct Case {
  RowKernel kernel;
  const char* caught;  ///< part of the message; null: the kernel is right
};

template <size_t N>
void add(std::vector<Case>& cases, const Wrong (&table)[N]) {
  for (const Wrong& w : table) {
    RowKernel k = kernel_of(w.name, "i32", w.body, w.threads, Bytes(4096), Bytes(4096));
    k.blocks = k.cluster = w.cluster;
    k.dynamic_bytes = std::string(w.body).find("HONE_DYNAMIC") == std::string::npos ? 0 : 16384;
    cases.push_back({std::move(k), w.caught});
  }
}

/// Replaces a part of a kernel's text.
RowKernel edited(RowKernel kernel, const std::string& from, const std::string& to) {
  const size_t at = kernel.text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  kernel.text.replace(at, from.size(), to);
  kernel.name += ": " + from;
  return kernel;
}

/// Tensor copies whose tile, map and coordinates do not fit.
void add_tensor_copies(std::vector<Case>& cases) {
  for (const RowKernel& k : row_kernels()) {
    if (k.name == "tensor stores of rank 2, beyond the tensor's ends") {
      cases.push_back(
          {edited(k, ", 16, 3);", ", 16, -1);"), "a tensor store begins before the tensor"});
    }
    if (k.name != "a tile with a swizzle of 128 bytes") continue;
    cases.push_back({edited(k, "16 * 32, 0);", "16 * 32, 128);"),
                     "a tensor copy's tile in shared memory is not at a multiple of 1024 bytes"});
    cases.push_back(
        {edited(k, "b, 4, 0);", "b, 4);"), "a tensor copy takes 1 coordinates, its map 2"});
    cases.push_back({edited(k, "b, 4, 0);", "b, 3, 0);"),
                     "where a tensor copy's rows begin is not at a multiple of 16 bytes"});
    RowKernel narrow = k;
    narrow.maps[0].box[0] = 16;
    cases.push_back({narrow, "a tensor map's box is 64 bytes long, its swizzle 128"});
  }
}

/// A whole matrix product with a step left out, or another in its place.
void add_products(std::vector<Case>& cases) {
  struct Left {
    const char* out;
    const char* instead;
    const char* caught;
  };
  const Left table[] = {
      {"wgmma_wait<1>();\n", "\n", "while a product of the tensor cores still reads it"},
      {"if (k > 0 && t % 32 == 0) mbarrier_arrive(empty + 8 * ((u32)(k - 1) % 4));",
       "if (t % 32 == 0) mbarrier_arrive(empty + 8 * s);",
       "while a product of the tensor cores still reads it"},
      {"mbarrier_wait(full + 8 * s, (u32)k / 4 & 1);", "",
       "is read by a product of the tensor cores before"},
      {"mbarrier_wait(full + 8 * s, (u32)k / 4 & 1);", "mbarrier_wait(full + 8 * s, 0);",
       "nothing goes on: 256 threads wait for phase 2 of mbarrier bars[0]"},
      {"mbarrier_wait(empty + 8 * s, ((u32)k / 4 + 1) & 1);", "",
       "more than the 1 that it counts arrive at mbarrier bars[0] in phase 0"},
      {"((u32)k / 4 + 1) & 1", "((u32)k / 4) & 1", "nothing goes on"},
      {"mbarrier_arrive_expect(full + 8 * s, 32768);",
       "mbarrier_arrive_expect(full + 8 * s, 16384);",
       "mbarrier bars[0] completes phase 0 before all copies that it counts are there"},
      {"if (k > 0 && t % 32 == 0) mbarrier_arrive", "if (k > 0 && t % 128 == 0) mbarrier_arrive",
       "nothing goes on"},
      {"wgmma_fence();\n", "\n", "a product comes without wgmma_fence before it"},
      {"wgmma_wait<0>();\n", "\n", "is touched before wgmma_wait"},
      {"fence_mbarrier_init();", "", "without fence_mbarrier_init"},
  };
  for (const Left& row : table) {
    cases.push_back({edited(matmul_kernel(), row.out, row.instead), row.caught});
  }
  const Left clusters[] = {
      {"t % 32 < 2) mbarrier_arrive_at(empty + 8 * ((u32)(k - 1) % 4), (u32)(t % 32))",
       "t % 32 < 2) mbarrier_arrive(empty + 8 * ((u32)(k - 1) % 4))",
       "Bs[0] is written by the copy that mbarrier bars[0] counts before"},
      {"empty + 8 * s, 16)", "empty + 8 * s, 8)",
       "As[0] is written by the copy that mbarrier bars[0] counts before"},
      {"fence_proxy_async();\n", "\n", "without fence.proxy.async by the thread that wrote it"},
      {"barrier_sync(1 + half, 128);", "", "is written while a bulk store still reads it"},
      {"full + 8 * s, 3, k", "full + 8 * s, 1, k", "bytes are missing"},
      {"wgmma_wait<0>();\n", "\n", "is touched before wgmma_wait"},
  };
  for (const Left& row : clusters) {
    cases.push_back({edited(cluster_matmul_kernel(), row.out, row.instead), row.caught});
  }
}

}  // namespace

TEST_CASE("cuda: wrong asynchronous kernels are caught, each by its check") {
  std::vector<Case> cases;
  add(cases, kBarriers);
  add(cases, kCopies);
  add(cases, kGroups);
  add(cases, kProducts);
  add_tensor_copies(cases);
  add_products(cases);
  EmulatedCode code;
  for (const Case& c : cases) code.add(source_of(c.kernel));
  const std::string wrong = code.compile();
  REQUIRE_MESSAGE(wrong.empty(), wrong);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    RowData data(c.kernel);
    const std::string said = code.run(static_cast<int>(i), 0, data.args(), {});
    CHECK_MESSAGE((c.caught ? said.find(c.caught) != std::string::npos : said.empty()),
                  c.kernel.name << ": \"" << said << "\"");
  }
}
