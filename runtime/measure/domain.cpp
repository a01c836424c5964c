// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/domain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "jit/ir/integers.h"
#include "runtime/call/plan.h"

namespace hone::runtime {
namespace {

/// Values of one variable that are looked at where others lean on it, and points of a sample.
/// Chosen: time that a limit may take (not measured).
constexpr int64_t kMostValues = 64;
constexpr int kSample = 4096;

bool has_load(const ir::Expr& e) {
  bool found = false;
  ir::visit(e, [&](const ir::Expr& x) { found = found || x->op == ir::Op::kLoad; });
  return found;
}

}  // namespace

bool is_closed(const ir::Expr& e) {
  bool closed = true;
  ir::visit(e, [&](const ir::Expr& x) {
    closed = closed && x->op != ir::Op::kLoad && x->op != ir::Op::kScalar &&
             x->op != ir::Op::kFloat && x->op != ir::Op::kCall;
  });
  return closed;
}

bool makes_zero(const ir::Expr& e, size_t arg) {
  switch (e->op) {
    case ir::Op::kMul:
    case ir::Op::kBitAnd:
      return true;
    case ir::Op::kNeg:
    case ir::Op::kCast:
    case ir::Op::kDiv:
    case ir::Op::kMod:
    case ir::Op::kShl:
    case ir::Op::kShr:
      return arg == 0;
    case ir::Op::kMax:
    case ir::Op::kMin: {
      int64_t other = 0;
      if (!ir::is_const(e->args[1 - arg], &other)) return false;
      return e->op == ir::Op::kMax ? other <= 0 : other >= 0;
    }
    default:
      return false;
  }
}

bool is_zero_outside(const ir::Expr& e) {
  if (!is_int(e->type)) return false;
  int64_t otherwise = 1;
  if (e->op == ir::Op::kLoad) {
    return e->guarded && ir::is_const(e->args.back(), &otherwise) && otherwise == 0;
  }
  for (size_t i = 0; i < e->args.size(); ++i) {
    if (makes_zero(e, i) && is_zero_outside(e->args[i])) return true;
  }
  return false;
}

bool is_one_to_one(const ir::Expr& index) {
  bool affine = true;
  ir::visit(index, [&](const ir::Expr& x) {
    affine = affine && (x->op == ir::Op::kVar || x->op == ir::Op::kInt || x->op == ir::Op::kDim ||
                        x->op == ir::Op::kAdd || x->op == ir::Op::kSub);
  });
  return affine && vars_of(index).size() == 1;
}

bool is_scaled(const ir::Expr& index) {
  if (index->op != ir::Op::kMul && index->op != ir::Op::kBitXor) return is_one_to_one(index);
  const size_t constant = ir::is_const(index->args[0]) ? 0 : 1;
  const ir::Expr& by = index->args[constant];
  const bool keeps = ir::is_const(by) && (index->op == ir::Op::kBitXor || by->i != 0);
  return keeps && is_one_to_one(index->args[1 - constant]);
}

bool overlap(const Vars& a, const Vars& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& v) { return b.count(v) > 0; });
}

Vars vars_of(const ir::Expr& e) {
  Vars names;
  ir::visit(e, [&](const ir::Expr& x) {
    if (x->op == ir::Op::kVar) names.insert(x->name);
  });
  return names;
}

double Domain::Span::count() const {
  if (hi < lo) return 0;
  return step == 0 ? 1 : static_cast<double>((hi - lo) / step + 1);
}

Domain::Domain(const ir::Program& program, const ir::Stage& stage, std::span<const int64_t> dims)
    : program_(program), stage_(stage), values_(dims.begin(), dims.end()) {
  values_.resize(program.dims.size());
  for (const ir::IndexVar& v : stage.vars) add(v);
  for (const ir::IndexVar& v : stage.rvars) add(v);
  // A variable whose range begins and ends where data say walks its tensor once for all values of
  // the index that selects the range.
  for (const ir::IndexVar& v : stage.rvars) {
    if (is_closed(v.hi) || !v.lo || is_closed(v.lo)) continue;
    const Vars chosen_by = vars_of(v.hi);
    for (Range& r : ranges_) {
      if (chosen_by.count(r.name) == 0) continue;
      if (r.walker.empty()) {
        r.walker = v.name;
      } else {
        // A second one walks a part of its tensor for each value.
        for (Range& own : ranges_) {
          if (own.name == v.name) own.extent /= std::max(1.0, r.extent);
        }
      }
    }
  }
}

