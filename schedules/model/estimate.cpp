// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "jit/ir/extremes.h"
#include "jit/ir/operations.h"
#include "jit/ir/visit.h"
#include "jit/native/report/traffic.h"
#include "jit/passes/lower.h"
#include "schedules/model/loop_values.h"
#include "schedules/model/model.h"

namespace hone::schedules {

using namespace ir;

namespace {

/// Cycles of a condition before a vector is computed. It also keeps vectors from sharing loads.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kTest = 0.5;

/// Instructions that find out, without masks, which lanes of a load lie inside its tensor.
/// Tuned on: Zen 5 (AVX2).
constexpr double kTestOfLanes = 12;

/// What one straight-line part does, in instructions.
struct Block {
  double arithmetic = 0, loads = 0, stores = 0, tile_vectors = 0;
  double faults = 0;      ///< loads that touch no element, far from the tensor
  bool chain = false;     ///< a reduction carried from iteration to iteration
  double waits = 0;       ///< cycles of the longest chain
  double horizontal = 0;  ///< halves that are combined
  double scattered = 0;   ///< lanes of strided vectors
  double unaligned = 0;   ///< vectors that may lie across two lines
  double pages = 0;       ///< leapt to
  double streamed = 0;    ///< vectors stored past the caches
  double results = 0;     ///< vectors that statements compute
  double tests = 0;       ///< conditions that branches decide, of results or of loads

  double ports(const Machine& m) const {
    return std::max(
        {arithmetic / m.arithmetic_ports, loads / m.load_ports, stores / m.store_ports});
  }
  double cycles(const Machine& m) const {
    return m.fault_cycles * faults + kTest * tests +
           std::max(ports(m), chain ? m.multiply_add_latency : 0.0);
  }
  double instructions() const { return arithmetic + loads + stores; }
  double spilled(const Machine& m) const {
    return std::max(0.0, tile_vectors - (m.vector_registers - 2));
  }
  Block& operator+=(const Block& b) {
    arithmetic += b.arithmetic;
    loads += b.loads;
    stores += b.stores;
    tile_vectors += b.tile_vectors;
    faults += b.faults;
    chain |= b.chain;
    waits = std::max(waits, b.waits);
    horizontal += b.horizontal;
    scattered += b.scattered;
    unaligned += b.unaligned;
    pages += b.pages;
    streamed += b.streamed;
    results += b.results;
    tests += b.tests;
    return *this;
  }
};

class Estimator {
 public:
  Estimator(const Nest& nest, const Target& target)
      : nest_(nest), machine_(machine_of(target)), at_(nest, machine_) {}

  void run() {
    double cycles = 0;
    for (const Launch& l : nest_.launches) {
      if (l.at_bind) continue;
      at_.open(l);
      const double trips = at_.loops()[0].trips;
      const bool shared = l.parallel && machine_.threads > 1;
      share_ = shared ? 1.0 / machine_.threads : 1;
      if (shared) term(Term::kThreads) += 1;
      times_ = trips;
      term(Term::kLoops) += share_ * trips;
      cycles += trips * (cost(*l.body) + machine_.loop_overhead);
      at_.close();
    }
    const double crowd = work_.code / machine_.decoded_instructions;
    if (crowd > 1) {
      cycles *= crowd;
      term(Term::kCode) = term(Term::kPorts) * (crowd - 1);
    }
    work_.cycles = cycles;
  }

  const Work& work() const { return work_; }
  const Terms& terms() const { return terms_; }

 private:
  double cost(const Stmt& s);
  double cost_of_body(const Stmt& s);
  double cost_of_choice(const IfStmt& s);
  double cost_of_straight(const Block& block);
  void count(const Block& block);
  void add_store(const StoreStmt& s, Block& block);
  void add_chain(const StoreStmt& s, const Touches& to, Block& block) const;
  double unknown_quotients(const Expr& value) const;
  void straight(const Stmt& s, Block& block);
  static bool is_straight(const Stmt& s);
  double& term(Term t) { return terms_[static_cast<size_t>(t)]; }

