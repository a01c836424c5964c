// SPDX-License-Identifier: Apache-2.0
//
// No text takes long to compile or to refuse, nor much memory: statements that read each other
// many times, indices that repeat their parts, chains of many stages.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ops/op.h"
#include "tests/fuzz/watched.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

/// Of the processor, not of the clock; the tests' build is not optimised as a release is, and takes
/// three times as long. The slowest takes 2 to 4.5 s, by how busy its host is; what doubles with
/// each stage takes minutes.
constexpr double kMostSeconds = kSanitized ? 60 : 12;
constexpr long kMostKilobytes = 200 * 1024;

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

long most_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Compiles the problem's default for a target, or has it refused.
void check_time(const std::string& target, const std::string& text) {
  CAPTURE(target);
  CAPTURE(text);
  Watched watched(target);
  if (!watched.engine) return;
  const long kilobytes = most_kilobytes();
  const double begin = processor_seconds();
  if (const auto problem = ops::parse_problem(text)) {
    const auto kernel = runtime::choose_kernel(watched.engine.get(), *problem);
    CHECK_MESSAGE(kernel, kernel.failure().message);
  }
  CHECK(watched.told == "");
  CHECK(processor_seconds() - begin < kMostSeconds);
  CHECK((kSanitized || most_kilobytes() - kilobytes < kMostKilobytes));
}

std::string number(int n) { return std::to_string(n); }

/// `count` statements, each of which `f` writes over the name of the one before.
std::string chain(int count, const char* index, const char* shape,
                  const std::function<std::string(const std::string&)>& f) {
  std::string text = "op chain(X: f32" + std::string(shape) + ") -> (Y: f32" + shape + ") { ";
  std::string last = "X";
  for (int i = 0; i < count; ++i) {
    const std::string name = "t" + number(i);
    text += name + index + " = " + f(last) + "; ";
    last = name;
  }
  return text + "Y" + index + " = " + last + index + " } N=64";
}

/// An index in which each level repeats the one inside it, as its normal form does.
std::string nested(int levels, const std::function<std::string(const std::string&, int)>& f) {
  std::string index = "i";
  for (int i = 0; i < levels; ++i) index = f(index, i);
  return "op nested(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[" + index + "] else 0.0 } N=100";
}

/// Statements that read earlier ones at random, near or far, once or often, as they are, shifted,
/// reduced or by half. Each is read.
class RandomChain {
 public:
  explicit RandomChain(uint64_t seed) : random_(seed) {}

  std::string text() {
    const bool two = below(2) == 0;
    const size_t count = pick({5, 10, 20, 40, 80, 120}), far = pick({1, 2, 5, 100});
    const size_t reduced = below(60);
    index_ = two ? "[i,j]" : "[i]";
    const std::string shape = two ? "[N,M]" : "[N]", beside = two ? ",j" : "";
    std::vector<std::string> names{"X"}, unread;
    std::string body;
    for (size_t i = 0; i < count; ++i) {
      std::string value;
      const auto drawn = [&] {
        const std::string name = names[names.size() - 1 - below(std::min(far, names.size()))];
        std::erase(unread, name);
        return name;
      };
      value = below(100) < reduced ? reduction(drawn, beside) : pointwise(drawn);
      names.push_back("t" + std::to_string(i));
      unread.push_back(names.back());
      body += names.back() + (two ? "[i in 0..N,j in 0..M]" : "[i in 0..N]") + " = " + value + "; ";
    }
    std::string sum;
    for (const std::string& name : unread) sum += (sum.empty() ? "" : " + ") + name + index_;
    return "op chain(X: f32" + shape + ") -> (Y: f32" + shape + ") { " + body + "Y" + index_ +
           " = " + sum + " } " + pick({"N=64", "N=7", "N=1000", "N=1..50"}) + (two ? " M=9" : "");
  }

 private:
  using Name = std::function<std::string()>;

  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  template <class T>
  T pick(std::initializer_list<T> items) {
    return items.begin()[below(items.size())];
  }

