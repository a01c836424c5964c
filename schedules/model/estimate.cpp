// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "jit/ir/instructions.h"
#include "jit/ir/machine.h"
#include "jit/ir/operations.h"
#include "jit/ir/poly.h"
#include "jit/ir/visit.h"
#include "jit/passes/lower.h"
#include "schedules/model/model.h"

namespace hone::schedules {

using namespace ir;

namespace {

/// What a number that data decide is taken for.
/// Fixed by: nothing known; a moderate size.
constexpr double kFromData = 16;

/// Elements apart that are read as whole vectors, and shuffles of them.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kMostSpread = 4;

/// A loop that is being walked.
struct Open {
  int id;
  Mark mark;
  double begin;
  double trips;
  const Instruction* instruction = nullptr;  ///< of a tensor loop
};

/// What one straight-line part does, in instructions.
struct Block {
  double arithmetic = 0, loads = 0, stores = 0, tile_vectors = 0;
  double faults = 0;   ///< loads that touch no element, far from the tensor
  bool chain = false;  ///< a reduction carried from iteration to iteration
  double cycles(const Machine& m) const {
    return m.fault_cycles * faults +
           std::max({arithmetic / m.arithmetic_ports, loads / m.load_ports, stores / m.store_ports,
                     chain ? m.multiply_add_latency : 0.0});
  }
};

class Estimator {
 public:
  Estimator(const Nest& nest, const Target& target) : nest_(nest), machine_(machine_of(target)) {}

  Work run() {
    double cycles = 0;
    for (const Launch& l : nest_.launches) {
      if (l.at_bind) continue;
      loops_ = {{l.range, Mark::kSerial, 0, number(l.extent)}};
      times_ = loops_[0].trips;
      cycles += loops_[0].trips * (cost(*l.body) + machine_.loop_overhead);
    }
    if (work_.code > machine_.decoded_instructions) {
      cycles *= work_.code / machine_.decoded_instructions;
    }
    work_.cycles = cycles;
    return work_;
  }

 private:
  double number(const Expr& e) const;
  double share(const Expr& condition) const;
  double share_of_comparison(const Expr& e) const;
  double cost(const Stmt& s);
  double cost_of_body(const Stmt& s);
  void open(const ForStmt& s);
  void add_store(const StoreStmt& s, Block& block);
  double vectors(const Expr& offset, int buffer, double& trips, bool guarded = false) const;
  double share_far(const Expr& offset, const NestBuffer& b) const;
  void straight(const Stmt& s, Block& block);
  static bool is_straight(const Stmt& s);
  double lanes(DType type) const {
    return std::max(1.0, static_cast<double>(machine_.vector_bytes) / size_of(type));
  }

