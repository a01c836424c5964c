// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are wrong in the ways that kernels are: the emulation must say which.
#include <doctest/doctest.h>

#include <climits>

#include "tests/cuda/emulated_code.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// A kernel over 64 threads a block, and what the emulation must say of it.
struct WrongWrong {
  const char* name;
  const char* body;
  const char* caught;  ///< part of the message; null: the kernel is right
  int blocks = 1;
};

// Tiles in the registers of two warps, and rows of 16 bytes in shared memory.
#define HONE_TILES                                                                     \
  "HONE_WARP(float, c, 4); HONE_WARP(f16, a, 8); HONE_WARP(f16, b, 4); "               \
  "HONE_TEAM(f16, s, 512); for (int i = 0; i < 8; ++i) { a[i] = 0; s[8 * t + i] = 0; " \
  "b[i / 2] = 0; c[i / 2] = 0; } __syncthreads(); "

// X and Y are floats, 128 of each, in slots 2 and 3; t is the thread's number.
constexpr WrongWrong kWrong[] = {
    {"right: reversed through shared memory",
     "HONE_TEAM(float, s, 64); s[t] = X[t]; __syncthreads(); Y[t] = s[63 - t];", nullptr},
    {"missing barrier", "HONE_TEAM(float, s, 64); s[t] = X[t]; Y[t] = s[63 - t];",
     "is read before anything is written there"},
    {"missing barrier before the next write",
     "HONE_TEAM(float, s, 64); for (int k = 0; k < 2; ++k) { s[t] = X[64 * k + t]; "
     "__syncthreads(); Y[64 * k + t] = s[63 - t]; }",
     "is read in the barrier interval in which another thread writes it"},
    {"missing barrier after the next write",
     "HONE_TEAM(float, s, 64); for (int k = 0; k < 2; ++k) { __syncthreads(); "
     "s[t] = X[64 * k + t]; if (k == 0) __syncthreads(); Y[64 * k + t] = s[63 - t]; }",
     "is written in the barrier interval in which another thread reads it"},
    {"barrier in a branch", "if (t < 32) __syncthreads(); Y[t] = X[t];",
     "a barrier or shuffle is reached by 32 of 64 threads"},
    {"barrier after some have left", "if (t == 5) return; __syncthreads(); Y[t] = X[t];",
     "a barrier or shuffle is reached by 63 of 64 threads"},
    {"shuffle in a branch", "float v = X[t]; if (t % 2) v = __shfl_xor_sync(~0u, v, 1); Y[t] = v;",
     "a barrier or shuffle is reached by 32 of 64 threads"},
    {"read one past the end", "Y[t] = X[2 * t + 2];", "X[128] is outside its 128 elements"},
    {"read before the beginning", "Y[t] = X[t - 1];", "X[-1] is outside its 128 elements"},
    {"write past the end", "Y[t + 65] = X[t];", "Y[128] is outside its 128 elements"},
    {"tile off by one in shared memory",
     "HONE_TEAM(float, s, 64); s[t + 1] = X[t]; __syncthreads(); Y[t] = s[t];",
     "s[64] is outside its 64 elements"},
    {"shared memory that nobody wrote",
     "HONE_TEAM(float, s, 64); if (t != 7) s[t] = X[t]; __syncthreads(); Y[t] = s[t];",
     "s[7] is read before anything is written there"},
    {"two threads write one shared element",
     "HONE_TEAM(float, s, 64); s[t / 2] = X[t]; __syncthreads(); Y[t] = s[t / 2];",
     "is written by two threads in one barrier interval"},
    {"two threads write one element", "Y[t / 2] = X[t];",
     "two threads write an element of Y, and not the same"},
    {"two blocks write one element", "Y[t] = X[t + (int)blockIdx.x];",
     "two threads write an element of Y, and not the same", 2},
    {"a result read by another thread without a launch between",
     "Y[t] = X[t]; Y[64 + t] = Y[63 - t];", "an element of Y is read that another thread writes"},
    {"a register tile indexed past its end",
     "HONE_OWN(float, r, 4); for (int i = 0; i <= 4; ++i) r[i] = X[i]; Y[t] = r[t % 4];",
     "r[4] is outside its 4 elements"},
    {"right: four elements at a time",
     "if (t < 16) store_vector<4>(HONE_AT(Y, 4 * t), load_vector<4, 4>(HONE_AT(X, 4 * t)));",
     nullptr},
    {"a vector that begins between two words",
     "if (t < 16) store_vector<4>(HONE_AT(Y, 4 * t), load_vector<4, 4>(HONE_AT(X, 4 * t + 2)));",
     "X[2] is not at a multiple of 16 bytes"},
    {"a vector stored between two words",
     "if (t < 16) store_vector<2>(HONE_AT(Y, 4 * t + 1), load_vector<4, 4>(HONE_AT(X, 4 * t)));",
     "Y[1] is not at a multiple of 8 bytes"},
    {"a vector past the end",
     "if (t > 31) store_vector<4>(HONE_AT(Y, 4 * (t % 32)), load_vector<4, 4>(HONE_AT(X, 4 * t)));",
     "X[128] is outside its 128 elements"},
    {"a vector in shared memory between two words",
     "HONE_TEAM(float, s, 68); s[t] = X[t]; __syncthreads(); "
     "if (t < 8) store_vector<4>(HONE_AT(Y, 4 * t), load_vector<4, 4>(HONE_AT(s, 5 * t)));",
     "s[5] is not at a multiple of 16 bytes"},
    {"a vector of which one element is another thread's",
     "HONE_TEAM(float, s, 128); store_vector<2>(HONE_AT(s, 2 * t), "
     "load_vector<2, 2>(HONE_AT(X, 2 * t))); Y[t] = s[2 * t] + s[(2 * t + 2) % 128];",
     "is read before anything is written there"},
    {"right: tiles of a warp", HONE_TILES "mma_f16(c.at(0), a.at(0), b.at(0)); Y[t] = c[3];",
     nullptr},
    {"tiles multiplied in a branch",
     HONE_TILES "if (t % 2) mma_f16(c.at(0), a.at(0), b.at(0)); Y[t] = c[3];",
     "a barrier or shuffle is reached by 32 of 64 threads"},
    {"lanes of a warp that multiply tiles of different kinds",
     HONE_TILES "if (t % 2) mma_f16(c.at(0), a.at(0), b.at(0)); "
                "else mma_bf16(c.at(0), a.at(0), b.at(0)); Y[t] = c[3];",
     "lanes of a warp meet at different instructions"},
    {"a tile past the registers", HONE_TILES "mma_f16(c.at(0), a.at(8), b.at(0)); Y[t] = c[3];",
     "a[8] is outside its 8 elements"},
    {"a tile from the middle of a word",
     HONE_TILES "mma_f16(c.at(0), a.at(1), b.at(0)); Y[t] = c[3];", "half a word"},
    {"a matrix whose rows do not begin at 16 bytes",
     HONE_TILES "load_matrices<1, false>(a.at(0), HONE_AT(s, 8 * (t % 8) + 1)); Y[t] = c[0];",
     "is not at a multiple of 16 bytes"},
    {"matrices read in a branch",
     HONE_TILES "if (t % 32 < 16) load_matrices<2, true>(a.at(0), HONE_AT(s, 8 * (t % 16))); "
                "Y[t] = c[0];",
     "a barrier or shuffle is reached by 32 of 64 threads"},
    {"matrices read before they are written",
     "HONE_WARP(f16, a, 8); HONE_TEAM(f16, s, 512); for (int i = 0; i < 8; ++i) s[8 * t + i] = 0; "
     "load_matrices<4, false>(a.at(0), HONE_AT(s, 8 * (63 - t))); Y[t] = a[0];",
     "is read before anything is written there"},
    {"right: chunks swizzled by their row",
     "HONE_TEAM(float, s, 64); s[swizzled<128, 4>(t)] = X[t]; __syncthreads(); "
     "Y[t] = s[swizzled<128, 4>(63 - t)];",
     nullptr},
    {"half of a swizzled row read as it was",
     "HONE_TEAM(float, s, 96); if (t > 31) s[swizzled<128, 4>(t)] = X[t]; __syncthreads(); "
     "if (t > 31) Y[t] = s[t ^ 32];",
     "is read before anything is written there"},
    {"a row's pad forgotten",
     "HONE_TEAM(float, s, 8 * 9); s[t / 8 * 9 + t % 8] = X[t]; __syncthreads(); Y[t] = s[t];",
     "s[8] is read before anything is written there"},
    {"shared memory past what the launch asked for",
     "HONE_DYNAMIC(256); HONE_TEAM_AT(float, s, 65, 0); s[t] = X[t]; Y[t] = s[t];",
     "s ends at byte 260 of 256 of dynamic shared memory"},
    {"two buffers in one place",
     "HONE_DYNAMIC(256); HONE_TEAM_AT(float, s, 32, 0); HONE_TEAM_AT(float, r, 32, 124); "
     "if (t < 32) { s[t] = X[t]; r[t] = X[t]; Y[t] = s[t]; }",
     "r overlaps other shared memory"},
    {"right: copied beside the threads",
     "HONE_TEAM(float, s, 64); copy_async<4>(HONE_AT(s, t), HONE_AT(X, t)); commit_copies(); "
     "wait_copies<0>(); __syncthreads(); Y[t] = s[63 - t];",
     nullptr},
    {"right: zeros where nothing is read",
     "HONE_TEAM(float, s, 64); if (t < 16) copy_async<16>(HONE_AT(s, 4 * t), "
     "HONE_AT(X, 4 * t + 96), t < 8 ? 16 : 0); commit_copies(); wait_copies<0>(); "
     "__syncthreads(); Y[t] = s[t];",
     nullptr},
    {"right: two buffers, one iteration ahead",
     "HONE_TEAM(float, s, 128); copy_async<4>(HONE_AT(s, t), HONE_AT(X, t)); commit_copies(); "
     "for (int k = 0; k < 2; ++k) { wait_copies<0>(); __syncthreads(); if (k == 0) "
     "copy_async<4>(HONE_AT(s, 64 + t), HONE_AT(X, 64 + t)); commit_copies(); "
     "Y[64 * k + t] = s[64 * k + 63 - t]; }",
     nullptr},
    {"a copy read before it is waited for",
     "HONE_TEAM(float, s, 64); copy_async<4>(HONE_AT(s, t), HONE_AT(X, t)); commit_copies(); "
     "__syncthreads(); Y[t] = s[t]; wait_copies<0>();",
     "is read before an asynchronous copy is waited for"},
    {"copies that nobody committed",
     "HONE_TEAM(float, s, 64); copy_async<4>(HONE_AT(s, t), HONE_AT(X, t)); wait_copies<0>(); "
     "Y[t] = s[t]; commit_copies();",
     "is read before an asynchronous copy is waited for"},
    {"a wait that leaves the group under way",
     "HONE_TEAM(float, s, 64); copy_async<4>(HONE_AT(s, t), HONE_AT(X, t)); commit_copies(); "
     "wait_copies<1>(); Y[t] = s[t]; wait_copies<0>();",
     "is read before an asynchronous copy is waited for"},
    {"another thread's copy without a barrier after the wait",
     "HONE_TEAM(float, s, 64); copy_async<4>(HONE_AT(s, t), HONE_AT(X, t)); commit_copies(); "
     "wait_copies<0>(); Y[t] = s[63 - t];",
     "is read before an asynchronous copy is waited for"},
    {"one buffer too few",
     "HONE_TEAM(float, s, 64); copy_async<4>(HONE_AT(s, t), HONE_AT(X, t)); commit_copies(); "
     "for (int k = 0; k < 2; ++k) { wait_copies<0>(); __syncthreads(); if (k == 0) "
     "copy_async<4>(HONE_AT(s, t), HONE_AT(X, 64 + t)); commit_copies(); "
     "Y[64 * k + t] = s[63 - t]; }",
     "is written by an asynchronous copy in the barrier interval in which another thread reads it"},
    {"a buffer refilled while threads still read it",
     "HONE_TEAM(float, s, 64); s[t] = X[t]; __syncthreads(); Y[t] = s[(t + 1) % 64]; "
     "copy_async<4>(HONE_AT(s, t), HONE_AT(X, 64 + t)); commit_copies(); wait_copies<0>();",
     "is written by an asynchronous copy in the barrier interval in which another thread reads it"},
    {"a copy between two words",
     "HONE_TEAM(float, s, 68); if (t < 16) copy_async<16>(HONE_AT(s, 4 * t), "
     "HONE_AT(X, 4 * t + 1)); commit_copies(); wait_copies<0>();",
     "X[1] is not at a multiple of 16 bytes"},
    {"a copy past the end",
     "HONE_TEAM(float, s, 256); copy_async<16>(HONE_AT(s, 4 * t), HONE_AT(X, 4 * t)); "
     "commit_copies(); wait_copies<0>();",
     "X[128] is outside its 128 elements"},
    {"a copy that nobody waits for",
     "HONE_TEAM(float, s, 64); copy_async<4>(HONE_AT(s, t), HONE_AT(X, t)); commit_copies();",
     "a thread leaves before it waits for its asynchronous copies"},
    {"combined by half of the threads",
     "float v = X[t]; if (t < 32) v = combine_threads<Sum, 0, 64, 1, 1>(v); Y[t] = v;",
     "a barrier or shuffle is reached by"},
};

}  // namespace

