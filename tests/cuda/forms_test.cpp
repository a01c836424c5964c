// SPDX-License-Identifier: Apache-2.0
//
// What is printed for speed alone, counted in the source and, where a compiler is at hand, in its
// PTX: fences, widths of stores and of indices, looks at the status word, blocks for the GPU.
#include "jit/cuda/forms.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <regex>
#include <set>

#include "jit/cuda/narrow.h"
#include "jit/cuda/nvrtc.h"
#include "jit/cuda/report/report.h"
#include "ops/op.h"
#include "schedules/space/space.h"
#include "tests/cuda/by_hand.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

Printed printed(const std::string& text, const ir::Target& target = gpu()) {
  const auto problem = ops::parse_problem(text);
  REQUIRE_MESSAGE(static_cast<bool>(problem), text);
  auto made = print_default(problem->program, target);
  REQUIRE_MESSAGE(static_cast<bool>(made), text << ": " << made.failure());
  return *std::move(made);
}

std::string with_forms(const Printed& made, const jit::CudaForms& forms) {
  const auto source = jit::print_cuda(made.nest, gpu(), forms);
  REQUIRE(static_cast<bool>(source));
  return source->kernels;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The part of a PTX that is one kernel.
std::string kernel_in(const std::string& ptx, const std::string& symbol) {
  const size_t begin = ptx.find(".entry " + symbol + "(");
  if (begin == std::string::npos) return {};
  return ptx.substr(begin, ptx.find(".entry ", begin + 1) - begin);
}

/// Bytes of the stores to global memory in a kernel, also where the compiler does not know that it
/// is global.
std::set<int> store_widths(const std::string& kernel) {
  static const std::regex kStore(R"(\bst(?!\.shared|\.local|\.param)((?:\.\w+)*)\.[bufs](\d+))");
  std::set<int> out;
  for (std::sregex_iterator i(kernel.begin(), kernel.end(), kStore), end; i != end; ++i) {
    const std::string how = (*i)[1];
    const int elements = has(how, ".v4") ? 4 : has(how, ".v2") ? 2 : 1;
    out.insert(elements * std::stoi((*i)[2]) / 8);
  }
  return out;
}

}  // namespace

TEST_CASE("cuda forms: blocks of a cluster meet and free memory without a fence of the GPU") {
  const auto nvrtc = compiler_for(90);
  for (const char* text :
       {"matmul M=8192 N=8192 K=8192 T=bf16", "matmul M=4096 N=4096 K=4096 T=f16",
        "matmul M=2304 N=4352 K=320 T=bf16", "matmul_i8 M=4096 N=4096 K=4096 B@N,K",
        "batched_matmul B=16 M=1024 N=1024 K=1024 T=bf16"}) {
    const Printed made = printed(text);
    const std::string& kernels = made.source.kernels;
    REQUIRE_MESSAGE(has(kernels, "HONE_CLUSTER_KERNEL"), text);
    CHECK_MESSAGE(has(kernels, "mbarrier_arrive_at("), text);
    CHECK_MESSAGE(!has(kernels, "mbarrier_release_at("), text);
    CHECK_MESSAGE(!has(kernels, "cluster_arrive();"), text);
    if (!nvrtc) continue;
    const auto binary = nvrtc->compile(made.source, 90);
    REQUIRE_MESSAGE(static_cast<bool>(binary), binary.failure().message);
    for (const char* fence : {"membar", "fence.acq_rel", "fence.sc", ".release.cluster.shared",
                              "cluster.arrive.release"}) {
      CHECK_MESSAGE(!has(binary->ptx, fence), text << " has " << fence);
    }
  }
}

