// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/op.h"
#include "ops/random_maker.h"
#include "ops/random_recurrence.h"
#include "ops/random_scatter.h"
#include "ops/random_use.h"

namespace hone::ops {
namespace {

/// True where the name stands in `text`, not as a part of another.
bool has_word(const std::string& text, const std::string& name) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !in_name(text[at - 1])) && (end == text.size() || !in_name(text[end]))) {
      return true;
    }
  }
  return false;
}

/// Functions of any number of one type. Each calls those after it; in a text they stand before.
constexpr const char* kOwnFunctions[] = {"(x, y) = max(own1(x), y) - own1(y)",
                                         "(x) = select(x < 2, x, 1 - x)"};
/// Whether a statement is of a rare kind. The generator is looked at, not drawn from: others are as
/// they were for a seed before there were statements of that kind.
bool is_rare(std::mt19937_64 random, unsigned long long ahead, uint64_t one_in = 8) {
  random.discard(ahead);
  return random() % one_in == 0;
}
/// Whether a statement reads itself.
bool goes_on(const std::mt19937_64& random) { return is_rare(random, 64); }
/// Whether its elements are told by positions.
bool scatters(const std::mt19937_64& random) { return is_rare(random, 65); }
/// Whether it uses an op of the library.
bool uses_op(const std::mt19937_64& random) { return is_rare(random, 66); }
/// Whether that op has several results.
bool makes_several(const std::mt19937_64& random) { return is_rare(random, 68, 3); }
/// Whether its `where` is a condition of data.
bool looks_at_data(const std::mt19937_64& random) { return is_rare(random, 67); }

/// Whether a type is one of the later, rarer ones.
bool is_late_type(const std::mt19937_64& random) { return is_rare(random, 66, 3); }
/// Those before them. A seed's problems keep the types that they had.
constexpr int kEarlyTypes = static_cast<int>(DType::kBool) + 1;

std::string with_commas(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ","));
}

/// A tensor as a signature declares it.
std::string declared(const RandomTensor& t) {
  std::vector<std::string> dims;
  for (const int d : t.dims) dims.push_back(fmt::format("D{}", d));
  return fmt::format("{}{}: {}[{}]", t.inout ? "inout " : "", t.name, t.type_name,
                     with_commas(dims));
}

}  // namespace

std::string ProblemMaker::problem() {
  make_dims();
  make_types();
  make_inputs();
  const int statements = 1 + below(4);
  std::string body;
  for (int i = 0; i < statements; ++i) {
    body += (i ? "; " : "") + statement(i + 1 == statements);
  }
  const std::string text = signature(body) + " { " + body + " }";
  std::string own;
  for (size_t i = 0; i < std::size(kOwnFunctions); ++i) {
    const bool called =
        has_word(body, fmt::format("own{}", i)) || has_word(own, fmt::format("own{}", i));
    shorthand_ |= called;
    if (called) own = fmt::format("fn own{}{}; ", i, kOwnFunctions[i]) + own;
  }
  return own + text + bindings(text);
}

DType ProblemMaker::any_type() {
  const bool late = is_late_type(random_);
  const uint64_t drawn = random_();
  constexpr auto kLate = static_cast<uint64_t>(kDTypeCount - kEarlyTypes);
  return static_cast<DType>(late ? kEarlyTypes + drawn % kLate : drawn % kEarlyTypes);
}

std::string ProblemMaker::integer_type(const std::vector<std::string>& types) {
  const bool late = is_late_type(random_);
  const std::string& type = pick(types);
  if (!late) return type;
  return type == "i64" ? "u4" : type == "i32" ? "i4" : type == "u8" ? "u1" : "u2";
}

