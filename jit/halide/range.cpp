// SPDX-License-Identifier: Apache-2.0
#include "jit/halide/range.h"

#include <algorithm>
#include <initializer_list>

#include "include/hone/dtype.h"
#include "jit/ir/integers.h"

namespace hone::jit::halide {
namespace {

using ir::Op;

/// Chosen: far beyond any index (not measured).
constexpr int64_t kMost = int64_t{1} << 40;

std::optional<Range> limited(__int128 lo, __int128 hi) {
  if (lo < -kMost || hi > kMost) return std::nullopt;
  return Range{static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

std::optional<Range> product(const Range& a, const Range& b) {
  __int128 lo = 0, hi = 0;
  bool first = true;
  for (const int64_t x : {a.lo, a.hi}) {
    for (const int64_t y : {b.lo, b.hi}) {
      const __int128 p = static_cast<__int128>(x) * y;
      lo = first ? p : std::min(lo, p);
      hi = first ? p : std::max(hi, p);
      first = false;
    }
  }
  return limited(lo, hi);
}

int64_t floored(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

std::optional<Range> combined(Op op, const Range& a, const Range& b) {
  switch (op) {
    case Op::kAdd:
      return limited(static_cast<__int128>(a.lo) + b.lo, static_cast<__int128>(a.hi) + b.hi);
    case Op::kSub:
      return limited(static_cast<__int128>(a.lo) - b.hi, static_cast<__int128>(a.hi) - b.lo);
    case Op::kMul:
      return product(a, b);
    case Op::kDiv:
      if (b.lo != b.hi || b.lo <= 0) return std::nullopt;
      return Range{floored(a.lo, b.lo), floored(a.hi, b.lo)};
    case Op::kMod:
      if (b.lo != b.hi || b.lo <= 0) return std::nullopt;
      if (a.lo >= 0 && a.hi < b.lo) return a;
      return Range{0, b.lo - 1};
    case Op::kMin:
      return Range{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Op::kMax:
      return Range{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor:
    case Op::kShl:
    case Op::kShr: {
      const auto bits =
          ir::range_of_bits(op, ir::IntegerRange{a.lo, a.hi}, ir::IntegerRange{b.lo, b.hi});
      if (!bits) return std::nullopt;
      return limited(bits->lo, bits->hi);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

Ranges::Ranges(const ir::Program& program) : program_(program) {
  for (const ir::Dim& d : program.dims) dims_[d.name] = {d.lo, d.hi};
  for (const ir::Check& c : program.checks) {
    const ir::Expr& load = c.value->op == Op::kCast ? c.value->args[0] : c.value;
    if (load->op != Op::kLoad) continue;
    const auto lo = of(c.lo), hi = of(c.hi);
    if (lo && hi) elements_[load->name] = {lo->lo, hi->hi};
  }
}

void Ranges::enter(const ir::Stage& stage) {
  vars_.clear();
  ends_.clear();
  for (const auto* list : {&stage.vars, &stage.rvars}) {
    for (const ir::IndexVar& v : *list) {
      const auto lo = v.lo ? of(v.lo) : Range{0, 0};
      const auto hi = of(v.hi);
      if (lo && hi) vars_[v.name] = {lo->lo, std::max(lo->lo, hi->hi - 1)};
      if (!v.lo) ends_[v.name] = v.hi;
    }
  }
}

std::optional<Range> Ranges::of(const ir::Expr& e) const {
  const auto named = [&](const std::map<std::string, Range>& all) -> std::optional<Range> {
    const auto found = all.find(e->name);
    if (found == all.end()) return std::nullopt;
    return found->second;
  };
  switch (e->op) {
    case Op::kInt:
      return limited(e->i, e->i);
    case Op::kVar:
      return named(vars_);
    case Op::kDim:
      return named(dims_);
    case Op::kLoad: {
      if (!e->guarded) {
        if (auto known = named(elements_)) return known;
      }
      if (!is_int(e->type) || size_of(e->type) > 4) return std::nullopt;
      if (e->type == DType::kU8) return Range{0, 255};
      const int64_t half = int64_t{1} << (8 * size_of(e->type) - 1);
      return Range{-half, half - 1};
    }
    case Op::kCast: {
      if (is_float(e->args[0]->type)) return std::nullopt;
      const auto r = of(e->args[0]);
      if (!r || e->type == DType::kI64) return r;
      const int64_t half = int64_t{1} << (8 * size_of(e->type) - 1);
      const int64_t least = e->type == DType::kU8 ? 0 : -half;
      return r->lo >= least && r->hi < least + 2 * half ? r : std::nullopt;
    }
    case Op::kSelect: {
      const auto a = of(e->args[1]), b = of(e->args[2]);
      if (!a || !b) return std::nullopt;
      return Range{std::min(a->lo, b->lo), std::max(a->hi, b->hi)};
    }
    case Op::kNeg:
      if (const auto a = of(e->args[0])) return Range{-a->hi, -a->lo};
      return std::nullopt;
    default:
      break;
  }
  if (e->args.size() != 2 || e->type == DType::kBool) return std::nullopt;
  const auto a = of(e->args[0]), b = of(e->args[1]);
  if (!a || !b) return std::nullopt;
  return combined(e->op, *a, *b);
}

bool Ranges::inside(const ir::Expr& index, const ir::Expr& size) const {
  if (index->op == Op::kVar) {
    const auto end = ends_.find(index->name);
    if (end != ends_.end() && equal(end->second, size)) return true;
  }
  const auto i = of(index), n = of(size);
  return i && n && i->lo >= 0 && i->hi < n->lo;
}

}  // namespace hone::jit::halide
