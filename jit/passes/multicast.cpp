// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/multicast.h"

#include "jit/ir/facts.h"
#include "jit/ir/visit.h"
#include "jit/passes/reject.h"
#include "jit/passes/statements.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Fixed by: TMA.
constexpr int64_t kPartAlign = 128;   // bytes, of a TMA copy in shared memory
constexpr int64_t kSwizzledRows = 8;  // where rows are swizzled, it begins at a multiple of these

/// The loop of a launch whose blocks run in clusters.
struct Clustered {
  int loop = -1;
  int blocks = 1;  ///< of a cluster
  Expr extent;
  int found = 0;  ///< loops; a loop that was cut in pieces is several
};

Clustered clustered_loop(const Launch& launch) {
  Clustered out;
  if (launch.cluster > 1) out = {launch.range, launch.cluster, launch.extent, 1};
  for_each(*launch.body, [&](const Stmt& s) {
    const auto* l = as<ForStmt>(s);
    if (l && l->gpu.cluster > 1) out = {l->loop, l->gpu.cluster, l->end, out.found + 1};
  });
  return out;
}

/// What the blocks of a launch's clusters share.
class Multicast {
 public:
  Multicast(Nest& nest, const Clustered& of) : nest_(nest), of_(of) {
    if (of.found > 1) {
      refuse("the loop comes in several pieces; split what it is part of with tail=pad");
    }
    for (const Dim& d : nest.dims) facts_.define_dim(d.name, d.lo, d.hi);
    const Poly extent = Poly::of(of.extent, &facts_);
    if (!is_multiple(extent, of.blocks)) {
      refuse("the loop has " + print(of.extent) + " iterations, " +
             (extent.is_constant() ? "no multiple of " : "which need not be a multiple of ") +
             std::to_string(of.blocks) + "; take another split, or another loop");
    }
    cluster_ = static_cast<int>(nest.loops.size());
    rank_ = cluster_ + 1;
    facts_.define_loop(cluster_, Poly(), floor_div(extent, of.blocks, &facts_));
    facts_.define_loop(rank_, Poly(), Poly(of.blocks));
  }

  /// The launch's body with the parts that each block copies.
  StmtRef cut(const StmtRef& body) {
    StmtRef out = walk(body);
    if (why_.empty())
      because(
          "none is made by TMA; copy so into a pipeline that is specialized and has iterations");
    if (parts_ == 0) refuse("its blocks share no copies: " + why_);
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    reject("cluster " + nest_.loops[static_cast<size_t>(of_.loop)] + ": " + why);
  }

  void because(const std::string& why) { why_ += (why_.empty() ? "" : "; ") + why; }

  StmtRef walk(const StmtRef& s) {
    if (const auto* copy = as<TmaCopyStmt>(*s)) return part(*copy) ? cut_copy(*copy) : s;
    const auto* fill = as<FillStmt>(*s);
    if (fill && !together(*fill)) return s;
    if (s->body.empty()) return s;
    const bool differs = differs_;
    differs_ |= changes(*s);
    const int before = parts_;
    StmtRef out = rewrite_children(s, [&](const StmtRef& b) { return walk(b); });
    differs_ = differs;
    if (fill && parts_ > before) {
      nest_.pipes[static_cast<size_t>(fill->pipe)].cluster = of_.blocks;
    }
    return out;
  }

  /// Whether the blocks of a cluster may run what is inside `s` differently often. How many threads
  /// a block has inside a loop over threads does not matter: all of them fill and wait.
  bool changes(const Stmt& s) const {
    if (const auto* choice = as<IfStmt>(s)) return mentions_rank(choice->condition);
    const auto* l = as<ForStmt>(s);
    if (!l || l->loop == of_.loop || is_thread(l->mark)) return false;
    return mentions_rank(l->begin) || mentions_rank(l->end);
  }

