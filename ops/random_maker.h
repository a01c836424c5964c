// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "include/hone/dtype.h"
#include "ops/random.h"

namespace hone::ops {

/// The type that arithmetic on elements of `t` is done in; of bool, itself.
DType seen_as(DType t);

/// A tensor that expressions of a random op can read; `dims` are numbers of dims.
struct RandomTensor {
  std::string name;
  DType type = DType::kF32;
  std::string type_name;  ///< of a dtype, or the parameter T
  std::vector<int> dims;
  bool constant = false;
  bool used = false;
  bool inout = false;
};

/// An index in scope and the dim that it runs over (-1: a window).
struct RandomIndex {
  std::string name;
  int dim = -1;
};

/// Writes the text of one op and its bindings. The text usually parses; the caller tries
/// again where it does not. Any construct of the language may stand in it, and values stay moderate
/// mostly, so that sums of them can be compared.
class ProblemMaker {
 public:
  ProblemMaker(uint64_t seed, const RandomOptions& options) : random_(seed), options_(options) {}

  std::string problem();
  /// Whether the text has what canonical text has not: functions of its own, uses of
  /// ops, conditions of data.
  bool has_shorthand() const { return shorthand_; }

 private:
  friend class RandomRecurrence;
  friend class RandomScatter;
  friend class RandomUse;
  using Scope = std::vector<RandomIndex>;

  /// New indices of a reduction under construction.
  struct Ranges {
    Scope scope;  ///< those around it, and its own
    std::string text;
  };

  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int>(list.size())))];
  }
  int any_dim() { return below(static_cast<int>(dims_.size())); }
  DType any_type();
  /// One of `types`, integers, or now and then one of less than a byte.
  std::string integer_type(const std::vector<std::string>& types);

  // random.cpp: signature, statements, bindings
  void make_dims();
  void make_types();
  void make_inputs();
  RandomTensor tensor(std::string name, int main_percent);
  std::string statement(bool last);
  std::string condition(const Scope& scope);
  std::string limited(const RandomTensor& target, const Scope& scope, bool by_data, bool recurs);
  std::string whole_value(const RandomTensor& target, const Scope& scope);
  std::string signature(const std::string& body) const;
  std::string bindings(const std::string& text);
  std::string layout(const RandomTensor& t, bool input);
  std::string strides(const RandomTensor& t, bool input);

  // random_values.cpp: expressions
  std::string value(DType type, int depth, const Scope& scope, int reductions);
  std::string number(DType type, int depth, const Scope& scope, int reductions);
  std::string bits(DType type, int depth, const Scope& scope, int reductions);
  std::string truth(int depth, const Scope& scope, int reductions);
  std::string leaf(DType type, const Scope& scope);
  std::string constant(DType type);
  std::string function(DType type, int depth, const Scope& scope, int reductions);
  std::string conversion(DType type, int depth, const Scope& scope, int reductions);
  std::string comparison(int depth, const Scope& scope, int reductions);
  std::string reduction(DType type, const Scope& scope, int reductions);
  std::string position(const Scope& scope, int reductions);
  std::string term(DType type, Ranges& ranges, int reductions);
  std::string read_any(DType type, const Scope& scope);
  std::string read(RandomTensor& t, const Scope& scope, Ranges* ranges);
  std::string range(const std::string& name, int dim, const Scope& scope);
  std::string index(const RandomIndex& index, int dim, Ranges* ranges, bool* guarded);
  std::string lookup(const RandomIndex& index);
  std::string otherwise(DType type);
  RandomTensor& pick_tensor();

  std::mt19937_64 random_;
  RandomOptions options_;
  std::vector<int64_t> dims_;
  std::vector<int64_t> lowest_;         ///< per dim; the dim itself where it is known
  DType type_ = DType::kF32;            ///< of the parameter T
  int64_t width_ = 2;                   ///< of the parameter P
  std::vector<RandomTensor> readable_;  ///< inputs, then what statements define
  std::vector<RandomTensor> outputs_;
  std::vector<std::string> extra_;  ///< declarations of ids and offsets
  std::vector<DType> scalars_;
  size_t inputs_ = 0;
  bool only_constants_ = false;  ///< the statement under way reads constants alone
  bool shorthand_ = false;
  int fresh_ = 0;
};

}  // namespace hone::ops
