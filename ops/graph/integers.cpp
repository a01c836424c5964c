// SPDX-License-Identifier: Apache-2.0
// Sums of products of dequantized numbers become sums of the integers.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "ops/gradient/terms.h"
#include "ops/graph/byte_factors.h"
#include "ops/graph/extent_range.h"
#include "ops/graph/op_draft.h"
#include "ops/graph/passes.h"

namespace hone::ops {
namespace {

/// How far elements of 8 bits are from 0, and from a zero point.
/// Fixed by: their types.
constexpr int64_t kMostUnsigned = 255, kMostSigned = 128, kMostApart = 255;

bool mentions_any(const Term& t, const std::set<std::string>& names) {
  return any_part(
      t, [&](const Term& part) { return part.kind == Term::kName && names.contains(part.name); });
}

/// Rewrites the sums of one node.
class NodeRewriter {
 public:
  NodeRewriter(RewrittenGraph& graph, const GraphNode& node, const std::vector<ir::Dim>& dims,
               const KnownBytes& known)
      : graph_(graph), node_(node), dims_(dims), known_(known), draft_(graph, node) {}

  /// The nodes in the place of this one, the last of them makes the result; none: it stays.
  std::vector<GraphNode> run() {
    if (!node_.plain) return {};
    bool changed = false;
    const Definition before = draft_.d;
    for (size_t i = 0; i < before.statements.size(); ++i) {
      const Statement s = before.statements[i];
      if (s.assign != Assign::kSet || s.scatters() || !s.where.empty()) continue;
      draft_.d.statements[i].value = replaced(s.value, [&](const Term& t) -> std::optional<Term> {
        if (t.kind != Term::kReduce) return {};
        OpDraft kept = draft_;
        auto made = rewritten(s, t);
        changed |= made.has_value();
        if (!made) draft_ = std::move(kept);
        return made ? *std::move(made) : t;
      });
    }
    if (!changed) return {};
    std::erase_if(draft_.d.args, [&](const Argument& a) {
      const bool added = !before.arg(a.name);
      return a.role == ir::Role::kInput && (added || reads_it(before, a.name)) &&
             !reads_it(draft_.d, a.name);
    });
    auto out = draft_.node();
    if (!out) return {};
    std::vector<GraphNode> nodes = std::move(draft_.before);
    nodes.push_back(*std::move(out));
    return nodes;
  }

 private:
  static bool reads_it(const Definition& d, const std::string& name) {
    return std::any_of(d.statements.begin(), d.statements.end(),
                       [&](const Statement& s) { return reads(s.value, name); }) ||
           std::any_of(d.statements.begin(), d.statements.end(), [&](const Statement& s) {
             return std::any_of(s.where.begin(), s.where.end(),
                                [&](const Term& t) { return reads(t, name); });
           });
  }

  /// The dequantized element that an access reads, as one of 8 bits.
  std::optional<ByteFactor> inlined(const Term& access) {
    if (access.kind != Term::kAccess) return {};
    const int v = draft_.value_of(access.name),
              n = v < 0 ? -1 : graph_.maker[static_cast<size_t>(v)];
    if (n < 0 || draft_.d.arg(access.name)->type != "f32") return {};
    if (access.guarded && !is_number(access.args.back(), 0)) return {};
    const GraphNode& made = graph_.from[static_cast<size_t>(n)];
    if (!made.plain || made.makes.size() != 1) return {};
    const Definition d = with_types(made);
    auto out = dequantized(d);
    if (!out) return {};
    const std::vector<Term> shape = draft_.d.arg(access.name)->shape;
    std::map<std::string, Term> index, dim;
    for (size_t i = 0; i < out->read.args.size(); ++i) {
      index[out->read.args[i].name] = access.args[i];
      const Term& own = d.arg(out->read.name)->shape[i];
      if (own.kind == Term::kName) dim[own.name] = shape[i];
    }
    bool known = true;
    size_t next = 0;
    std::map<std::string, int> reads;
    for (const Argument& a : d.args) {
      if (a.role == ir::Role::kInput) reads[a.name] = made.reads[next++];
    }
    const auto here = [&](const auto& self, const Term& t) -> Term {
      Term own = t;
      for (Term& a : own.args) a = self(self, a);
      if (t.kind == Term::kName) {
        const auto named = index.find(t.name);
        known &= named != index.end();
        return named == index.end() ? own : named->second;
      }
      if (t.kind != Term::kAccess) return own;
      std::vector<Term> declared = d.arg(t.name)->shape;
      for (Term& e : declared) {
        if (e.kind == Term::kInt) continue;
        const auto named = dim.find(e.name);
        known &= e.kind == Term::kName && named != dim.end();
        if (named != dim.end()) e = named->second;
      }
      const bool element = t.name == out->read.name;
      own.name =
          draft_.input(reads.at(t.name), element ? shape : declared, access.name + "_" + t.name);
      return own;
    };
    for (auto* terms : {&out->zero, &out->scales}) {
      for (Term& t : *terms) t = here(here, t);
    }
    know_zero(*out);
    out->read = here(here, out->read);
    if (access.guarded) {
      out->read = with_else(out->read, out->zero.empty() ? whole_term(0) : out->zero[0]);
    }
    return known ? out : std::nullopt;
  }