TEST_CASE("cuda: wrong kernels are caught, each by its check") {
  EmulatedCode code;
  for (const WrongWrong& w : kWrong) {
    jit::CudaSource source;
    source.slots = 4;
    source.kernels = std::string(
                         "struct Args { i64 slot[4]; };\n"
                         "HONE_KERNEL(64) kernel(const Args args) {\n"
                         "  HONE_GLOBAL(const float, X, args.slot[2], 128);\n"
                         "  HONE_GLOBAL(float, Y, args.slot[3], 128);\n"
                         "  const i32 t = (i32)threadIdx.x;\n  ") +
                     w.body + "\n}\n";
    jit::CudaLaunch launch;
    launch.symbol = "kernel";
    launch.grid = {ir::make_int(w.blocks), ir::make_int(1), ir::make_int(1)};
    launch.block = {64, 1, 1};
    launch.dynamic_bytes = 256;
    source.launches.push_back(launch);
    code.add(std::move(source));
  }
  const std::string wrong = code.compile();
  REQUIRE_MESSAGE(wrong.empty(), wrong);
  for (size_t i = 0; i < std::size(kWrong); ++i) {
    std::vector<float> x(128), y(128);
    for (size_t e = 0; e < x.size(); ++e) x[e] = static_cast<float>(e);
    int64_t status = LLONG_MAX;
    const int64_t args[4] = {reinterpret_cast<int64_t>(&status), 0,
                             reinterpret_cast<int64_t>(x.data()),
                             reinterpret_cast<int64_t>(y.data())};
    const std::string said = code.run(static_cast<int>(i), 0, args, {});
    const WrongWrong& w = kWrong[i];
    CHECK_MESSAGE((w.caught ? said.find(w.caught) != std::string::npos : said.empty()),
                  std::string(w.name) << ": \"" << said << "\"");
  }
}