void ProblemMaker::make_dims() {
  const auto any_size = [&]() -> int64_t {
    static const std::vector<int64_t> sizes = {0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 64};
    if (options_.most_dim > sizes.back()) {
      const double octaves = std::log2(static_cast<double>(options_.most_dim)) * below(1001) / 1000;
      const bool power = chance(25);
      return static_cast<int64_t>(std::exp2(power ? std::round(octaves) : octaves));
    }
    const int64_t size = pick(sizes);
    return size == 0 && chance(70) ? 6 : size;
  };
  for (int i = 1 + below(4); i > 0; --i) {
    dims_.push_back(any_size());
    lowest_.push_back(dims_.back());
    if (!options_.ranged || !chance(12)) continue;
    lowest_.back() = chance(60) ? 0 : below(static_cast<int>(dims_.back()) + 1);
  }
}

void ProblemMaker::make_types() {
  static const std::vector<DType> types = {DType::kF32,  DType::kF32, DType::kF32, DType::kF32,
                                           DType::kF32,  DType::kF32, DType::kF64, DType::kF16,
                                           DType::kBF16, DType::kI32, DType::kI64, DType::kI8};
  type_ = chance(85) ? pick(types) : any_type();
  width_ = 1 + below(3);
  for (int i = below(3); i > 0; --i) scalars_.push_back(chance(60) ? type_ : any_type());
}

RandomTensor ProblemMaker::tensor(std::string name, int main_percent) {
  RandomTensor t;
  t.name = std::move(name);
  const bool main = chance(main_percent);
  t.type = main ? type_ : any_type();
  t.type_name = main ? "T" : std::string(name_of(t.type));
  return t;
}

void ProblemMaker::make_inputs() {
  for (int i = 1 + below(3); i > 0; --i) {
    RandomTensor t = tensor(fmt::format("A{}", i), 70);
    bool known = true;
    for (int rank = below(4); rank > 0; --rank) {
      t.dims.push_back(any_dim());
      known &=
          lowest_[static_cast<size_t>(t.dims.back())] == dims_[static_cast<size_t>(t.dims.back())];
    }
    t.constant = options_.layouts && known && chance(20);
    readable_.push_back(std::move(t));
  }
  inputs_ = readable_.size();
}

std::string ProblemMaker::statement(bool last) {
  const bool output = last || chance(15);
  RandomTensor target =
      tensor(fmt::format("{}{}", output ? "Y" : "t", readable_.size()), output ? 70 : 0);
  const bool stated = !output && chance(25);
  if (!output && !stated) target.type = seen_as(chance(80) ? type_ : any_type());
  target.inout = output && chance(12);
  only_constants_ = chance(30) && std::any_of(readable_.begin(), readable_.end(),
                                              [](const auto& t) { return t.constant; });
  if (!last && uses_op(random_)) {
    if (std::string made = RandomUse(*this, target, output, makes_several(random_)).statement();
        !made.empty()) {
      shorthand_ = true;
      if (output) outputs_.push_back(target);
      readable_.push_back(std::move(target));
      return made;
    }
  }
  Scope scope;
  std::vector<std::string> left;
  for (int rank = below(4); rank > 0; --rank) {
    const int dim = any_dim();
    scope.push_back({fmt::format("i{}", scope.size()), dim});
    target.dims.push_back(dim);
    left.push_back(scope.back().name + (output ? "" : fmt::format(" in 0..D{}", dim)));
  }
  fresh_ = 0;
  if (!scope.empty() && scatters(random_)) {
    std::string made = RandomScatter(*this, target, scope).statement();
    only_constants_ = false;
    if (output) outputs_.push_back(target);
    readable_.push_back(std::move(target));
    return made;
  }
  const bool recurs = !target.inout && !scope.empty() && goes_on(random_);
  const bool typed = stated || (recurs && !output);
  std::string text =
      fmt::format("{}{}[{}] ", target.name, typed ? ": " + std::string(name_of(target.type)) : "",
                  with_commas(left));
  std::string value = whole_value(target, scope);
  std::string before;
  if (recurs) value = RandomRecurrence(*this, target, scope).value(std::move(value), before);
  text = before + text;
  text += (target.inout && chance(50) ? "+= " : "= ") + value;
  // What was defined and not read yet goes into the last statement.
  for (RandomTensor& t : readable_) {
    if (!last || t.used || t.name[0] != 't') continue;
    only_constants_ = false;
    Ranges ranges{scope, ""};
    const std::string element = read(t, scope, &ranges);
    const std::string sum = ranges.text.empty()
                                ? element
                                : fmt::format("{}[{}]({})", t.type == DType::kBool ? "any" : "max",
                                              ranges.text, element);
    text += fmt::format(" + cast<{}>({})",
                        name_of(target.type == DType::kBool ? DType::kI32 : target.type), sum);
  }
  const bool by_data = looks_at_data(random_);
  if (!scope.empty() && (by_data || chance(15))) text += limited(target, scope, by_data, recurs);
  only_constants_ = false;
  if (output) {
    outputs_.push_back(target);
  }
  // The new value of an inout is read as any other.
  readable_.push_back(std::move(target));
  return text;
}