void Domain::add(const ir::IndexVar& v) {
  Range r;
  r.name = v.name;
  if (is_closed(v.hi) && (!v.lo || is_closed(v.lo))) {
    r.lo = numbered(v.lo ? v.lo : ir::make_int(0));
    r.hi = numbered(v.hi);
    const Span lo = span_of(r.lo), hi = span_of(r.hi);
    r.whole = {lo.lo, hi.hi - 1, 1};
    r.extent = r.whole.count();
    r.named = vars_of(v.hi);
    if (v.lo) r.named.merge(vars_of(v.lo));
  } else {
    r.extent = !v.lo || is_closed(v.lo) ? drawn(v) : std::min(walked(v.name), most_of(v.hi));
    r.whole = {0, static_cast<int64_t>(r.extent) - 1, 1};
  }
  values_.push_back(r.whole.lo);
  ranges_.push_back(std::move(r));
}

/// The most that an end read from data can be, by its type.
double Domain::most_of(ir::Expr end) {
  while (end->op == ir::Op::kCast) end = end->args[0];
  const auto range = ir::range_before_wrap(end);
  return range ? static_cast<double>(range->hi) : INFINITY;
}

/// How many values a range has on average whose end is read from data. The end is taken to be drawn
/// evenly from where a check has it.
double Domain::drawn(const ir::IndexVar& v) const {
  for (const ir::Check& check : program_.checks) {
    if (!equal(check.value, v.hi)) continue;
    double most = closed(check.hi);
    most = std::min(most, most_of(v.hi));
    return std::max(0.0, (closed(check.lo) + most) / 2 - (v.lo ? closed(v.lo) : 0));
  }
  return walked(v.name);
}

/// The extent of the tensor dim that variable `name` indexes alone.
double Domain::walked(const std::string& name) const {
  double extent = 1;
  ir::visit(stage_.value, [&](const ir::Expr& e) {
    if (e->op != ir::Op::kLoad) return;
    const ir::Buffer* b = program_.buffer(e->name);
    for (size_t i = 0; b && i < b->shape.size() && i < e->args.size(); ++i) {
      if (e->args[i]->op == ir::Op::kVar && e->args[i]->name == name) {
        extent = std::max(extent, closed(b->shape[i]));
      }
    }
  });
  return extent;
}

/// Dims and variables by their place in `values_`.
ir::Expr Domain::numbered(const ir::Expr& e) const {
  return ir::rewrite(number_dims(e, program_.dims), [&](const ir::Expr& x) -> ir::Expr {
    if (x->op != ir::Op::kVar) return {};
    for (size_t i = 0; i < ranges_.size(); ++i) {
      if (ranges_[i].name != x->name) continue;
      return ir::make_dim(x->name, static_cast<int>(program_.dims.size() + i));
    }
    return {};
  });
}

double Domain::closed(const ir::Expr& e) const {
  if (!is_closed(e) || !vars_of(e).empty()) return 1;
  return static_cast<double>(evaluate(numbered(e), values_));
}

/// Points of the variables `names` from range `from` on, where those before have `values`. A
/// variable that is left out may have any of its values.
double Domain::count(const Vars& names, size_t from, std::vector<int64_t>& values) const {
  if (from == ranges_.size()) return 1;
  const Range& r = ranges_[from];
  if (names.count(r.name) == 0 || names.count(r.walker) > 0) return count(names, from + 1, values);
  if (!r.lo) return r.extent * count(names, from + 1, values);
  const bool bounded = std::includes(names.begin(), names.end(), r.named.begin(), r.named.end());
  const int64_t lo = bounded ? evaluate(r.lo, values) : r.whole.lo;
  const int64_t hi = bounded ? evaluate(r.hi, values) : r.whole.hi + 1;
  if (hi <= lo) return 0;
  const bool looked_at =
      std::any_of(ranges_.begin() + static_cast<std::ptrdiff_t>(from), ranges_.end(),
                  [&](const Range& later) { return later.named.count(r.name) > 0; });
  // Evenly, each in the middle of its part.
  const int64_t looks = looked_at ? std::min(hi - lo, kMostValues) : 1;
  double sum = 0;
  for (int64_t i = 0; i < looks; ++i) {
    values[program_.dims.size() + from] = lo + (2 * i + 1) * (hi - lo) / (2 * looks);
    sum += count(names, from + 1, values);
  }
  return sum * static_cast<double>(hi - lo) / static_cast<double>(looks);
}

