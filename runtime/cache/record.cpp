// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/record.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "jit/ir/target.h"

namespace hone::runtime {
namespace {

/// `M=128` or `M=1..512`: a dim with its value, for ranges the upper end.
struct DimWord {
  std::string_view name;
  int64_t value = 0;
};

std::optional<DimWord> parse_dim(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals + 1 == word.size()) return std::nullopt;
  std::string_view value = word.substr(equals + 1);
  for (char c : value) {
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.') return std::nullopt;
  }
  const size_t dots = value.rfind("..");
  if (dots != std::string_view::npos) value.remove_prefix(dots + 2);
  return DimWord{word.substr(0, equals), std::strtoll(std::string(value).c_str(), nullptr, 10)};
}

/// Calls `f` on the op's text, if it is inline (it ends with the last brace), then on each word.
template <class F>
void each_word(std::string_view problem, F&& f) {
  const size_t brace = problem.rfind('}');
  size_t at = brace == std::string_view::npos ? 0 : brace + 1;
  if (at > 0) f(problem.substr(0, at));
  bool hint = false;  // `at 1,8,64` belongs to the values of the dim before it
  while ((at = problem.find_first_not_of(' ', at)) != std::string_view::npos) {
    const size_t end = std::min(problem.find(' ', at), problem.size());
    const std::string_view word = problem.substr(at, end - at);
    if (word != "at" && !hint) f(word);
    hint = word == "at";
    at = end;
  }
}

double ratio(int64_t a, int64_t b) {
  return std::fabs(std::log2((1.0 + static_cast<double>(a)) / (1.0 + static_cast<double>(b))));
}

}  // namespace

bool names_graph(std::string_view problem) {
  constexpr std::string_view kWord = "graph ";
  // Fixed by: text_hash.
  constexpr size_t kHashDigits = 32;
  if (!problem.starts_with(kWord)) return false;
  const size_t name = problem.find(' ', kWord.size());
  if (name == problem.npos || problem.size() < name + 1 + kHashDigits) return false;
  const std::string_view hash = problem.substr(name + 1, kHashDigits);
  return std::all_of(hash.begin(), hash.end(),
                     [](char c) { return std::isxdigit(static_cast<unsigned char>(c)); });
}

std::string family_of(std::string_view problem) {
  std::string family;
  each_word(problem, [&](std::string_view word) {
    if (!family.empty()) family += ' ';
    const auto dim = parse_dim(word);
    family += dim ? dim->name : word;
    if (dim) family += '=';
  });
  return family;
}

double shape_distance(std::string_view a, std::string_view b) {
  std::vector<int64_t> left, right;
  const auto collect = [](std::string_view problem, std::vector<int64_t>* values) {
    each_word(problem, [&](std::string_view word) {
      if (const auto dim = parse_dim(word)) values->push_back(dim->value);
    });
  };
  collect(a, &left);
  collect(b, &right);
  if (left.size() != right.size()) return HUGE_VAL;
  double distance = 0;
  for (size_t i = 0; i < left.size(); ++i) distance += ratio(left[i], right[i]);
  return distance;
}

double context_distance(const Key& record, const Key& asked) {
  if (record.target == asked.target && record.codegen == asked.codegen) return 0;
  const auto left = ir::parse_target(record.target, {}), right = ir::parse_target(asked.target, {});
  if (!left || !right || left->is_cuda() != right->is_cuda()) return HUGE_VAL;
  if (left->ptx != 0 && left->generation() / 10 < right->generation() / 10) return HUGE_VAL;
  double distance = record.codegen == asked.codegen ? 0 : 0.5;
  if (left->sm != right->sm) distance += left->sm / 10 == right->sm / 10 ? 2 : 6;
  if (left->ptx != right->ptx) distance += 2;
  if (left->gpu != right->gpu) distance += 1;
  if (left->vector_bytes() != right->vector_bytes()) distance += 8;
  if (left->isa != right->isa) distance += 2;
  if (left->cpu != right->cpu) distance += 1;
  distance += ratio(left->threads, right->threads);
  distance += 0.25 * (ratio(left->l1d, right->l1d) + ratio(left->l2, right->l2) +
                      ratio(left->l3, right->l3));
  return distance;
}

}  // namespace hone::runtime