  const Nest& nest_;
  const Machine machine_;
  std::vector<Open> loops_;
  double times_ = 1;  ///< that the part being looked at runs
  Work work_;
};

double Estimator::number(const Expr& e) const {
  const auto arg = [&](size_t i) { return number(e->args[i]); };
  switch (e->op) {
    case Op::kInt:
      return static_cast<double>(e->i);
    case Op::kVar:
      for (const Open& l : loops_) {
        if (l.id == e->id) return l.begin + (l.trips - 1) / 2;
      }
      return 0;
    case Op::kDim: {
      const Dim& d = nest_.dims[static_cast<size_t>(e->id)];
      return static_cast<double>(d.at.empty() ? d.hi : d.at.back());
    }
    case Op::kAdd:
      return arg(0) + arg(1);
    case Op::kSub:
      return arg(0) - arg(1);
    case Op::kNeg:
      return -arg(0);
    case Op::kMul:
      return arg(0) * arg(1);
    case Op::kDiv:
      return arg(1) == 0 ? 0 : std::floor(arg(0) / arg(1));
    case Op::kMin:
      return std::min(arg(0), arg(1));
    case Op::kMax:
      return std::max(arg(0), arg(1));
    default:
      return kFromData;
  }
}

/// The part of its evaluations in which a condition holds. Conditions on data always do.
double Estimator::share(const Expr& e) const {
  switch (e->op) {
    case Op::kAnd:
      return share(e->args[0]) * share(e->args[1]);
    case Op::kLt:
    case Op::kLe:
      return e->args[0]->type == DType::kI64 ? share_of_comparison(e) : 1;
    default:
      return 1;
  }
}

/// A comparison that is linear in one of the open loops holds at one end of its range.
double Estimator::share_of_comparison(const Expr& e) const {
  const Poly slack = Poly::of(e->args[1]) - Poly::of(e->args[0]) - Poly(e->op == Op::kLt ? 1 : 0);
  for (size_t i = loops_.size(); i-- > 0;) {
    const Open& l = loops_[i];
    const auto slope = static_cast<double>(slack.loop_coef(l.id));
    if (slope == 0 || l.trips <= 1) continue;
    const double middle = number(slack.expr());
    const double reach = std::abs(slope) * (l.trips - 1) / 2;
    return std::clamp((std::floor((middle + reach) / std::abs(slope)) + 1) / l.trips, 0.0, 1.0);
  }
  return number(slack.expr()) >= 0 ? 1 : 0;
}

bool Estimator::is_straight(const Stmt& s) {
  const auto* loop = as<ForStmt>(s);
  if (loop && loop->mark == Mark::kSerial) return false;
  return std::all_of(s.body.begin(), s.body.end(),
                     [](const StmtRef& b) { return is_straight(*b); });
}

void Estimator::open(const ForStmt& s) {
  const double begin = number(s.begin);
  const bool by_data = any_node(s.end, [](const Expr& e) { return e->op == Op::kLoad; });
  const double trips = by_data ? kFromData : std::max(0.0, number(s.end) - begin);
  loops_.push_back({s.loop, s.mark, begin, trips, s.instruction});
}

double Estimator::cost_of_body(const Stmt& s) {
  double cycles = 0;
  for (const StmtRef& b : s.body) cycles += cost(*b);
  return cycles;
}

double Estimator::cost(const Stmt& s) {
  const auto* choice = as<IfStmt>(s);
  if (!choice && is_straight(s)) {
    Block block;
    straight(s, block);
    double cycles = block.cycles(machine_);
    work_.code += block.arithmetic + block.loads + block.stores;
    work_.arithmetic += times_ * block.arithmetic;
    work_.loads += times_ * block.loads;
    work_.stores += times_ * block.stores;
    const double room = machine_.vector_registers - 2;
    if (block.tile_vectors > room) cycles += machine_.spill_cycles * (block.tile_vectors - room);
    return cycles;
  }
  if (const auto* loop = as<ForStmt>(s)) {
    open(*loop);
    const double trips = loops_.back().trips, outside = std::exchange(times_, times_ * trips);
    const double cycles = cost_of_body(s);
    times_ = outside;
    loops_.pop_back();
    return trips * (cycles + machine_.loop_overhead);
  }
  if (choice) {
    const double taken = share(choice->condition), outside = times_;
    times_ = outside * taken;
    double cycles = taken * cost(choice->then());
    times_ = outside * (1 - taken);
    if (choice->otherwise()) cycles += (1 - taken) * cost(*choice->otherwise());
    times_ = outside;
    return cycles;
  }
  return cost_of_body(s);
}

void Estimator::straight(const Stmt& s, Block& block) {
  if (const auto* store = as<StoreStmt>(s)) return add_store(*store, block);
  if (is<PrefetchStmt>(s)) block.loads += 1;
  const auto* loop = as<ForStmt>(s);
  if (loop) open(*loop);
  for (const StmtRef& b : s.body) straight(*b, block);
  if (loop) loops_.pop_back();
}

/// Distinct vectors that an access touches in the unrolled and vector loops around it; `points`
/// becomes how often it is evaluated. What lies near together is read as vectors and shuffled,
/// unless each element is tested.
double Estimator::vectors(const Expr& offset, int buffer, double& points, bool guarded) const {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
  const Poly p = Poly::of(offset);
  double distinct = 1;
  points = 1;
  int64_t group = 1;  // elements that a lane takes at once
  for (size_t i = loops_.size(); i-- > 0 && loops_[i].mark != Mark::kSerial;) {
    const Open& l = loops_[i];
    const bool depends = p.mentions_loop(l.id);
    if (l.mark == Mark::kTensor) {
      if (depends) group = l.instruction->group;
    } else if (l.mark == Mark::kVector) {
      const double chunks = std::ceil(l.trips * static_cast<double>(group) / lanes(b.type));
      points *= chunks;
      if (!depends) continue;
      const auto apart = static_cast<double>(std::abs(p.loop_coef(l.id)) / group);
      const bool near = apart == 1 || (apart > 1 && apart <= kMostSpread && !guarded);
      distinct *= near ? chunks * (2 * apart - 1) : (guarded ? 4 : 2) * l.trips;
    } else {
      points *= l.trips;
      if (depends) distinct *= l.trips;
    }
  }
  return distinct;
}

/// The part of a guarded load's addresses that lie a page or more outside its tensor.
double Estimator::share_far(const Expr& offset, const NestBuffer& b) const {
  const Poly p = Poly::of(offset);
  const double middle = number(p.expr());
  double reach = 0;
  for (const Open& l : loops_) {
    reach += std::abs(static_cast<double>(p.loop_coef(l.id))) * (std::max(1.0, l.trips) - 1) / 2;
  }
  if (reach == 0) return 0;
  const double page = static_cast<double>(machine_.page_bytes) / size_of(b.type);
  const double before = std::max(0.0, reach - middle - page);
  const double behind = std::max(0.0, middle + reach - number(b.elements) - page);
  return std::min(1.0, (before + behind) / (2 * reach));
}

void Estimator::add_store(const StoreStmt& s, Block& block) {
  const NestBuffer& to = nest_.buffers[static_cast<size_t>(s.buffer)];
  double points = 1;
  const double targets = vectors(s.offset, s.buffer, points);
  const Instruction* tensor = loops_.empty() ? nullptr : loops_.back().instruction;
  double operations = tensor ? tensor->operations : ir::operations_of(s.value);
  const bool reduces = s.reduce != Reduce::kNone;
  if (reduces && !tensor && !(s.reduce == Reduce::kSum && s.value->op == Op::kMul)) operations += 1;
  block.arithmetic += points * operations;
  if (to.home == Home::kRegisters) {
    block.tile_vectors += reduces ? targets : 0;
    block.chain |= reduces;
  } else {
    block.stores += reduces ? points : targets;
    block.loads += reduces ? points : 0;
    if (reduces) block.chain = true;
  }
  visit(s.value, [&](const Expr& e) {
    if (e->op != Op::kLoad) return;
    const NestBuffer& from = nest_.buffers[static_cast<size_t>(e->id)];
    if (from.home == Home::kRegisters) return;
    double reads = 1;
    const double loads = vectors(e->args[0], e->id, reads, e->guarded);
    block.loads += loads;
    if (e->guarded) block.faults += loads * share_far(e->args[0], from);
  });
}

}  // namespace

Work examine(const Nest& nest, const Target& target) {
  if (target.is_cuda()) return {1, 0};
  return Estimator(nest, target).run();
}

double estimate(const Nest& nest, const Target& target) { return examine(nest, target).cycles; }

double estimate(const Program& scheduled, const Target& target) {
  const auto nest = jit::lower(scheduled, target);
  return nest ? estimate(*nest, target) : std::numeric_limits<double>::infinity();
}

}  // namespace hone::schedules