  /// A zero point that is known is a number, and none where it is 0.
  void know_zero(ByteFactor& f) const {
    const int v = f.zero.empty() ? -1 : draft_.value_of(f.zero[0].name);
    // Those made here come after the values that are known.
    if (v < 0 || static_cast<size_t>(v) >= known_.size()) return;
    const std::optional<int> number = known_[static_cast<size_t>(v)];
    if (!number) return;
    const bool beyond = f.read.guarded && same(f.read.args.back(), f.zero[0]);
    if (beyond) f.read.args.back() = whole_term(*number);
    f.zero[0] = whole_term(*number);
    if (number == 0) f.zero.clear();
  }

  /// The sum as one of integers; none where it has to stay. The draft may have changed then.
  std::optional<Term> rewritten(const Statement& s, const Term& sum) {
    if (sum.name != "sum" || !sum.type.empty() || sum.ranges.empty()) return {};
    std::vector<ByteFactor> bytes;
    std::vector<Term> scales;
    bool is_float = false, splits = false;
    for (const Term& f : factors_of(sum.args[0])) {
      auto found = inlined(f);
      splits |= found.has_value();
      if (!found) found = byte_factor(draft_.d, f);
      if (!found) {
        scales.push_back(f);
        continue;
      }
      splits |= !found->zero.empty();
      know_zero(*found);
      is_float |= found->is_float;
      scales.insert(scales.end(), found->scales.begin(), found->scales.end());
      bytes.push_back(*std::move(found));
    }
    if (bytes.size() != 2 || (!is_float && !scales.empty())) return {};
    if (!splits && !is_float) return {};
    if (!may_be_integers(s, sum, bytes, scales)) return {};
    const auto ranges = stated(sum, bytes);
    if (!ranges || (is_float && !fits(*ranges, bytes))) return {};
    const Term total = corrected(s, sum, *ranges, bytes);
    if (!is_float) return total;
    std::vector<Term> factors{cast_term("f32", total)};
    if (!scales.empty()) factors.push_back(draft_.constant_part(s, multiplied(scales), "f32"));
    return multiplied(factors);
  }

  /// Zero points and scales are the same for all terms, which depend on all of both sides' indices.
  bool may_be_integers(const Statement& s, const Term& sum, const std::vector<ByteFactor>& bytes,
                       const std::vector<Term>& scales) const {
    std::set<std::string> over, outer;
    for (const Range& r : sum.ranges) over.insert(r.name);
    for (const Range& r : s.indices) outer.insert(r.name);
    for (const Range& r : sum.ranges) {
      for (const Term& b : r.bounds) {
        if (mentions_any(b, outer) || mentions_any(b, over)) return false;
      }
      for (const ByteFactor& f : bytes) {
        if (!mentions(f.read, r.name)) return false;
      }
    }
    const auto varies = [&](const Term& t) {
      return mentions_any(t, over) ||
             any_part(t, [](const Term& part) { return part.kind == Term::kReduce; });
    };
    return std::none_of(scales.begin(), scales.end(), varies) &&
           std::none_of(bytes.begin(), bytes.end(), [&](const ByteFactor& f) {
             return std::any_of(f.zero.begin(), f.zero.end(), varies);
           });
  }

