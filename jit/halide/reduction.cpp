// SPDX-License-Identifier: Apache-2.0
#include "jit/halide/reduction.h"

#include <algorithm>
#include <cstdint>

namespace hone::jit::halide {
namespace {

using E = Halide::Expr;

/// True for a bound that data or another variable gives.
bool is_open(const ir::Expr& bound) {
  return bound && any_node(bound, [](const ir::Expr& n) {
           return n->op == ir::Op::kVar || n->op == ir::Op::kLoad;
         });
}

}  // namespace

bool Reduction::is_factored(const std::string& loop) const {
  const auto& factored = stage_.factored;
  return std::find(factored.begin(), factored.end(), loop) != factored.end();
}

const ir::Relation* Reduction::split_of(const std::string& loop) const {
  for (const ir::Relation& r : stage_.relations) {
    if (r.kind == ir::Relation::kSplit && r.parent == loop) return &r;
  }
  return nullptr;
}

bool Reduction::leads_to_factored(const std::string& loop) const {
  if (is_factored(loop)) return true;
  const ir::Relation* r = split_of(loop);
  return r && (leads_to_factored(r->outer) || leads_to_factored(r->inner));
}

void Reduction::take_apart(const std::string& loop, const E& extent) {
  const ir::Relation* r = leads_to_factored(loop) ? split_of(loop) : nullptr;
  if (!r) {
    if (!is_factored(loop)) leaves_.push_back({loop, 0, extent});
    return;
  }
  const auto f = static_cast<int32_t>(r->factor);
  take_apart(r->outer, Halide::Internal::simplify((extent + f - 1) / f));
  take_apart(r->inner, f);
  apart_.push_back({loop, extent, r->outer, r->inner, r->factor});
  out_.taken_apart.push_back(loop);
}

void Reduction::take(const ir::IndexVar& v) {
  const bool open = is_open(v.hi) || is_open(v.lo);
  if (leads_to_factored(v.name)) {
    if (open || v.lo) refuse("stage " + stage_.name + ": rfactor of a range that data give");
    take_apart(v.name, values_.index(v.hi));
  } else if (open) {
    const auto lo = v.lo ? ranges_.of(v.lo) : Range{0, 0};
    const auto hi = ranges_.of(v.hi);
    if (!lo || !hi || hi->hi > INT32_MAX) {
      refuse("stage " + stage_.name + ": no bound is known of the range of " + v.name);
    }
    leaves_.push_back({v.name, static_cast<int32_t>(lo->lo),
                       static_cast<int32_t>(std::max<int64_t>(0, hi->hi - lo->lo))});
    ragged_.push_back(&v);
  } else {
    const E lo = v.lo ? values_.index(v.lo) : E(0);
    leaves_.push_back({v.name, lo, Halide::Internal::simplify(values_.index(v.hi) - lo)});
  }
}

void Reduction::make_domain() {
  if (leaves_.empty()) return;
  Halide::Region region;
  // Halide's innermost variable comes first.
  for (size_t i = leaves_.size(); i-- > 0;) region.push_back({leaves_[i].lo, leaves_[i].extent});
  dom_ = Halide::RDom(region, "r_" + plain_name(stage_.name));
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Halide::RVar r = dom_[static_cast<int>(leaves_.size() - 1 - i)];
    values_.bind(leaves_[i].name, r);
    out_.rvars.emplace_back(leaves_[i].name, r);
  }
}

void Reduction::put_together(const Whole& w) {
  const auto f = static_cast<int32_t>(w.factor);
  const E at = values_.index(ir::make_var(w.outer)) * f + values_.index(ir::make_var(w.inner));
  values_.bind(w.name, at);
  if (Halide::Internal::can_prove(w.end % f == 0)) return;
  if (!dom_.defined()) refuse("stage " + stage_.name + ": nothing is left to reduce over");
  dom_.where(at < w.end);
  values_.bind(w.name, Halide::min(at, w.end - 1));
}

Halide::RDom Reduction::bind() {
  for (const ir::IndexVar& v : stage_.rvars) take(v);
  make_domain();
  for (const Whole& w : apart_) put_together(w);
  for (const ir::IndexVar* v : ragged_) {
    const E at = values_.index(ir::make_var(v->name));
    if (v->lo) dom_.where(at >= values_.index(v->lo));
    dom_.where(at < values_.index(v->hi));
  }
  return dom_;
}

}  // namespace hone::jit::halide