double Domain::points() const {
  Vars all;
  for (const Range& r : ranges_) all.insert(r.name);
  return points(all);
}

double Domain::points(const Vars& names) const {
  std::vector<int64_t> values = values_;
  return count(names, 0, values);
}

/// No fewer values than a numbered expression takes.
Domain::Span Domain::span_of(const ir::Expr& e) const {
  const auto arg = [&](size_t i) { return span_of(e->args[i]); };
  const auto constant = [](const Span& s) { return s.lo == s.hi; };
  switch (e->op) {
    case ir::Op::kInt:
      return {e->i, e->i, 0};
    case ir::Op::kDim: {
      const auto at = static_cast<size_t>(e->id);
      if (at < program_.dims.size()) return {values_[at], values_[at], 0};
      return ranges_[at - program_.dims.size()].whole;
    }
    case ir::Op::kCast:
      return arg(0);
    case ir::Op::kNeg: {
      const Span a = arg(0);
      return {-a.hi, -a.lo, a.step};
    }
    case ir::Op::kAdd:
    case ir::Op::kSub: {
      const Span a = arg(0), b = arg(1);
      const int64_t step = std::gcd(a.step, b.step);
      if (e->op == ir::Op::kAdd) return {a.lo + b.lo, a.hi + b.hi, step};
      return {a.lo - b.hi, a.hi - b.lo, step};
    }
    case ir::Op::kMul: {
      Span a = arg(0), b = arg(1);
      if (!constant(b)) std::swap(a, b);
      const auto [lo, hi] = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
      return {lo, hi, constant(b) ? std::abs(a.step * b.lo) : lo == hi ? 0 : 1};
    }
    case ir::Op::kDiv:
    case ir::Op::kMod: {
      const Span a = arg(0), b = arg(1);
      if (!constant(b) || b.lo <= 0) return a;
      const auto down = [&](int64_t x) { return (x < 0 ? x - b.lo + 1 : x) / b.lo; };
      const Span quotient = {down(a.lo), down(a.hi), constant(a) ? 0 : 1};
      if (e->op == ir::Op::kDiv) return quotient;
      if (quotient.lo == quotient.hi)
        return {a.lo - quotient.lo * b.lo, a.hi - quotient.lo * b.lo, a.step};
      return {0, b.lo - 1, 1};
    }
    case ir::Op::kBitAnd:
    case ir::Op::kBitOr:
    case ir::Op::kBitXor:
    case ir::Op::kShl:
    case ir::Op::kShr: {
      const Span a = arg(0), b = arg(1);
      const auto bits =
          ir::range_of_bits(e->op, ir::IntegerRange{a.lo, a.hi}, ir::IntegerRange{b.lo, b.hi});
      if (!bits) return {std::min(a.lo, b.lo), std::max(a.hi, b.hi), 1};
      return {bits->lo, bits->hi, constant(a) && constant(b) ? 0 : 1};
    }
    case ir::Op::kMin:
    case ir::Op::kMax:
    case ir::Op::kSelect: {
      const bool selects = e->op == ir::Op::kSelect;
      const Span a = arg(selects ? 1 : 0), b = arg(selects ? 2 : 1);
      return {std::min(a.lo, b.lo), std::max(a.hi, b.hi), 1};
    }
    default:
      return {0, 1, 1};
  }
}

double Domain::step(const ir::Expr& index) const {
  if (!is_closed(index)) return 1;
  return std::max(1.0, static_cast<double>(span_of(numbered(index)).step));
}

/// How many values an index takes inside a dim of that extent.
double Domain::values_inside(const ir::Expr& index, double extent) const {
  double values = points(vars_of(index));
  if (has_load(index)) {
    if (extent > 0) values = extent * (1 - std::exp(-values / extent));
  } else if (is_closed(index)) {
    Span span = span_of(numbered(index));
    if (span.step > 0 && span.lo < 0) span.lo += (-span.lo + span.step - 1) / span.step * span.step;
    span.hi = std::min(span.hi, static_cast<int64_t>(extent) - 1);
    values = std::min({values, span.count(), distinct_inside(index, extent)});
  }
  return std::min(values, extent);
}