/// The value of a statement: one reduction, a conversion where storage asks for one, or plain.
std::string ProblemMaker::whole_value(const RandomTensor& target, const Scope& scope) {
  const DType type = seen_as(target.type);
  std::string text =
      chance(25) ? reduction(type, scope, 2) : value(type, chance(20) ? 5 : 3, scope, 2);
  if (target.inout && chance(50) && type != DType::kBool) {
    std::vector<std::string> indices;
    for (const RandomIndex& i : scope) indices.push_back(i.name);
    text = fmt::format("({} + {}[{}])", text, target.name, with_commas(indices));
  }
  const bool narrow = target.type != type && !is_float(target.type);
  return narrow && chance(80) ? fmt::format("cast<{}>({})", name_of(target.type), text) : text;
}

/// A condition on indices and dims.
std::string ProblemMaker::condition(const Scope& scope) {
  if (chance(15)) return fmt::format("!({})", condition(scope));
  if (chance(15)) {
    return fmt::format("{} {} {}", condition(scope), chance(50) ? "&&" : "||", condition(scope));
  }
  const RandomIndex& a = pick(scope);
  const std::string b = chance(50)   ? pick(scope).name
                        : chance(50) ? std::to_string(below(9))
                                     : fmt::format("D{} - {}", any_dim(), 1 + below(2));
  static const std::vector<std::string> relations = {"<=", "<", ">=", ">", "==", "!="};
  static const std::vector<std::string> parts = {" % 2", " & 1", " ^ 3", " >> 1"};
  return fmt::format("{}{} {} {}", a.name, chance(25) ? pick(parts) : "", pick(relations), b);
}

/// A `where` of indices and dims, or of data. Without `else` one of data leaves an inout its old
/// value, and a recurrence its state.
std::string ProblemMaker::limited(const RandomTensor& target, const Scope& scope, bool by_data,
                                  bool recurs) {
  const bool output = target.name[0] == 'Y';
  bool whole = output && !target.inout;
  std::string text = " where ";
  if (by_data) {
    shorthand_ = true;
    whole = !target.inout && !recurs;
    text += "(" + truth(1, scope, 0) + ")";
  } else if (chance(60) && scope.size() > 1) {
    text += fmt::format("{} <= {}", scope[1].name, scope[0].name);
  } else {
    text += condition(scope);
  }
  if (whole || chance(30)) text += " else " + otherwise(target.type);
  return text;
}

std::string ProblemMaker::signature(const std::string& body) const {
  std::vector<std::string> in, out, params;
  for (size_t i = 0; i < inputs_; ++i) {
    if (has_word(body, readable_[i].name)) in.push_back(declared(readable_[i]));
  }
  in.insert(in.end(), extra_.begin(), extra_.end());
  for (size_t i = 0; i < scalars_.size(); ++i) {
    const std::string name = fmt::format("s{}", i);
    if (has_word(body, name)) in.push_back(fmt::format("{}: {}", name, name_of(scalars_[i])));
  }
  for (const RandomTensor& t : outputs_) (t.inout ? in : out).push_back(declared(t));
  std::string text = fmt::format("({}) -> ({})", with_commas(in), with_commas(out));
  if (has_word(text + body, "T")) params.push_back(fmt::format("T={}", name_of(type_)));
  if (has_word(body, "P")) params.push_back(fmt::format("P={}", width_));
  return fmt::format("op fuzz{}{}", params.empty() ? "" : "<" + with_commas(params) + ">", text);
}

