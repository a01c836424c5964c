// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "ops/op.h"

namespace hone::ops {
namespace {

/// A tensor that expressions can read; `dims` are numbers of dims.
struct Readable {
  std::string name;
  std::vector<int> dims;
};

/// An index in scope and the dim that it runs over.
struct ScopeIndex {
  std::string name;
  int dim;
};

using Scope = std::vector<ScopeIndex>;

/// Writes the text of one op and its bindings. What it writes usually parses; the caller tries
/// again where it does not.
class ProblemMaker {
 public:
  ProblemMaker(uint64_t seed, const RandomOptions& options) : random_(seed), options_(options) {}

  std::string problem() {
    make_dims();
    make_inputs();
    const int statements = 1 + below(4);
    std::string body;
    for (int i = 0; i < statements; ++i) {
      body += (i ? "; " : "") + statement(i + 1 == statements);
    }
    return signature(body) + " { " + body + " }" + bindings(body);
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(static_cast<int>(list.size()))];
  }

  void make_dims() {
    static const std::vector<int64_t> sizes = {0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 64};
    for (int i = 1 + below(4); i > 0; --i) {
      const int64_t size = pick(sizes);
      dims_.push_back(size == 0 && chance(70) ? 6 : size);
    }
    static const std::vector<std::string> types = {"f32", "f32", "f32",  "f32", "f32",
                                                   "f64", "f16", "bf16", "i32", "i64"};
    type_ = pick(types);
    is_float_ = type_[0] != 'i';
  }

  void make_inputs() {
    for (int i = 1 + below(3); i > 0; --i) {
      Readable r{fmt::format("A{}", i), {}};
      for (int rank = below(4); rank > 0; --rank) r.dims.push_back(any_dim());
      readable_.push_back(std::move(r));
    }
    inputs_ = readable_.size();
  }

  int any_dim() { return below(static_cast<int>(dims_.size())); }

  std::string statement(bool last) {
    Scope scope;
    std::string left;
    const bool output = last || chance(15);
    Readable target{fmt::format("{}{}", output ? "Y" : "t", readable_.size()), {}};
    for (int rank = below(4); rank > 0; --rank) {
      const int dim = any_dim();
      scope.push_back({fmt::format("i{}", scope.size()), dim});
      target.dims.push_back(dim);
      left += fmt::format("{}{}{}", left.empty() ? "" : ",", scope.back().name,
                          output ? "" : fmt::format(" in 0..D{}", dim));
    }
    fresh_ = 0;
    std::string text = fmt::format("{}[{}] = {}", target.name, left, value(3, scope, 2));
    // What was defined and not read yet goes into the last statement, in full.
    for (const Readable& r : readable_) {
      if (last && r.name[0] == 't' && !used(r.name)) text += " + " + read(r, scope, 0);
    }
    if (scope.size() > 1 && chance(20)) {
      text += fmt::format(" where {} <= {}", scope[1].name, scope[0].name);
      if (output) text += " else 1";
    }
    text_ += text;
    if (output) outputs_.push_back(target);
    readable_.push_back(std::move(target));
    return text;
  }

  bool used(const std::string& name) const {
    return text_.find("(" + name + "[") != std::string::npos;
  }

  std::string constant() {
    static const std::vector<std::string> floats = {"0.5", "2", "-1", "0.25", "3"};
    static const std::vector<std::string> ints = {"2", "-1", "3", "7"};
    return pick(is_float_ ? floats : ints);
  }

  std::string value(int depth, const Scope& scope, int reductions) {
    if (depth == 0) return chance(15) ? constant() : read(pick(readable_), scope, reductions);
    const auto part = [&] { return value(depth - 1, scope, reductions); };
    switch (below(10)) {
      case 0:
        return read(pick(readable_), scope, reductions);
      case 1:
        return "(" + part() + " - " + part() + ")";
      case 2:
        return "max(" + part() + ", " + part() + ")";
      case 3:
      case 4:
        return function(part());
      case 5:
        return choice(depth, scope, reductions);
      case 6:
      case 7:
        return part() + " * " + part();
      default:
        return "(" + part() + " + " + part() + ")";
    }
  }

  /// Functions whose results stay moderate, so that sums of them can be compared.
  std::string function(const std::string& x) {
    if (!is_float_) return "relu(" + x + ")";
    static const std::vector<std::string> forms = {"tanh({})",      "relu({})",      "sigmoid({})",
                                                   "exp(-abs({}))", "sqrt(abs({}))", "gelu({})"};
    return fmt::format(fmt::runtime(pick(forms)), x);
  }

  std::string choice(int depth, const Scope& scope, int reductions) {
    if (scope.empty()) return value(depth - 1, scope, reductions);
    const std::string a = pick(scope).name;
    const std::string b = chance(50) ? pick(scope).name : std::to_string(below(9));
    return fmt::format("select({} < {}, {}, {})", a, b, value(depth - 1, scope, reductions),
                       value(depth - 1, scope, reductions));
  }