TEST_CASE("cuda forms: each is another text, and one that there is not is refused") {
  const Printed made = printed("matmul M=4096 N=4096 K=4096 T=bf16");
  const std::string best = with_forms(made, {});
  CHECK(best == made.source.kernels);
  std::set<std::string> texts{best};
  for (const jit::CudaForm& form : jit::all_cuda_forms()) {
    const auto parsed = jit::parse_cuda_forms(form.name);
    REQUIRE_MESSAGE(static_cast<bool>(parsed), form.name);
    CHECK((*parsed).*form.member);
    const bool clusters = std::string(form.name) == "status-always";
    const bool triangle = std::string(form.name) == "ascending-blocks";
    const Printed plain =
        printed(triangle ? "causal_attention B=1 H=2 S=512 D=64 T=bf16" : "softmax M=64 N=1024");
    texts.insert(with_forms(clusters || triangle ? plain : made, *parsed));
    if (triangle) CHECK(with_forms(plain, *parsed) != plain.source.kernels);
  }
  CHECK(texts.size() == jit::all_cuda_forms().size() + 1);
  const auto several = jit::parse_cuda_forms("plain-stores,fenced-arrive");
  REQUIRE(static_cast<bool>(several));
  CHECK((several->plain_stores && several->fenced_arrive && !several->status_always));
  const auto none = jit::parse_cuda_forms("plain-stores,fastest");
  REQUIRE_FALSE(static_cast<bool>(none));
  CHECK(has(none.failure().message, "\"fastest\""));
  CHECK(has(none.failure().message, "fenced-cluster"));
}

TEST_CASE("cuda stores: no narrower in the machine's words than in the schedule") {
  const auto nvrtc = compiler_for(90);
  const auto every = static_cast<size_t>(by_effort(4, 1, 1));
  size_t count = 0;
  for (const char* text :
       {"matmul M=8192 N=8192 K=8192 T=bf16", "fc_gelu M=4096 N=4096 K=4096 T=bf16",
        "matmul_i8 M=8192 N=8192 K=8192 B@N,K", "attention B=4 H=32 S=2048 L=2048 D=128 T=bf16",
        "softmax M=2000000 N=2048", "softmax M=2000000 N=2048 T=bf16", "add N=4294967296 T=f16",
        "op shift(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] * 2 } M=3000000 N=1024"}) {
    if (count++ % every != 0) continue;
    const Printed made = printed(text);
    CHECK_MESSAGE(!has(made.source.kernels, " store_vector<"), text);
    const auto reports =
        jit::report_on(made.nest, made.source, gpu(), jit::typical_dims(made.nest), {});
    if (!nvrtc) continue;
    const auto binary = nvrtc->compile(made.source, 90);
    REQUIRE_MESSAGE(static_cast<bool>(binary), binary.failure().message);
    for (const jit::LaunchReport& r : reports) {
      int least = 16;
      for (const jit::AccessSite& s : r.walked.sites) {
        if (s.store && !s.shared) least = std::min(least, s.bytes);
      }
      const std::set<int> widths = store_widths(kernel_in(binary->ptx, r.symbol));
      REQUIRE_MESSAGE(!widths.empty(), text << ", " << r.name);
      CHECK_MESSAGE(*widths.begin() >= least, text << ", " << r.name << ": stores of "
                                                   << *widths.begin() << " bytes, not " << least);
    }
  }
}

TEST_CASE("cuda stores: what the launch reads as well is not passed by loads") {
  const std::string apart = printed("add N=1048576").source.kernels;
  CHECK(has(apart, "store_global<4, true>"));
  const std::string own = printed("axpy N=1048576").source.kernels;
  CHECK(has(own, "store_global<4, false>"));
}

TEST_CASE("cuda indices: of 64 bits only where an offset needs them") {
  const auto wide = [](const std::string& text) {
    return has(printed(text).source.kernels, "(i64)blockIdx");
  };
  CHECK_FALSE(wide("matmul M=8192 N=8192 K=8192 T=bf16"));
  CHECK_FALSE(wide("matmul M=32768 N=32768 K=1024 T=bf16"));
  CHECK_FALSE(wide("copy N=1610612736 T=i8"));
  CHECK_FALSE(wide("softmax M=2000000 N=1000"));
  CHECK(wide("softmax M=2000000 N=2048"));
  CHECK(wide("copy N=4294967296 T=i8"));
  CHECK(wide("matmul M=65536 N=65536 K=64 T=bf16"));
}

