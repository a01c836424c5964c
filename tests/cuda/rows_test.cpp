// SPDX-License-Identifier: Apache-2.0
//
// What sm_90 has beside plain C++, row by row: a small kernel with a known answer each, which the
// emulation must give, and which the device's assembler must take.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "jit/cuda/nvrtc.h"
#include "jit/cuda/sm90_rows.h"
#include "tests/cuda/by_hand.h"
#include "tests/cuda/emulated_code.h"
#include "tests/cuda/rows_kernels.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// Runs kernels under the emulation; what differs from the answer, or what the emulation says.
std::vector<std::string> emulated(const std::vector<RowKernel>& kernels) {
  EmulatedCode code;
  for (const RowKernel& k : kernels) code.add(source_of(k));
  const std::string wrong = code.compile();
  REQUIRE_MESSAGE(wrong.empty(), wrong);
  std::vector<std::string> out;
  for (size_t i = 0; i < kernels.size(); ++i) {
    RowData data(kernels[i]);
    std::string said = code.run(static_cast<int>(i), 0, data.args(), {});
    out.push_back(said.empty() ? data.difference() : said);
  }
  return out;
}

void check_all(const std::vector<RowKernel>& kernels) {
  const auto said = emulated(kernels);
  for (size_t i = 0; i < kernels.size(); ++i) {
    CHECK_MESSAGE(said[i].empty(), kernels[i].name << ": " << said[i]);
  }
}

}  // namespace

TEST_CASE("cuda rows: barriers, copies, warp specialization and clusters mean what they say") {
  check_all(row_kernels());
}

TEST_CASE("cuda rows: products of every shape, type and layout") {
  const auto all = wgmma_kernels();
  const size_t every = static_cast<size_t>(by_effort(11, 7, 5, 1));
  std::vector<RowKernel> some;
  for (size_t i = 0; i < all.size(); i += every) some.push_back(all[i]);
  check_all(some);
}

TEST_CASE("cuda rows: a matrix product with warp specialization, TMA copies and four stages") {
  check_all({matmul_kernel(), cluster_matmul_kernel()});
}

TEST_CASE("cuda rows: every row has a kernel") {
  std::string all;
  for (const auto& kernels : {row_kernels(), wgmma_kernels()}) {
    for (const RowKernel& k : kernels) all += k.text;
  }
  for (const jit::Sm90Row& row : jit::sm90_rows()) {
    CHECK_MESSAGE(jit::sm90_rows_for(all).find(" " + row.name() + "(") != std::string::npos,
                  row.name());
  }
}

TEST_CASE("cuda rows: a source has the rows that it calls, and no other") {
  CHECK(jit::sm90_rows_for("Y[0] = X[0];").empty());
  CHECK_FALSE(jit::needs_sm90a("mbarrier_wait(b, 0);"));
  CHECK(jit::needs_sm90a("wgmma_commit();"));
  const std::string one = jit::sm90_rows_for("bulk_wait_read<0>();");
  CHECK(one.find("void bulk_wait_read()") != std::string::npos);
  CHECK(one.find("void bulk_wait()") == std::string::npos);
}

TEST_CASE("cuda rows: the device's compiler and assembler take every row") {
  const auto nvrtc = compiler_for(90);
  if (!nvrtc) return;
  // One source for many kernels: the compiler starts slowly.
  std::vector<RowKernel> all = row_kernels();
  for (RowKernel& k : wgmma_kernels()) all.push_back(std::move(k));
  all.push_back(matmul_kernel());
  all.push_back(cluster_matmul_kernel());
  // The compiler has no sanitizers in it: a sample for them.
  const auto step = static_cast<size_t>(by_effort(256, 64, 64));
  for (size_t first = 0; first < all.size(); first += step) {
    jit::CudaSource together;
    for (size_t i = first; i < std::min(first + 64, all.size()); ++i) {
      together.kernels += "namespace case_" + std::to_string(i) + " {\n" +
                          renamed(source_of(all[i]).kernels, "kernel_" + std::to_string(i)) + "}\n";
    }
    const auto binary = nvrtc->compile(together, 90);
    REQUIRE_MESSAGE(static_cast<bool>(binary), binary.failure().message.substr(0, 3000));
    CHECK_FALSE(binary->cubin.empty());
    CHECK(binary->log.find("serialized") == std::string::npos);
  }
}
