// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/narrow.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "jit/ir/visit.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Indices up to here fit 32 bits, with what a block's threads and a vector's lanes exceed a loop's
/// end by.
/// Fixed by: integers of 32 bits.
constexpr int64_t kMostNarrow = std::numeric_limits<int32_t>::max() - (1 << 16);

/// The largest absolute value of `p`; nothing where it is not known or past what fits.
std::optional<int64_t> reach(const Poly& p, const Facts& facts) {
  const auto low = facts.lower(p), high = facts.upper(p);
  if (!low || !high || *low < -kMostNarrow || *high > kMostNarrow) return {};
  return std::max(std::abs(*low), std::abs(*high));
}

bool fits(const Poly& p, const Facts& facts) { return reach(p, facts).has_value(); }

bool is_sum(const Expr& e) { return e->op == Op::kAdd || e->op == Op::kSub || e->op == Op::kNeg; }

void add_terms(const Expr& e, bool minus, std::vector<IndexTerm>& out) {
  if (e->op == Op::kAdd) {
    const Expr &a = e->args[0], &b = e->args[1];
    const bool swapped = a->op == Op::kNeg && b->op != Op::kNeg;
    add_terms(swapped ? b : a, false, out);
    add_terms(swapped ? a : b, false, out);
  } else if (e->op == Op::kSub) {
    add_terms(e->args[0], false, out);
    out.push_back({true, e->args[1]});
  } else if (e->op == Op::kNeg) {
    out.push_back({!minus, e->args[0]});
  } else {
    out.push_back({minus, e});
  }
}

/// The sum of the terms that `taken` has.
Poly sum_of(const std::vector<IndexTerm>& terms, const std::vector<bool>& taken,
            const Facts& facts) {
  Poly sum;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!taken[i]) continue;
    const Poly p = Poly::of(terms[i].value, &facts);
    if (terms[i].minus) {
      sum -= p;
    } else {
      sum += p;
    }
  }
  return sum;
}

/// Whether the terms added one after the other fit at every step, whatever their order.
bool fit_one_by_one(const std::vector<IndexTerm>& terms, const Facts& facts) {
  int64_t total = 0;
  for (const IndexTerm& t : terms) {
    const auto most = reach(Poly::of(t.value, &facts), facts);
    if (!most) return false;
    total += *most;
  }
  return total <= kMostNarrow;
}

std::set<int> loops_in(const Expr& e) {
  std::set<int> out;
  visit(e, [&](const Expr& x) {
    if (x->op == Op::kVar) out.insert(x->id);
  });
  return out;
}

/// Terms that share a loop, directly or by others, with one that is taken.
void take_related(const std::vector<IndexTerm>& terms, std::vector<bool>& taken) {
  std::set<int> loops;
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < terms.size(); ++i) {
      const std::set<int> own = loops_in(terms[i].value);
      const bool shares =
          std::any_of(own.begin(), own.end(), [&](int l) { return loops.contains(l); });
      if (taken[i] || shares) {
        more |= !taken[i] || !std::includes(loops.begin(), loops.end(), own.begin(), own.end());
        taken[i] = true;
        loops.insert(own.begin(), own.end());
      }
    }
  }
}

/// Whether 32 bits hold all that is printed of a launch.
class Widths {
 public:
  explicit Widths(Facts& facts) : facts_(facts) {}
  bool wide() const { return wide_; }

  void walk(const Nest& nest, const Stmt& s) {
    for_each_expr(s, [&](const Expr& e) { look(e); });
    if (const auto* store = as<StoreStmt>(s)) size(nest, store->buffer);
    for_each_load(s, [&](const Expr& load) { size(nest, load->id); });
    if (const auto* loop = as<ForStmt>(s)) {
      facts_.define_loop(loop->loop, Poly::of(loop->begin, &facts_), Poly::of(loop->end, &facts_));
    }
    for (const StmtRef& b : s.body) walk(nest, *b);
  }

  void look(const Expr& e) {
    if (wide_) return;
    if (e->type != DType::kI64 || e->op == Op::kLoad) {
      for (const Expr& a : e->args) look(a);
      return;
    }
    if (e->op == Op::kInt) {
      wide_ = std::abs(e->i) > kMostNarrow;
      return;
    }
    wide_ = !fits(Poly::of(e, &facts_), facts_);
    if (!is_sum(e)) {
      for (const Expr& a : e->args) look(a);
      return;
    }
    // On the way to the sum terms may wrap around; their factors may not.
    for (const IndexTerm& t : index_terms(e)) {
      if (t.value->op == Op::kInt) continue;
      if (t.value->op != Op::kMul) {
        look(t.value);
        continue;
      }
      for (const Expr& factor : t.value->args) {
        if (factor->op != Op::kInt) look(factor);
      }
    }
  }

 private:
  void size(const Nest& nest, int buffer) {
    const NestBuffer& b = nest.buffers[static_cast<size_t>(buffer)];
    if (!wide_ && b.elements) wide_ = !fits(Poly::of(b.elements, &facts_), facts_);
  }

  Facts& facts_;
  bool wide_ = false;
};

}  // namespace

std::vector<IndexTerm> index_terms(const Expr& e) {
  std::vector<IndexTerm> out;
  add_terms(e, false, out);
  return out;
}

std::vector<bool> wrapped_terms(const std::vector<IndexTerm>& terms, const Facts& facts) {
  std::vector<bool> wrapped(terms.size());
  if (fit_one_by_one(terms, facts)) return wrapped;
  std::vector<int64_t> most(terms.size(), kMostNarrow);
  for (size_t i = 0; i < terms.size(); ++i) {
    if (const auto known = reach(Poly::of(terms[i].value, &facts), facts)) most[i] = *known;
    wrapped[i] = most[i] > kMostNarrow / 4;
  }
  take_related(terms, wrapped);
  int64_t total = reach(sum_of(terms, wrapped, facts), facts).value_or(kMostNarrow + 1);
  for (size_t i = 0; i < terms.size(); ++i) total += wrapped[i] ? 0 : most[i];
  if (total > kMostNarrow) wrapped.assign(terms.size(), true);
  return wrapped;
}

bool needs_wide_indices(const Nest& nest, const Launch& launch, Facts facts) {
  Widths widths(facts);
  widths.look(launch.extent);
  facts.define_loop(launch.range, Poly(), Poly::of(launch.extent, &facts));
  widths.walk(nest, *launch.body);
  return widths.wide();
}

}  // namespace hone::jit