  /// The ranges of the sum, all of them stated.
  std::optional<std::vector<Range>> stated(const Term& sum,
                                           const std::vector<ByteFactor>& bytes) const {
    std::vector<Range> out = sum.ranges;
    for (Range& r : out) {
      if (!r.bounds.empty()) continue;
      auto extent = draft_.extent_by(bytes[0].read, r.name);
      if (!extent) extent = draft_.extent_by(bytes[1].read, r.name);
      if (!extent) return {};
      r.bounds = {whole_term(0), *extent};
    }
    return out;
  }

  static Term count_of(const std::vector<Range>& ranges) {
    std::vector<Term> factors;
    for (const Range& r : ranges) {
      const bool from_zero = is_number(r.bounds[0], 0);
      factors.push_back(from_zero ? r.bounds[1]
                                  : infix_term(Infix::kSub, r.bounds[1], r.bounds[0]));
    }
    return multiplied(factors);
  }

  /// Does each such sum surely have 32 bits?
  bool fits(const std::vector<Range>& ranges, const std::vector<ByteFactor>& bytes) const {
    int64_t most = 1;
    const auto grow = [&](int64_t by) {
      const bool fits = by >= 0 && (by == 0 || most <= std::numeric_limits<int32_t>::max() / by);
      most = fits ? most * by : most;
      return fits;
    };
    for (const Range& r : ranges) {
      const ir::Expr lo = draft_.extent(r.bounds[0]), hi = draft_.extent(r.bounds[1]);
      const auto from = lo ? range_of_extent(lo, dims_) : std::nullopt;
      const auto to = hi ? range_of_extent(hi, dims_) : std::nullopt;
      if (!from || !to || from->lo < 0 || !grow(std::max<int64_t>(to->hi - from->lo, 1))) {
        return false;
      }
    }
    return std::all_of(bytes.begin(), bytes.end(), [&](const ByteFactor& f) {
      const bool sign = draft_.d.arg(f.read.name)->type == "i8";
      return grow(!f.zero.empty() ? kMostApart : sign ? kMostSigned : kMostUnsigned);
    });
  }

  /// sum((a - za)*(b - zb)) as sum(a*b) - za*(sum(b) - count*zb) - zb*sum(a).
  Term corrected(const Statement& s, const Term& sum, const std::vector<Range>& ranges,
                 const std::vector<ByteFactor>& bytes) {
    const auto sum_of = [&](const Term& t, const std::vector<Range>& over) {
      Term out = sum;
      out.ranges = over;
      out.args = {t};
      return out;
    };
    const ByteFactor &a = bytes[0], &b = bytes[1];
    Term total = sum_of(infix_term(Infix::kMul, a.read, b.read), sum.ranges);
    const auto less = [&](const Term& zero, const Term& other) {
      const Term whole = infix_term(Infix::kMul, zero, other);
      Term part = draft_.constant_part(s, whole, "i32");
      if (same(part, whole)) {
        part = infix_term(Infix::kMul, zero, draft_.constant_part(s, other, "i32"));
      }
      total = infix_term(Infix::kSub, total, part);
    };
    if (!a.zero.empty()) {
      Term other = sum_of(b.read, ranges);
      if (!b.zero.empty()) {
        other =
            infix_term(Infix::kSub, other, infix_term(Infix::kMul, count_of(ranges), b.zero[0]));
      }
      less(a.zero[0], other);
    }
    if (!b.zero.empty()) less(b.zero[0], sum_of(a.read, ranges));
    return total;
  }

  RewrittenGraph& graph_;
  const GraphNode& node_;
  const std::vector<ir::Dim>& dims_;
  const KnownBytes& known_;
  OpDraft draft_;
};

}  // namespace

Graph with_integer_sums(Graph graph, const std::vector<ir::Dim>& dims, KnownBytes known,
                        const IntegersGain& gains) {
  known.resize(graph.values.size());
  RewrittenGraph work(std::move(graph));
  std::vector<GraphNode> nodes;
  for (const GraphNode& node : work.from) {
    std::vector<GraphNode> made = NodeRewriter(work, node, dims, known).run();
    if (!made.empty() && gains && !gains(work.graph, node, made.back())) made.clear();
    if (made.empty()) made.push_back(node);
    for (GraphNode& m : made) nodes.push_back(std::move(m));
  }
  work.graph.nodes = std::move(nodes);
  const std::vector<bool> all(work.graph.nodes.size(), true);
  return with_nodes(std::move(work.graph), all);
}

}  // namespace hone::ops