  std::string pointwise(const Name& name) {
    const std::string a = name() + index_, b = name() + index_;
    switch (below(6)) {
      case 0:
        return a + "*" + b;
      case 1:
        return "sqrt(abs(" + a + "))*" + b + " + " + a;
      case 2:
        return "max(" + a + ", " + b + "*2.0)";
      case 3:
        return "select(" + a + " < " + b + ", " + a + ", " + b + ")";
      case 4:
        return "exp(" + a + " - " + b + ")/(" + a + " + 1.0)";
      default:
        return "(" + a + " + " + b + ")*(" + a + " - " + b + ")";
    }
  }

  std::string reduction(const Name& name, const std::string& beside) {
    const std::string a = name(), b = name() + index_;
    switch (below(6)) {
      case 0:
        return "sum[q in 0..3](" + a + "[i+q" + beside + "] else 0.0)*" + b;
      case 1:
        return "sum[q](" + a + "[q" + beside + "])*" + b;
      case 2:
        return "max[q](" + a + "[q" + beside + "]) - " + b;
      case 3:
        return "(" + a + "[i-1" + beside + "] else 0.0) + (" + a + "[i+1" + beside +
               "] else 0.0)*" + b;
      case 4:
        return a + "[i/2" + beside + "] + " + b;
      default:
        return a + "[(i*3+1)%N" + beside + "]*" + b;
    }
  }

  std::mt19937_64 random_;
  std::string index_;
};

constexpr const char* kTargets[] = {"x86 isa=avx512 threads=2", "x86 isa=avx2 threads=1"};

}  // namespace

TEST_CASE("fuzz: statements that read each other often compile soon") {
  for (const char* target : kTargets) {
    const auto one = [&](int count, const std::function<std::string(const std::string&)>& f) {
      check_time(target, chain(count, "[i]", "[N]", f));
    };
    one(40, [](const std::string& t) { return t + "[i]*" + t + "[i]"; });
    one(40, [](const std::string& t) { return "sqrt(" + t + "[i])*" + t + "[i] + " + t + "[i]"; });
    one(500, [](const std::string& t) { return t + "[i] + 1.0"; });
    one(100, [](const std::string& t) { return t + "[i] + sum[q in 0..3](X[q])"; });
    one(200, [](const std::string& t) { return t + "[i]/sum[q](" + t + "[q])"; });
    check_time(target, chain(200, "[i,j]", "[N,N]",
                             [](const std::string& t) { return "sum[q](" + t + "[i,q]*X[q,j])"; }));
  }
}

TEST_CASE("fuzz: indices that repeat their parts compile soon") {
  for (const char* target : kTargets) {
    // Their constants grow as factorials do: more levels leave 64 bits.
    for (const int levels : {8, 14}) {
      check_time(target, nested(levels, [](const std::string& e, int i) {
                   return "(" + e + ")*(i+" + number(i) + ")";
                 }));
    }
    for (const int levels : {8, 20, 60}) {
      check_time(target, nested(levels, [](const std::string& e, int i) {
                   return "(" + e + "*3+" + number(i) + ")%" + number(7 + i);
                 }));
      check_time(target, nested(levels, [](const std::string& e, int i) {
                   return "(" + e + "*3+" + number(i) + ")/2";
                 }));
      check_time(target, nested(levels, [](const std::string& e, int i) {
                   return "min(" + e + "+" + number(i) + ", max(i-1, i*" + number(i) + "))";
                 }));
    }
  }
}

TEST_CASE("fuzz: random chains of statements compile soon") {
  const int count = static_cast<int>(by_effort(6, 30, 60, 1000));
  const auto seed = static_cast<uint64_t>(setting("HONE_FUZZ_SEED", 1));
  for (int i = 0; i < count; ++i) {
    RandomChain random(seed * 1000003 + static_cast<uint64_t>(i));
    check_time(kTargets[i % 2], random.text());
  }
}
