// SPDX-License-Identifier: Apache-2.0
//
// A scalar function is one row of a table. What the row names is there: code for every back end,
// accuracy measured, a place in the documents. `fuzz` looks for each in random problems, `oracle`
// compares each with NumPy.
#include "jit/x86/math/functions.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "jit/cuda/source.h"
#include "jit/ir/functions/function.h"
#include "ops/op.h"
#include "tests/support/source_root.h"
#include "tests/unit/math_sim.h"

using namespace hone;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(tests::source_root() + "/" + path);
  REQUIRE_MESSAGE(in, path << " cannot be read");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// An op of the function alone.
std::string op_of(const ir::Function& f, const std::string& call) {
  return fmt::format("op f(A: f32[N], B: f32[N]) -> (Y: f32[N]) {{ Y[i] = {} + 0 * {} }} N=8", call,
                     f.arity == 2 ? "1" : "B[i]");
}

}  // namespace

TEST_CASE("functions: every row is complete") {
  std::set<std::string> names;
  std::set<ir::Expansion> expansions;
  for (const ir::Function& f : ir::functions()) {
    INFO(f.name);
    CHECK(names.insert(f.name).second);
    CHECK(ir::function_named(f.name) == &f);
    CHECK((f.arity == 1 || f.arity == 2));
    CHECK(static_cast<bool>(f.eval));
    CHECK(f.error != ir::ErrorClass::kNone);
    CHECK(ir::tolerance(f.error, DType::kF32).units > 0);
    CHECK(f.expansion != ir::Expansion::kNone);
    CHECK(expansions.insert(f.expansion).second);
    CHECK(f.singles.all >= f.singles.products);
    CHECK(f.doubles.all >= f.doubles.products);
    CHECK(f.device_length > 0);
    CHECK(std::string(f.device.f32).find("return ") != std::string::npos);
    CHECK(std::string(f.device.f64).find("return ") != std::string::npos);
  }
  // No expansion is left over; the parts of a reciprocal are functions of a pass.
  for (const ir::Expansion part : {ir::Expansion::kReciprocalHigh, ir::Expansion::kReciprocalLow,
                                   ir::Expansion::kReciprocalScale}) {
    CHECK(expansions.insert(part).second);
  }
  CHECK(expansions.size() == static_cast<size_t>(ir::Expansion::kTrunc));
  CHECK(ir::function_named("sinus") == nullptr);
}

template <class F>
static void check_length(const ir::Function& f, const ir::VectorLength& stated) {
  jit::SimBuilder<F> b{.avx512 = true, .slow_paths = false};
  jit::expand<F>(b, f.expansion, F(0.7), F(1.3));
  constexpr int kDivision = 4;  // multiply-adds in its time
  INFO(std::string(f.name), " has ", b.operations, ", ", b.products, " products, ", b.divisions,
       " divisions");
  const int all = b.operations + (kDivision - 1) * b.divisions;
  const int products = b.products + (kDivision - 1) * b.divisions;
  // Machine code saves a few that follow from others.
  CHECK(stated.all <= all);
  CHECK(stated.all >= 0.75 * all);
  CHECK(stated.products <= products);
  CHECK(stated.products >= 0.75 * products);
}

TEST_CASE("functions: the length stated is that of the vector code with AVX-512") {
  for (const ir::Function& f : ir::functions()) {
    check_length<float>(f, f.singles);
    check_length<double>(f, f.doubles);
  }
}

TEST_CASE("functions: CUDA has each in both types") {
  const std::string prelude = jit::cuda_prelude();
  if (prelude.empty()) return;  // built without
  for (const ir::Function& f : ir::functions()) {
    for (const std::string type : {"float", "double"}) {
      const std::string second = f.arity == 2 ? ", " + type + " y" : "";
      const std::string head = fmt::format("{} fn_{}({} x{}) {{", type, f.name, type, second);
      CHECK_MESSAGE(prelude.find(head) != std::string::npos, head);
    }
  }
}

TEST_CASE("functions: the language takes each, and the call that random problems make of it") {
  for (const ir::Function& f : ir::functions()) {
    const std::string plain = fmt::format("{}({})", f.name, f.arity == 2 ? "A[i], B[i]" : "A[i]");
    CHECK_MESSAGE(ops::parse_problem(op_of(f, plain)), plain);
    if (!*f.moderate) continue;
    const std::string moderate = fmt::format(fmt::runtime(f.moderate), "A[i]", "B[i]");
    CHECK_MESSAGE(ops::parse_problem(op_of(f, moderate)), moderate);
    CHECK_MESSAGE(moderate.find(std::string(f.name) + "(") != std::string::npos, moderate);
  }
}

TEST_CASE("functions: the accuracy of each is measured, and how it is computed is written down") {
  const std::string measured = text_of("tests/unit/math_ulp_table.txt");
  const std::string document = text_of("jit/x86/math/README.md");
  for (const ir::Function& f : ir::functions()) {
    for (const char* isa : {"avx2", "avx512"}) {
      const std::string line = fmt::format("{:6} f32 {:9} ", isa, f.name);
      CHECK_MESSAGE(measured.find(line) != std::string::npos, "no line `" << line << "`");
    }
    CHECK_MESSAGE(document.find(f.name) != std::string::npos, f.name);
  }
}
