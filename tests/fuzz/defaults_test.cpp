// SPDX-License-Identifier: Apache-2.0
//
// Ops of the library at dims nobody tried: the default schedule of each compiles, and none is the
// plain loops for want of another. Nothing runs, so that thousands take seconds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "ops/op.h"
#include "schedules/model/model.h"
#include "schedules/space/space.h"
#include "tests/fuzz/watched.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// A problem's words, and the places of `KEY=number` among them.
struct Words {
  std::vector<std::string> words;
  std::vector<size_t> dims;

  explicit Words(const std::string& problem) {
    std::istringstream in(problem);
    for (std::string word; in >> word;) {
      const size_t at = word.find('=');
      const bool number = at != std::string::npos && at + 1 < word.size() &&
                          word.find_first_not_of("0123456789", at + 1) == std::string::npos;
      if (number) dims.push_back(words.size());
      words.push_back(word);
    }
  }
  int64_t value(size_t dim) const {
    return std::atoll(words[dims[dim]].c_str() + words[dims[dim]].find('=') + 1);
  }
  void set(size_t dim, int64_t value) {
    std::string& word = words[dims[dim]];
    word = word.substr(0, word.find('=') + 1) + std::to_string(value);
  }
  std::string text() const {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
    return out;
  }
};

/// The cases of the library, by op.
std::vector<std::vector<std::string>> cases_by_op() {
  std::map<std::string, std::vector<std::string>> ops;
  for (const ops::Case& c : ops::stock_library().cases) {
    ops[c.problem.substr(0, c.problem.find(' '))].push_back(c.problem);
  }
  std::vector<std::vector<std::string>> out;
  for (auto& [name, cases] : ops) out.push_back(std::move(cases));
  return out;
}

constexpr const char* kTargets[] = {"x86 isa=avx512 threads=1", "x86 isa=avx512 threads=2",
                                    "x86 isa=avx2 threads=1", "x86 isa=avx2 threads=2"};

/// Most that a default may cost by estimate, as a multiple of what the rules first thought of.
constexpr double kMostTimes = 10;

double estimated(const ir::Program& program, const std::string& schedule,
                 const ir::Target& target) {
  const auto steps = schedules::Schedule::parse(schedule);
  const auto scheduled = steps ? schedules::apply(program, *steps) : schedules::apply(program, {});
  return scheduled ? schedules::estimate(*scheduled, target) : 0;
}

/// What is wrong with the default of a problem, or "".
std::string wrong_default(Watched& watched, const ops::Problem& problem) {
  watched.told.clear();
  const auto kernel = runtime::choose_kernel(watched.engine.get(), problem);
  if (!kernel) return kernel.failure().message;
  if (!watched.told.empty()) return watched.told;
  if ((*kernel)->report.interpreted) return "the interpreter serves";
  const ir::Target& target = watched.engine->target;
  const std::string first =
      schedules::derive_space(problem.program, target, 1).front().analytic().text();
  if (first == (*kernel)->schedule) return "";
  const double wanted = estimated(problem.program, first, target);
  const double got = estimated(problem.program, (*kernel)->schedule, target);
  if (got <= kMostTimes * wanted) return "";
  return "serves what is estimated to take " + std::to_string(got / wanted) +
         " times as long as `" + first + "`";
}

void check_default(Watched& watched, const ops::Problem& problem) {
  const std::string wrong = wrong_default(watched, problem);
  CHECK_MESSAGE(wrong.empty(), wrong << "\n  repro: " << problem.text << " | "
                                     << watched.engine->target_text << " | ");
}

/// Dims of all sizes: mostly small ones where the case has small ones, which are strides and
/// windows, else anything up to what so many dims allow.
class RandomDims {
 public:
  explicit RandomDims(uint64_t seed) : random_(seed) {}

  std::string problem(const std::vector<std::vector<std::string>>& ops) {
    const auto& cases = ops[below(ops.size())];
    Words words(cases[below(cases.size())]);
    const double most = words.dims.size() <= 2 ? 3e6 : words.dims.size() == 3 ? 5000 : 300;
    for (size_t d = 0; d < words.dims.size(); ++d) {
      if (below(4) == 0) continue;
      const bool small = words.value(d) <= 4 && below(4) != 0;
      words.set(d, drawn(small ? 9 : most));
    }
    return words.text();
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  /// As many in each octave.
  int64_t drawn(double most) {
    const double u = static_cast<double>(random_() % 1000000) / 1e6;
    const auto value = static_cast<int64_t>(std::exp(u * std::log(most)));
    if (below(4) != 0) return value;
    const auto power = int64_t{1} << static_cast<int>(std::log2(static_cast<double>(value)));
    return std::max<int64_t>(1, power + static_cast<int64_t>(below(3)) - 1);
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("fuzz: defaults of the library's ops at random dims") {
  const auto ops = cases_by_op();
  const auto count = static_cast<int>(setting("HONE_FUZZ_PROBLEMS", by_effort(300, 1200, 4000)));
  RandomDims random(static_cast<uint64_t>(setting("HONE_FUZZ_SEED", 1)));
  int tried = 0;
  for (const char* target : kTargets) {
    Watched watched(target);
    if (!watched.engine) continue;
    for (int i = 0; i < count / static_cast<int>(std::size(kTargets)); ++i) {
      const auto problem = ops::parse_problem(random.problem(ops));
      if (!problem) continue;  // dims that the op does not allow
      ++tried;
      check_default(watched, *problem);
    }
  }
  std::printf("%d problems\n", tried);
}

TEST_CASE("fuzz: every op of the library with a dim of more than 31 bits") {
  constexpr int64_t kLong = (int64_t{1} << 31) + 3;
  int tried = 0;
  for (const char* target : kTargets) {
    Watched watched(target);
    if (!watched.engine) continue;
    for (const auto& cases : cases_by_op()) {
      Words words(cases.front());
      for (size_t d = 0; d < words.dims.size(); ++d) {
        const int64_t was = words.value(d);
        words.set(d, kLong);
        const auto problem = ops::parse_problem(words.text());
        words.set(d, was);
        if (!problem) continue;
        ++tried;
        check_default(watched, *problem);
      }
    }
  }
  std::printf("%d problems\n", tried);
  CHECK(tried > 100);
}