TEST_CASE("cuda indices: sums that wrap around come out right, and all on the way fits") {
  // Tiles in groups, taken in rounds by as many blocks: terms far larger than the offset.
  std::mt19937 random(7);
  const auto between = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  int wrapped = 0;
  for (int round = 0; round < 200; ++round) {
    const int64_t blocks = between(50, 200), rounds = between(2, 40), group = between(2, 16);
    const int64_t columns = group * between(2, 64), tile = 1 << between(4, 8);
    const int64_t row = tile * ((blocks * rounds + columns - 1) / columns) * 64;
    const ir::Expr r = ir::make_var("r", 0), b = ir::make_var("b", 1), t = ir::make_var("t", 2);
    ir::Facts facts;
    facts.define_loop(0, 0, rounds);
    facts.define_loop(1, 0, blocks);
    facts.define_loop(2, 0, tile);
    const ir::Expr q = ir::make_int(blocks) * r + b;
    const auto div = [&](int64_t k) { return ir::make_binary(ir::Op::kDiv, q, ir::make_int(k)); };
    const ir::Poly offset =
        ir::Poly::of(ir::make_int(row * tile) * q - ir::make_int(group * row * tile) * div(group) +
                         ir::make_int(tile) * div(group) + ir::make_int(row) * t,
                     &facts);
    const auto terms = jit::index_terms(offset.expr());
    const auto wraps = jit::wrapped_terms(terms, facts);
    for (int sample = 0; sample < 50; ++sample) {
      const int64_t at[] = {between(0, rounds - 1), between(0, blocks - 1), between(0, tile - 1)};
      const auto value = [&](const ir::Expr& e) {
        const ir::Expr fixed = ir::rewrite(e, [&](const ir::Expr& x) {
          return x->op == ir::Op::kVar ? ir::make_int(at[x->id]) : ir::Expr();
        });
        return *ir::Poly::of(fixed).value();
      };
      int64_t all = 0, sum = 0;
      for (size_t i = 0; i < terms.size(); ++i) {
        const int64_t v = (terms[i].minus ? -1 : 1) * value(terms[i].value);
        all += v;
        if (wraps[i]) sum += v;
      }
      if (std::abs(all) > INT32_MAX) break;  // a launch of such offsets is wide
      // The terms that wrap make a number of 32 bits; so does every sum after them.
      CHECK(sum == static_cast<int32_t>(sum));
      for (size_t i = 0; i < terms.size(); ++i) {
        if (wraps[i]) ++wrapped;
        if (wraps[i]) continue;
        sum += (terms[i].minus ? -1 : 1) * value(terms[i].value);
        CHECK(sum == static_cast<int32_t>(sum));
      }
    }
  }
  CHECK(wrapped > 1000);
}

TEST_CASE("cuda status: read first only where some launch checks data") {
  const std::string look = "if (*(const i64*)args.slot[0] != ";
  for (const char* text : {"softmax M=64 N=1024", "add N=1000", "sum_all M=1024 N=1024",
                           "attention B=1 H=2 S=64 L=64 D=32 T=f16", "transpose M=64 N=96"}) {
    CHECK_MESSAGE(!has(printed(text).source.kernels, look), text);
  }
  const Printed checked = printed("embedding_bag R=400 D=64 L=1024 B=16");
  CHECK(has(checked.source.kernels, look));
  CHECK(has(checked.source.kernels, "lowest(status, "));
  CHECK(has(with_forms(printed("add N=1000"), {.status_always = true}), look));
}

TEST_CASE("cuda target: as many blocks as the GPU has multiprocessors") {
  ir::Target target = gpu();
  for (const int sms : {16, 78, 114, 144}) {
    target.sms = sms;
    const Printed made = printed("matmul M=8192 N=8192 K=4096 T=bf16", target);
    REQUIRE(made.source.launches.size() == 1);
    CHECK_MESSAGE(jit::grid_of(made.source.launches[0], {})[0] == sms, sms);
  }
  // Fewer multiprocessors are filled by larger tiles.
  const auto blocks = [&](int sms) {
    target.sms = sms;
    const auto grid =
        jit::grid_of(printed("matmul M=1024 N=1024 K=512 T=bf16", target).source.launches[0], {});
    return grid[0] * grid[1] * grid[2];
  };
  CHECK(blocks(16) < blocks(132));
}