/// How many values a closed index of one variable takes inside a dim of that extent: `i | 2` takes
/// some of them twice. Infinity where all differ, or where the variable has too many to look
/// at.
double Domain::distinct_inside(const ir::Expr& index, double extent) const {
  const Vars names = vars_of(index);
  if (names.size() != 1 || is_scaled(index)) return INFINITY;
  const Range* r = range(*names.begin());
  if (!r || r->whole.hi - r->whole.lo >= kSample) return INFINITY;
  const ir::Expr e = numbered(index);
  std::vector<int64_t> values = values_;
  std::set<int64_t> found;
  for (int64_t i = r->whole.lo; i <= r->whole.hi; ++i) {
    values[program_.dims.size() + static_cast<size_t>(r - ranges_.data())] = i;
    const int64_t x = evaluate(e, values);
    if (0 <= x && static_cast<double>(x) < extent) found.insert(x);
  }
  return static_cast<double>(found.size());
}

const Domain::Range* Domain::range(const std::string& name) const {
  const auto at =
      std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& r) { return r.name == name; });
  return at == ranges_.end() ? nullptr : &*at;
}

/// For how many values of the only variable of a closed index it lies inside a dim of that extent.
/// Of a long range some are looked at.
double Domain::looked_at_inside(const ir::Expr& index, const std::string& var,
                                double extent) const {
  const Range* at = range(var);
  if (!at || at->whole.hi < at->whole.lo) return 0;
  const int64_t length = at->whole.hi - at->whole.lo + 1,
                looks = std::min<int64_t>(length, kSample);
  const ir::Expr e = numbered(index);
  std::vector<int64_t> values = values_;
  int64_t inside = 0;
  for (int64_t i = 0; i < looks; ++i) {
    values[program_.dims.size() + static_cast<size_t>(at - ranges_.data())] =
        at->whole.lo + (2 * i + 1) * length / (2 * looks);
    const int64_t x = evaluate(e, values);
    inside += 0 <= x && static_cast<double>(x) < extent;
  }
  return static_cast<double>(inside) * static_cast<double>(length) / static_cast<double>(looks);
}

double Domain::inside(const std::vector<ir::Expr>& shape, std::span<const ir::Expr> indices) const {
  Vars names;
  std::map<std::string, double> inside;  // values of a variable with which an index exists
  for (size_t d = 0; d < shape.size() && d < indices.size(); ++d) {
    const Vars own = vars_of(indices[d]);
    names.insert(own.begin(), own.end());
    if (own.size() != 1 || !is_closed(indices[d])) continue;
    const double extent = closed(shape[d]);
    const double values = is_scaled(indices[d])
                              ? values_inside(indices[d], extent)
                              : looked_at_inside(indices[d], *own.begin(), extent);
    double& least = inside.emplace(*own.begin(), values).first->second;
    least = std::min(least, values);
  }
  double reached = points(names);
  for (const auto& [name, values] : inside) {
    if (const double all = points({name}); all > 0) reached *= std::min(1.0, values / all);
  }
  return reached;
}

double Domain::elements(const std::vector<ir::Expr>& shape,
                        std::span<const ir::Expr> indices) const {
  // Dims whose indices have variables in common are looked at together.
  struct Part {
    std::vector<ir::Expr> shape, indices;
    Vars vars;
    double values = 1;
  };
  std::vector<Part> parts;
  for (size_t d = 0; d < shape.size() && d < indices.size(); ++d) {
    Part own{{shape[d]}, {indices[d]}, vars_of(indices[d])};
    own.values = values_inside(indices[d], closed(shape[d]));
    for (size_t p = parts.size(); p-- > 0;) {
      const Part& other = parts[p];
      if (!overlap(other.vars, own.vars)) continue;
      own.shape.insert(own.shape.end(), other.shape.begin(), other.shape.end());
      own.indices.insert(own.indices.end(), other.indices.begin(), other.indices.end());
      own.vars.insert(other.vars.begin(), other.vars.end());
      own.values *= other.values;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(p));
    }
    parts.push_back(std::move(own));
  }
  double product = 1;
  for (const Part& p : parts) product *= std::min(p.values, inside(p.shape, p.indices));
  return std::min(product, inside(shape, indices));
}

}  // namespace hone::runtime
