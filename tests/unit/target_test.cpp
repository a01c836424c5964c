// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/target.h"

#include <doctest/doctest.h>

#include "runtime/machine/host.h"

using hone::ir::Isa;
using hone::ir::parse_target;
using hone::ir::Target;

TEST_CASE("target: the host prints and parses back") {
  const Target host = hone::runtime::host_target();
  const auto back = parse_target(print(host), Target{});
  REQUIRE(back);
  CHECK(*back == host);
  CHECK(host.threads >= 1);
  CHECK(host.l1d >= 4096);
  CHECK(static_cast<int>(hone::runtime::usable_cpus().size()) == host.threads);
}

TEST_CASE("target: parts left out come from the base") {
  Target base;
  base.isa = static_cast<uint32_t>(Isa::kAvx512) | static_cast<uint32_t>(Isa::kAvx2);
  base.cpu = "amd-1a-02";
  base.threads = 2;
  const auto capped = parse_target("x86 isa=avx2", base);
  REQUIRE(capped);
  CHECK(print(*capped) == "x86 isa=avx2 cpu=amd-1a-02 threads=2 l1d=32K l2=1M l3=16M");
  CHECK(capped->vector_bytes() == 32);
  const auto none = parse_target("x86 isa=none threads=1 l1d=49152 cpu=any", base);
  REQUIRE(none);
  CHECK(print(*none) == "x86 isa=none cpu=any threads=1 l1d=48K l2=1M l3=16M");
  const auto full = parse_target("x86 isa=vnni,bf16", base);
  REQUIRE(full);
  CHECK(print(*full).starts_with("x86 isa=avx512,vnni,bf16 "));
  const auto gpu = parse_target("cuda sm=90", base);
  REQUIRE(gpu);
  CHECK(print(*gpu) == "cuda sm=90");
  CHECK(gpu->vector_bytes() == 0);
  CHECK(*parse_target("cuda", *gpu) == *gpu);
  const auto older = parse_target("cuda sm=90 ptx=86", base);
  REQUIRE(older);
  CHECK(print(*older) == "cuda sm=90 ptx=86");
  CHECK(older->generation() == 86);
  CHECK(gpu->generation() == 90);
  CHECK(parse_target("cuda sm=80", *older)->ptx == 0);
}

TEST_CASE("target: Halide's words are its own") {
  Target base;
  base.isa = static_cast<uint32_t>(Isa::kAvx2);
  const auto plain = parse_target("halide threads=2", base);
  REQUIRE(plain);
  CHECK(plain->halide);
  CHECK(print(*plain) == "halide isa=avx2 cpu=any threads=2 l1d=32K l2=1M l3=16M");
  const auto chosen = parse_target("halide autoschedule=adams2019 float=fast", base);
  REQUIRE(chosen);
  CHECK(print(*chosen).starts_with("halide autoschedule=adams2019 float=fast isa=avx2 "));
  CHECK(*parse_target(print(*chosen), Target{}) == *chosen);
  CHECK(*parse_target("halide autoschedule=none float=strict threads=2", *chosen) == *plain);
  CHECK_FALSE(parse_target("x86", *chosen)->halide);
  const auto wrong = parse_target("halide autoschedule=best", base);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.failure().message.find("none, adams2019, mullapudi2016 or li2018") !=
        std::string::npos);
  CHECK_FALSE(parse_target("x86 autoschedule=none", base));
}

TEST_CASE("target: errors underline the word and say what would do") {
  const auto message = [](const char* text) {
    const auto r = parse_target(text, Target{});
    REQUIRE_FALSE(r);
    return r.failure().message;
  };
  CHECK(message("x86 isa=avx3") ==
        "target: isa takes `none` or names joined by commas: avx2 avx512 vnni bf16 avxvnni fp16\n"
        "  x86 isa=avx3\n      ^^^^^^^^");
  CHECK(message("arm").find("`x86`, `halide` and `cuda`") != std::string::npos);
  CHECK(message("cuda").find("`sm=90`") != std::string::npos);
  CHECK(message("cuda sm=9.0").find("75 to 999") != std::string::npos);
  CHECK(message("cuda isa=avx2").find("a GPU has sm") != std::string::npos);
  CHECK(message("cuda sm=90 ptx=90").find("earlier compute capability") != std::string::npos);
  CHECK(message("x86 threads=0").find("1 to 4096") != std::string::npos);
  CHECK(message("x86 l2=9999999999999G").find("cache size") != std::string::npos);
  CHECK(message("x86 l9=1").find("isa cpu threads l1d l2 l3") != std::string::npos);
  CHECK(message("x86 fast").find("key=value") != std::string::npos);
  // All at once; of another kind nothing else is said.
  CHECK(message("x86 isa=avx3 threads=2 fast l9=1") ==
        "target: isa takes `none` or names joined by commas: avx2 avx512 vnni bf16 avxvnni fp16\n"
        "  x86 isa=avx3 threads=2 fast l9=1\n      ^^^^^^^^\n"
        "target: expected key=value\n"
        "  x86 isa=avx3 threads=2 fast l9=1\n                         ^^^^\n"
        "target: unknown key; one of isa cpu threads l1d l2 l3\n"
        "  x86 isa=avx3 threads=2 fast l9=1\n                              ^^^^");
  CHECK(message("arm isa=avx3 fast").find('\n') == message("arm").find('\n'));
}