  /// Whether all blocks of a cluster fill the same pipe equally often.
  bool together(const FillStmt& s) {
    if (!nest_.pipes[static_cast<size_t>(s.pipe)].specialized) {
      because("only pipelines that are specialized have threads that wait for other blocks");
      return false;
    }
    if (!differs_ && !mentions_rank(s.position)) return true;
    because("they fill pipe " + std::to_string(s.pipe) +
            " differently often; take splits that divide, or another loop");
    return false;
  }

  /// The dimension along which a TMA copy is cut.
  static size_t outermost(const TensorMap& map) {
    size_t d = map.box.size() - 1;
    while (d > 0 && map.box[d] == 1) --d;
    return d;
  }

  /// Whether a block copies its part of a TMA copy for all blocks of its cluster.
  bool part(const TmaCopyStmt& s) {
    const TensorMap& map = nest_.maps[static_cast<size_t>(s.map)];
    const NestBuffer& from = nest_.buffers[static_cast<size_t>(map.buffer)];
    bool same = !mentions_rank(s.offset);
    for (const Expr& e : s.at) same = same && !mentions_rank(e);
    if (!same) {
      because("each has a box of its own of " + from.name);
      return false;
    }
    const size_t d = outermost(map);
    const int64_t align = map.swizzle ? kSwizzledRows * map.swizzle : kPartAlign;
    const int64_t bytes = map.box_elements() * size_of(from.type);
    const bool row = d == 0 && map.swizzle != 0;
    if (!row && map.box[d] % of_.blocks == 0 && bytes / of_.blocks % align == 0) return true;
    because("a box of " + from.name + " has no " + std::to_string(of_.blocks) +
            " parts that begin at multiples of " + std::to_string(align) + " bytes");
    return false;
  }

  /// The part of a TMA copy that a block makes: the one of its number in the cluster.
  StmtRef cut_copy(const TmaCopyStmt& s) {
    TensorMap& map = nest_.maps[static_cast<size_t>(s.map)];
    const size_t d = outermost(map);
    const Expr block = make_var(nest_.loops[static_cast<size_t>(of_.loop)], of_.loop);
    const Expr rank = make_binary(Op::kMod, block, make_int(of_.blocks));
    map.box[d] /= of_.blocks;
    TmaCopyStmt out = s;
    out.cluster = of_.blocks;
    out.at[d] = s.at[d] + make_int(map.box[d]) * rank;
    out.offset = s.offset + make_int(map.box_elements()) * rank;
    ++parts_;
    return make_stmt(std::move(out));
  }

  /// Whether `e` may be another value in another block of the same cluster; what is loaded may.
  bool mentions_rank(const Expr& e) const {
    if (mentions_load(e)) return true;
    const Expr apart = rewrite(e, [&](const Expr& x) { return by_cluster(x); });
    return apart && Poly::of(apart, &facts_).mentions_loop(rank_);
  }

  /// A block's number, from its cluster's number and its own in the cluster. A division by a
  /// multiple of the cluster's size goes through the cluster's number.
  Expr by_cluster(const Expr& e) const {
    if (e->op == Op::kVar && e->id == of_.loop) {
      return make_int(of_.blocks) * make_var("cluster", cluster_) + make_var("rank", rank_);
    }
    int64_t by = 0;
    if (e->op != Op::kDiv || !is_const(e->args[1], &by) || by <= 0 || by % of_.blocks != 0) {
      return {};
    }
    const Poly whole = floor_div(Poly::of(e->args[0], &facts_), of_.blocks, &facts_);
    return floor_div(whole, by / of_.blocks, &facts_).expr();
  }

  Nest& nest_;
  const Clustered& of_;
  Facts facts_;
  int cluster_ = 0, rank_ = 0;  ///< numbers of loops that stand for a block's
  bool differs_ = false;        ///< around the statement
  int parts_ = 0;               ///< TMA copies that were cut
  std::string why_;             ///< copies were not
};

}  // namespace

Nest multicast(Nest nest) {
  for (size_t i = 0; i < nest.launches.size(); ++i) {
    const Clustered of = clustered_loop(nest.launches[i]);
    if (of.found == 0) continue;
    nest.launches[i].body = Multicast(nest, of).cut(nest.launches[i].body);
  }
  return nest;
}

}  // namespace hone::jit
