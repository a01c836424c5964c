// SPDX-License-Identifier: Apache-2.0
// Index integers that differ between lanes: 32 bits where they fit, tables and masks of constants.
#include "jit/passes/narrow_integers.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "tests/support/vector_units.h"

using namespace hone;

namespace {

struct Number {
  const char* text;
  std::function<int64_t(int64_t)> value;
};

const Number kNumbers[] = {
    {"i", [](int64_t i) { return i; }},
    {"3 - 2*i", [](int64_t i) { return 3 - 2 * i; }},
    {"i/2", [](int64_t i) { return i / 2; }},
    {"i%3", [](int64_t i) { return i % 3; }},
    {"7*i%5", [](int64_t i) { return 7 * i % 5; }},
    {"(i + 1)/16*16", [](int64_t i) { return (i + 1) / 16 * 16; }},
    {"min(i, 40)", [](int64_t i) { return std::min<int64_t>(i, 40); }},
    {"max(17, 90 - i)", [](int64_t i) { return std::max<int64_t>(17, 90 - i); }},
    {"select(i%2 == 0, i, 0 - i)", [](int64_t i) { return i % 2 == 0 ? i : -i; }},
    {"(i - 50)*(i + 3)", [](int64_t i) { return (i - 50) * (i + 3); }},
    {"(i - 50)*(i + 3)%7", [](int64_t i) { return (((i - 50) * (i + 3)) % 7 + 7) % 7; }},
    {"i*22000000", [](int64_t i) { return i * 22000000; }},
    {"i*100000000", [](int64_t i) { return i * 100000000; }},
    {"i*100000000/3", [](int64_t i) { return i * 100000000 / 3; }},
    {"i*50000000 - 3000000000", [](int64_t i) { return i * 50000000 - 3000000000; }},
};

struct Condition {
  const char* text;
  std::function<bool(int64_t)> holds;
};

const Condition kConditions[] = {
    {"i%2 == 0", [](int64_t i) { return i % 2 == 0; }},
    {"i%2 == 0 || i < 9", [](int64_t i) { return i % 2 == 0 || i < 9; }},
    {"2*i < 51", [](int64_t i) { return 2 * i < 51; }},
    {"60 <= 3*i", [](int64_t i) { return 60 <= 3 * i; }},
    {"i/4%2 != 1", [](int64_t i) { return i / 4 % 2 != 1; }},
    {"i*i <= 900", [](int64_t i) { return i * i <= 900; }},
    {"i == 90 - i", [](int64_t i) { return i == 90 - i; }},
    {"i%5 < i%3", [](int64_t i) { return i % 5 < i % 3; }},
    {"i*100000000 < 5000000000", [](int64_t i) { return i * 100000000 < 5000000000; }},
};

const char* const kSchedules[] = {
    "vectorize Y/i",
    "split Y/i 8 -> i.o i.i tail=peel; vectorize Y/i.i",
    "split Y/i 32 -> i.o i.i tail=peel; vectorize Y/i.i",
    "split Y/i 16 -> i.o i.i tail=mask; vectorize Y/i.i",
};

/// Runs `Y[i] = BODY` over N of 96 elements, N known or not, by every schedule.
template <class T, class Right>
void check(Engine& engine, const std::string& type, const std::string& body, const Right& right) {
  for (const char* dims : {"96", "91", "7", "0..96"}) {
    const std::string text =
        "op p(X: " + type + "[N]) -> (Y: " + type + "[N]) { Y[i] = " + body + " } N=" + dims;
    for (const char* steps : kSchedules) {
      const auto kernel = engine.try_compile(text, {.schedule = steps});
      CHECK_MESSAGE(kernel,
                    text << " | " << std::string(steps) << ": " << kernel.failure().message);
      if (!kernel) continue;
      const int64_t n = std::string(dims) == "0..96" ? 45 : std::stoi(dims);
      std::vector<T> x, y(static_cast<size_t>(n)), wanted;
      for (int64_t i = 0; i < n; ++i) x.push_back(static_cast<T>(i + 1));
      (*kernel)(x, y);
      for (int64_t i = 0; i < n; ++i) wanted.push_back(right(x[static_cast<size_t>(i)], i));
      CHECK_MESSAGE(y == wanted, text << " | " << engine.target() << " | " << steps);
    }
  }
}

template <class T>
void check_numbers(Engine& engine, const std::string& type) {
  for (const Number& n : kNumbers) {
    check<T>(engine, type, "X[i] + cast<" + type + ">(" + n.text + ")",
             [&](T x, int64_t i) { return static_cast<T>(x + static_cast<T>(n.value(i))); });
  }
}

template <class T>
void check_conditions(Engine& engine, const std::string& type) {
  for (const Condition& c : kConditions) {
    check<T>(engine, type, std::string("select(") + c.text + ", X[i], 0)",
             [&](T x, int64_t i) { return c.holds(i) ? x : T(0); });
  }
}

/// The nest of an op after the pass, or "" where it changes nothing.
std::string narrowed(const std::string& body, const std::string& arguments = "X: f32[N]") {
  const auto problem =
      ops::parse_problem("op p(" + arguments + ") -> (Y: f32[N]) { Y[i] = " + body + " } N=91" +
                         (arguments.find('M') == arguments.npos ? "" : " M=1"));
  REQUIRE_MESSAGE(problem, problem.failure().message);
  const auto steps = schedules::Schedule::parse("vectorize Y/i");
  const auto scheduled = schedules::apply(problem->program, *steps);
  REQUIRE(scheduled);
  ir::Target target;
  target.isa = static_cast<uint32_t>(ir::Isa::kAvx2);
  const auto nest = jit::lower(*scheduled, target);
  REQUIRE(nest);
  const auto out = jit::with_narrow_integers(*nest);
  return out ? print(*out) : "";
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("narrow integers: values of every type, in whole vectors, rests and open ranges") {
  tests::for_each_unit([](Engine& engine) {
    check_numbers<float>(engine, "f32");
    check_numbers<double>(engine, "f64");
    check_numbers<int32_t>(engine, "i32");
    check_numbers<int64_t>(engine, "i64");
  });
}

TEST_CASE("narrow integers: conditions in lanes of every size") {
  tests::for_each_unit([](Engine& engine) {
    check_conditions<float>(engine, "f32");
    check_conditions<double>(engine, "f64");
    check_conditions<uint8_t>(engine, "u8");
    check_conditions<int16_t>(engine, "i16");
  });
}

TEST_CASE("narrow integers: what fits is 32 bits, and what may not is as before") {
  CHECK(has(narrowed("X[i]*cast<f32>(i/2)"), "cast<i32>(Y/i)/2"));
  CHECK(has(narrowed("X[i]*cast<f32>(3*i + 1)"), "cast<i32>(3*Y/i + 1)"));
  CHECK(has(narrowed("select(2*i < 51, X[i], 0)"), "cast<i32>(2*Y/i) < "));
  CHECK_FALSE(has(narrowed("X[i]*cast<f32>(i*100000000)"), "i32"));
  CHECK_FALSE(has(narrowed("X[i]*cast<f32>(i*n[0])", "X: f32[N], n: i64[M]"), "i32"));
  // The lane's number decides these.
  CHECK(narrowed("select(i < 51, X[i], 0)").empty());
  CHECK(narrowed("X[i] + 1").empty());
}
