// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/report/flight.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "jit/ir/facts.h"
#include "jit/ir/visit.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Iterations up to which compilers unroll a loop of constant extent by themselves. Also the unroll
/// factor of a loop without a known bound that is marked for it.
/// Chosen: as the printed loops are unrolled (not measured).
constexpr int64_t kUnrolledAnyway = 4;

class Flight {
 public:
  explicit Flight(const Nest& nest) : nest_(nest) {
    for (const Dim& d : nest.dims) facts_.define_dim(d.name, d.lo, d.hi);
  }

  double most() const { return most_; }
  /// Of the block, by TMA.
  double tma_bytes() const {
    double bytes = 0;
    for (const auto& [pipe, held] : tma_bytes_) bytes += held;
    return bytes;
  }

  void enter(const Launch& l) { facts_.define_loop(l.range, Poly(), Poly::of(l.extent, &facts_)); }

  void visit_stmt(const Stmt& s) {
    const auto inside = [&] {
      for (const StmtRef& b : s.body) visit_stmt(*b);
    };
    visit(s, Overloaded{
                 [&](const ForStmt& loop) { visit_for(loop); },
                 [&](const IfStmt& choice) {
                   loads_in(choice.condition);
                   inside();
                 },
                 [&](const StoreStmt& store) {
                   ahead_ = store.async ? pipeline_ : 1;
                   loads_in(store.offset);
                   loads_in(store.value);
                 },
                 [&](const CheckStmt& check) { loads_in(check.condition); },
                 [&](const BarrierStmt&) { wait(); },
                 [&](const CopyWaitStmt&) { wait(); },
                 [&](const FillStmt& fill) {
                   const Pipe& p = nest_.pipes[static_cast<size_t>(fill.pipe)];
                   tma_bytes_[fill.pipe] = static_cast<double>(p.bytes * std::max(1, p.depth - 1));
                 },
                 [&](const SequenceStmt&) { inside(); },
                 [](const PrefetchStmt&) {},
                 [&](const GpuStmt&) { inside(); },
             });
  }

 private:
  void visit_for(const ForStmt& s) {
    const Poly begin = Poly::of(s.begin, &facts_), end = Poly::of(s.end, &facts_);
    facts_.define_loop(s.loop, begin, end);
    const auto most = facts_.upper(end - begin);
    const bool marked = s.mark == Mark::kUnroll || s.mark == Mark::kVector;
    const bool few = most && *most <= kUnrolledAnyway && (end - begin).is_constant();
    const bool threads = is_thread(s.mark) || is_block(s.mark);
    const bool data = marked && !most;
    const bool unrolled = !threads && (marked || few);
    const int64_t around = pipeline_;
    pipeline_ = std::max<int64_t>(pipeline_, s.gpu.depth - 1);
    if (unrolled) copies_[s.loop] = static_cast<double>(most ? *most : kUnrolledAnyway);
    if ((!unrolled && !threads) || data) wait();
    for (const StmtRef& b : s.body) visit_stmt(*b);
    if ((!unrolled && !threads) || data || s.gpu.into >= 0) wait();
    copies_.erase(s.loop);
    pipeline_ = around;
  }

  /// Each element is loaded once in a stretch, by whatever number of statements.
  void loads_in(const Expr& e) {
    visit(e, [&](const Expr& x) {
      if (x->op != Op::kLoad) return;
      const NestBuffer& b = nest_.buffers[static_cast<size_t>(x->id)];
      const bool memory =
          b.home == Home::kArgument || b.home == Home::kBound || b.home == Home::kWorkspace;
      if (!memory || !seen_.insert(b.name + print(x->args[0])).second) return;
      double times = 1;
      for (const auto& [loop, extent] : copies_) {
        bool moves = false;
        visit(x->args[0],
              [&, id = loop](const Expr& v) { moves |= v->op == Op::kVar && v->id == id; });
        if (moves) times *= extent;
      }
      here_ += times * size_of(b.type) * static_cast<double>(ahead_);
    });
  }

  void wait() {
    most_ = std::max(most_, here_);
    here_ = 0;
    seen_.clear();
  }

  const Nest& nest_;
  Facts facts_;
  std::map<int, double> copies_;  ///< iterations of the unrolled loops that are open
  std::set<std::string> seen_;
  int64_t pipeline_ = 1, ahead_ = 1;
  double here_ = 0, most_ = 0;
  std::map<int, double> tma_bytes_;  ///< bytes that each pipe has under way
};

}  // namespace

double bytes_in_flight(const Nest& nest, const Launch& launch, int64_t threads) {
  Flight flight(nest);
  flight.enter(launch);
  flight.visit_stmt(*launch.body);
  flight.visit_stmt(*make_barrier());
  return flight.most() + flight.tma_bytes() / static_cast<double>(threads);
}

}  // namespace hone::jit