  const Nest& nest_;
  const Machine machine_;
  LoopValues at_;
  double times_ = 1;  ///< that the part being looked at runs
  double share_ = 1;  ///< of that, on one thread
  Work work_;
  Terms terms_{};
};

bool Estimator::is_straight(const Stmt& s) {
  const auto* loop = as<ForStmt>(s);
  if (loop && loop->mark == Mark::kSerial) return false;
  return std::all_of(s.body.begin(), s.body.end(),
                     [](const StmtRef& b) { return is_straight(*b); });
}

/// Straight parts that follow one another overlap: to the terms they are one.
double Estimator::cost_of_body(const Stmt& s) {
  double cycles = 0;
  Block together;
  for (const StmtRef& b : s.body) {
    if (!is<IfStmt>(*b) && is_straight(*b)) {
      Block one;
      straight(*b, one);
      cycles += cost_of_straight(one);
      together += one;
    } else {
      count(std::exchange(together, {}));
      cycles += cost(*b);
    }
  }
  count(together);
  return cycles;
}

double Estimator::cost_of_straight(const Block& block) {
  work_.code += block.instructions();
  work_.arithmetic += times_ * block.arithmetic;
  work_.loads += times_ * block.loads;
  work_.stores += times_ * block.stores;
  return block.cycles(machine_) + machine_.spill_cycles * block.spilled(machine_);
}

void Estimator::count(const Block& block) {
  const double times = share_ * times_, ports = block.ports(machine_);
  term(Term::kPorts) += times * ports;
  term(Term::kIssue) += times * block.instructions() / machine_.issue_width;
  term(Term::kChain) += times * std::max(0.0, block.waits - ports);
  term(Term::kHorizontal) += times * block.horizontal;
  term(Term::kSpills) += times * block.spilled(machine_);
  term(Term::kScattered) += times * block.scattered;
  term(Term::kTests) += times * block.tests;
  term(Term::kFaults) += times * block.faults;
  term(Term::kPages) += times * block.pages;
  term(Term::kUnaligned) += times * block.unaligned;
  term(Term::kStreamed) +=
      times * block.streamed * machine_.vector_bytes / static_cast<double>(machine_.line_bytes);
}

double Estimator::cost(const Stmt& s) {
  if (const auto* choice = as<IfStmt>(s)) return cost_of_choice(*choice);
  if (is_straight(s)) {
    Block block;
    straight(s, block);
    count(block);
    return cost_of_straight(block);
  }
  if (const auto* loop = as<ForStmt>(s)) {
    at_.open(*loop);
    const double trips = at_.loops().back().trips, outside = std::exchange(times_, times_ * trips);
    term(Term::kLoops) += share_ * times_;
    term(Term::kEntries) += share_ * outside;
    const double cycles = cost_of_body(s);
    times_ = outside;
    at_.close();
    return trips * (cycles + machine_.loop_overhead);
  }
  return cost_of_body(s);
}

double Estimator::cost_of_choice(const IfStmt& s) {
  const double taken = at_.share(s.condition), outside = times_;
  term(Term::kTests) += share_ * outside;
  times_ = outside * taken;
  double cycles = taken * cost(s.then());
  times_ = outside * (1 - taken);
  if (s.otherwise()) cycles += (1 - taken) * cost(*s.otherwise());
  times_ = outside;
  return cycles;
}

void Estimator::straight(const Stmt& s, Block& block) {
  if (const auto* store = as<StoreStmt>(s)) return add_store(*store, block);
  if (is<PrefetchStmt>(s)) block.loads += 1;
  const auto* loop = as<ForStmt>(s);
  if (loop) at_.open(*loop);
  Block body;
  for (const StmtRef& b : s.body) straight(*b, body);
  if (is<IfStmt>(s)) body.tests = body.results;
  block += body;
  if (loop) at_.close();
}

/// Results that one store adds to again wait for one another, in one iteration of the loop around
/// and from each to the next.
void Estimator::add_chain(const StoreStmt& s, const Touches& to, Block& block) const {
  // Fixed by: what is stored is loaded again, some cycles after the addition.
  constexpr double kForward = 5;
  const bool kept = nest_.buffers[static_cast<size_t>(s.buffer)].home == Home::kRegisters;
  const double links = std::max(1.0, to.points / to.distinct);
  const bool carried = !at_.moves_in_serial(s.offset);
  if (links <= 1 && !carried) return;
  const double link = machine_.multiply_add_latency + (kept ? 0 : kForward);
  block.waits = std::max(block.waits, links * link);
}

/// The quotients and remainders in an expression that each lane has one of, and none knows.
double Estimator::unknown_quotients(const Expr& value) const {
  std::vector<Expr> found;
  visit(value, [&](const Expr& e) {
    const bool divides = (e->op == Op::kDiv || e->op == Op::kMod) && e->type == DType::kI64;
    if (!divides || !at_.differs_in_lanes(e) || at_.known_in_lanes(e)) return;
    if (mentions_load(e)) return;
    const bool seen =
        std::any_of(found.begin(), found.end(), [&](const Expr& f) { return equal(f, e); });
    if (!seen) found.push_back(e);
  });
  return static_cast<double>(found.size());
}

/// Extremes in an offset, as clamped and reflected indices have: each is computed anew wherever the
/// offset is.
double extremes_in(const Expr& offset) {
  double count = 0;
  visit(offset, [&](const Expr& e) { count += ir::as_extreme(e) ? 1 : 0; });
  return count;
}

void Estimator::add_store(const StoreStmt& s, Block& block) {
  const NestBuffer& to = nest_.buffers[static_cast<size_t>(s.buffer)];
  const Touches target = at_.touches(s.offset, s.buffer);
  const Instruction* tensor = at_.loops().empty() ? nullptr : at_.loops().back().instruction;
  double operations = tensor ? tensor->operations : ir::operations_of(s.value);
  const bool reduces = s.reduce != Reduce::kNone;
  if (reduces && !tensor && !(s.reduce == Reduce::kSum && s.value->op == Op::kMul)) operations += 1;
  block.arithmetic += target.points * (operations + kQuotientOfLanes * unknown_quotients(s.value));
  block.results += target.points;
  if (to.home == Home::kRegisters) {
    block.tile_vectors += reduces ? target.distinct : 0;
    block.chain |= reduces;
  } else {
    block.stores += reduces ? target.points : target.distinct;
    block.loads += reduces ? target.points : 0;
    block.scattered += target.scattered;
    block.unaligned += target.unaligned;
    block.pages += target.pages;
    block.streamed += to.stream ? target.distinct : 0;
    if (reduces) block.chain = true;
  }
  if (reduces) {
    add_chain(s, target, block);
    if (target.lanes > 1) block.horizontal += target.points * std::log2(target.lanes);
  }
  visit(s.value, [&](const Expr& e) {
    if (e->op != Op::kLoad) return;
    const NestBuffer& from = nest_.buffers[static_cast<size_t>(e->id)];
    if (from.home == Home::kRegisters) return;
    const bool apart = e->guarded && !at_.known_in_lanes(e->args[1]);
    const Touches read = at_.touches(e->args[0], e->id, apart);
    block.loads += read.distinct;
    block.scattered += read.scattered;
    block.unaligned += read.unaligned;
    block.pages += read.pages;
    block.arithmetic += read.points * extremes_in(e->args[0]);
    if (!e->guarded) return;
    block.faults += read.distinct * at_.share_far(e->args[0], from);
    block.tests += read.distinct * at_.branches_of(e->args[1]);
    if (!machine_.masks_lanes && !mentions_load(e->args[1]) && at_.differs_in_lanes(e->args[1])) {
      block.arithmetic += read.points * kTestOfLanes;
    }
  });
}

/// Lines that come from each level, as far as the cache before it does not hold them.
void add_traffic(const Nest& nest, const Target& target, Terms& terms) {
  std::vector<int64_t> dims;
  for (const Dim& d : nest.dims) dims.push_back(d.at.empty() ? d.hi : d.at.back());
  const Machine m = machine_of(target);
  const bool shared = m.threads > 1 && std::any_of(nest.launches.begin(), nest.launches.end(),
                                                   [](const Launch& l) { return l.parallel; });
  const double cores = shared ? m.threads : 1;
  const double l1 = static_cast<double>(m.l1d) * cores, l2 = static_cast<double>(m.l2) * cores;
  const double inside[] = {l1, std::max(l1, l2), std::max({l1, l2, static_cast<double>(m.l3)})};
  const std::vector<double> bytes = jit::traffic(nest, dims, inside);
  constexpr Term kLevels[] = {Term::kL2, Term::kL3, Term::kMemory};
  for (size_t i = 0; i < bytes.size(); ++i) {
    terms[static_cast<size_t>(kLevels[i])] = bytes[i] / static_cast<double>(m.line_bytes) / cores;
  }
  double& memory = terms[static_cast<size_t>(Term::kMemory)];
  if (memory == 0) return;
  // A line that is stored past the caches is not read before.
  double& streamed = terms[static_cast<size_t>(Term::kStreamed)];
  memory = std::max(memory / 2, memory - std::exchange(streamed, 0) / 2);
}

}  // namespace

const Terms& default_weights() {
  // In the order of Term, cycles, as about a thousand schedules of 53 problems have them.
  // Tuned on: Zen 4 (AVX-512), busy with other work.
  static constexpr Terms kWeights = {0.35, 1.5,  1.3, 0.15, 1.2, 2,    0.5, 4.4,  1.4,
                                     100,  0.01, 1.5, 1.1,  31,  8000, 5.7, 0.75, 0.5};
  return kWeights;
}

double weigh(const Terms& terms, const Terms& weights) {
  double sum = 0;
  for (size_t t = 0; t < kTerms; ++t) sum += terms[t] * weights[t];
  return sum;
}

Work examine(const Nest& nest, const Target& target) {
  if (target.is_cuda()) return {1, 0};
  Estimator estimator(nest, target);
  estimator.run();
  return estimator.work();
}

Work examine(const Program& scheduled, const Target& target) {
  const auto nest = jit::lower(scheduled, target);
  if (nest) return examine(*nest, target);
  Work none;
  none.cycles = std::numeric_limits<double>::infinity();
  return none;
}

Terms terms_of(const Nest& nest, const Target& target) {
  if (target.is_cuda()) return {1};
  Estimator estimator(nest, target);
  estimator.run();
  Terms terms = estimator.terms();
  add_traffic(nest, target, terms);
  return terms;
}

double estimate(const Program& scheduled, const Target& target, const Terms& weights) {
  const auto nest = jit::lower(scheduled, target);
  if (!nest) return std::numeric_limits<double>::infinity();
  return weigh(terms_of(*nest, target), weights);
}

}  // namespace hone::schedules