  /// An element of `r`; dims that no index in scope runs over are reduced.
  std::string read(const Readable& r, const Scope& scope, int reductions) {
    Scope inner = scope;
    std::string ranges, indices;
    for (const int dim : r.dims) {
      std::vector<std::string> fitting;
      for (const ScopeIndex& s : scope) {
        if (s.dim == dim) fitting.push_back(s.name);
      }
      std::string name;
      if (!fitting.empty() && chance(85)) {
        name = pick(fitting);
      } else {
        name = fmt::format("r{}", fresh_++);
        inner.push_back({name, dim});
        ranges += (ranges.empty() ? "" : ",") + range(name, dim, scope);
      }
      indices += (indices.empty() ? "" : ",") + index(name, dim);
    }
    std::string text = fmt::format("{}[{}]", r.name, indices);
    if (indices.find_first_of("+-") != std::string::npos) text += " else 0";
    text = "(" + text + ")";
    if (ranges.empty()) return text;
    if (reductions > 0 && chance(50)) text += " * " + value(1, inner, reductions - 1);
    if (chance(60)) return fmt::format("sum[{}]({})", ranges, text);
    // Nothing at all has an infinite maximum: kept finite, lest rounding decide between inf and
    // NaN.
    return fmt::format("max(-9, min(9, {}[{}]({})))", chance(50) ? "max" : "min", ranges, text);
  }

  /// A reduction's range: whole, a part, triangular, or read from data.
  std::string range(const std::string& name, int dim, const Scope& scope) {
    const int kind = below(12);
    if (kind == 0) return fmt::format("{} in 1..D{}", name, dim);
    if (kind == 1 && options_.data && !scope.empty()) {
      const int over = scope[0].dim;
      const std::string ends = fmt::format("B{}", extra_.size());
      extra_.push_back(fmt::format("{}: i64[D{}+1]", ends, over));
      return fmt::format("{} in {}[{}]..{}[{}+1]", name, ends, scope[0].name, ends, scope[0].name);
    }
    return fmt::format("{} in 0..D{}", name, dim);
  }

  /// An index along `dim`: plain, shifted, or looked up.
  std::string index(const std::string& name, int dim) {
    const int kind = below(14);
    if (kind == 0) return name + "-1";
    if (kind == 1) return name + "+1";
    if (kind == 2 && options_.data) {
      const std::string ids = fmt::format("B{}", extra_.size());
      extra_.push_back(fmt::format("{}: i32[D{}]", ids, dim));
      return fmt::format("{}[{}]", ids, name);
    }
    return name;
  }

  std::string shape(const Readable& r) const {
    std::string text;
    for (const int dim : r.dims) text += (text.empty() ? "D" : ",D") + std::to_string(dim);
    return fmt::format("{}: T[{}]", r.name, text);
  }

  std::string signature(const std::string& body) const {
    std::string in, out;
    for (size_t i = 0; i < inputs_; ++i) {
      if (body.find("(" + readable_[i].name + "[") == std::string::npos) continue;
      in += (in.empty() ? "" : ", ") + shape(readable_[i]);
    }
    for (const std::string& e : extra_) in += (in.empty() ? "" : ", ") + e;
    for (const Readable& r : outputs_) out += (out.empty() ? "" : ", ") + shape(r);
    return fmt::format("op fuzz<T={}>({}) -> ({})", type_, in, out);
  }

  std::string bindings(const std::string& body) {
    std::string text;
    const int ranged = options_.ranged && chance(20) ? any_dim() : -1;
    const std::string all = signature(body) + body;
    for (size_t i = 0; i < dims_.size(); ++i) {
      const std::string name = fmt::format("D{}", i);
      if (all.find(name) == std::string::npos) continue;
      text += fmt::format(" {}={}{}", name, static_cast<int>(i) == ranged ? "0.." : "", dims_[i]);
    }
    for (size_t i = 0; options_.layouts && i < inputs_; ++i) {
      const Readable& r = readable_[i];
      if (r.dims.empty() || all.find(r.name + ":") == std::string::npos) continue;
      if (chance(20)) text += fmt::format(" {}@{}", r.name, order(r.dims.size()));
      if (chance(10)) text += fmt::format(" const={}", r.name);
      if (chance(5)) text += fmt::format(" {}.align=64", r.name);
    }
    return text;
  }

  std::string order(size_t rank) {
    std::vector<std::string> names;
    for (size_t i = 0; i < rank; ++i) names.push_back(fmt::format("d{}", i));
    std::shuffle(names.begin(), names.end(), random_);
    return fmt::format("{}", fmt::join(names, ","));
  }

  std::mt19937_64 random_;
  RandomOptions options_;
  std::vector<int64_t> dims_;
  std::string type_;
  bool is_float_ = true;
  std::vector<Readable> readable_;  // inputs, then what statements define
  std::vector<Readable> outputs_;
  std::vector<std::string> extra_;  // declarations of ids and offsets
  size_t inputs_ = 0;
  std::string text_;  // statements so far
  int fresh_ = 0;
};

/// The values that variables take together, with dims known at the call at their ends.
double points(const ir::Program& program, const std::vector<ir::IndexVar>& vars) {
  double product = 1;
  for (const ir::IndexVar& v : vars) {
    int64_t extent = 0;
    if (!ir::is_const(v.hi, &extent)) {
      for (const ir::Dim& d : program.dims) extent = std::max(extent, d.hi);
    }
    product *= static_cast<double>(std::max<int64_t>(extent, 1));
  }
  return product;
}

bool is_moderate(const ir::Program& program, const RandomOptions& options) {
  return std::all_of(program.stages.begin(), program.stages.end(), [&](const ir::Stage& s) {
    const double terms = points(program, s.rvars);
    return terms <= options.most_terms && terms * points(program, s.vars) <= options.most_points;
  });
}

}  // namespace

std::string random_problem(uint64_t seed, const RandomOptions& options) {
  for (uint64_t attempt = 0;; ++attempt) {
    const auto p = parse_problem(ProblemMaker(seed + (attempt << 32), options).problem());
    if (p && is_moderate(p->program, options)) return p->text;
  }
}

}  // namespace hone::ops