std::string ProblemMaker::bindings(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (!has_word(text, fmt::format("D{}", i))) continue;
    const bool ranged = lowest_[i] != dims_[i];
    out += fmt::format(" D{}={}{}", i, ranged ? fmt::format("{}..", lowest_[i]) : "", dims_[i]);
    if (ranged && chance(30)) out += fmt::format(" at {}", dims_[i]);
  }
  if (has_word(text, "P") && chance(30)) out += fmt::format(" P={}", 1 + below(4));
  for (size_t i = 0; options_.layouts && i < inputs_; ++i) {
    if (!has_word(text, readable_[i].name)) continue;
    out += layout(readable_[i], true);
    if (readable_[i].constant) out += " const=" + readable_[i].name;
  }
  for (const RandomTensor& t : outputs_) {
    if (options_.layouts && chance(50)) out += layout(t, false);
  }
  // Drawn last, so that all else is as it was for a seed before this word came.
  for (size_t i = 0; options_.layouts && i < inputs_; ++i) {
    if (has_word(text, readable_[i].name) && chance(6)) out += " cold=" + readable_[i].name;
  }
  for (const RandomTensor& t : outputs_) {
    if (options_.layouts && t.inout && chance(6)) out += " cold=" + t.name;
  }
  if (options_.layouts && chance(12)) out += " numerics=normwise";
  return out;
}

std::string ProblemMaker::layout(const RandomTensor& t, bool input) {
  std::string text;
  if (!t.dims.empty() && chance(30)) {
    if (chance(60)) {
      std::vector<std::string> order;
      for (size_t i = 0; i < t.dims.size(); ++i) order.push_back(fmt::format("d{}", i));
      std::shuffle(order.begin(), order.end(), random_);
      text = fmt::format(" {}@{}", t.name, with_commas(order));
    } else {
      text = fmt::format(" {}.stride=({})", t.name, strides(t, input));
    }
  }
  if (chance(5)) text += fmt::format(" {}.align=64", t.name);
  return text;
}

/// Strides of some order with room between rows; of inputs sometimes 0; some left to the call.
std::string ProblemMaker::strides(const RandomTensor& t, bool input) {
  std::vector<size_t> order(t.dims.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (chance(40)) std::shuffle(order.begin(), order.end(), random_);
  std::vector<std::string> parts(t.dims.size());
  int64_t step = chance(80) ? 1 : 2;
  for (size_t k = order.size(); k-- > 0;) {
    const bool open = !t.constant && chance(15);
    parts[order[k]] = open ? "?" : std::to_string(input && chance(6) ? 0 : step);
    step *= std::max<int64_t>(1, dims_[static_cast<size_t>(t.dims[order[k]])] + below(3));
  }
  return with_commas(parts);
}

namespace {

/// The values that variables take together, with dims known at the call at their ends.
double points(const ir::Program& program, const std::vector<ir::IndexVar>& vars) {
  double product = 1;
  for (const ir::IndexVar& v : vars) {
    int64_t extent = 0;
    if (!ir::is_const(v.hi, &extent)) {
      for (const ir::Dim& d : program.dims) {
        if (d.name.find('.') == d.name.npos) extent = std::max(extent, d.hi);
      }
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
    ProblemMaker maker(seed + (attempt << 32), options);
    const std::string made = maker.problem();
    const auto p = parse_problem(made);
    // The reference takes the definition as it is written.
    if (!p || !is_moderate(p->program, options) || !is_moderate(p->definition, options)) continue;
    return maker.has_shorthand() ? made : p->text;
  }
}

}  // namespace hone::ops
