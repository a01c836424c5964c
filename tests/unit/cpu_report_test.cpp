// SPDX-License-Identifier: Apache-2.0
// What the report of a CPU counts, against an interpreter that runs every iteration.
#include <doctest/doctest.h>

#include <cmath>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/ir/visit.h"
#include "jit/native/report/counts.h"
#include "jit/native/report/traffic.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "ops/random.h"
#include "runtime/measure/bound.h"
#include "schedules/schedule.h"
#include "schedules/search/random_steps.h"
#include "tests/support/effort.h"
#include "tests/support/programs.h"

using namespace hone;
using ir::Op;

namespace {

constexpr const char* kTarget = "x86 isa=avx512 threads=1 l1d=32K l2=1M l3=32M";

/// A fully associative cache of lines of 64 bytes; the one used longest ago makes way.
class Cache {
 public:
  explicit Cache(size_t bytes) : lines_(bytes / 64) {}

  void touch(int buffer, int64_t byte) {
    // No buffer here has 2^40 lines, nor an element before its first.
    const int64_t line = (int64_t{buffer} << 40) + byte / 64;
    const auto it = places_.find(line);
    if (it != places_.end()) {
      order_.splice(order_.begin(), order_, it->second);
      return;
    }
    ++misses;
    order_.push_front(line);
    places_[line] = order_.begin();
    if (order_.size() <= lines_) return;
    places_.erase(order_.back());
    order_.pop_back();
  }

  int64_t misses = 0;

 private:
  size_t lines_;
  std::list<int64_t> order_;
  std::unordered_map<int64_t, std::list<int64_t>::iterator> places_;
};

/// Runs a nest without its data and counts what it does.
class Interpreter {
 public:
  Interpreter(const ir::Nest& nest, const std::vector<int64_t>& dims,
              std::vector<Cache>* caches = nullptr)
      : nest_(nest), dims_(dims), loops_(nest.loops.size()), caches_(caches) {}

  void run(const ir::Launch& launch) {
    const int64_t n = value(launch.extent).value();
    for (int64_t i = 0; i < n && !data; ++i) {
      loops_[static_cast<size_t>(launch.range)] = i;
      run(*launch.body);
    }
  }

  double operations = 0, loads = 0, stores = 0, load_bytes = 0, store_bytes = 0;
  bool data = false;  ///< met a choice that data make: what was counted is not all
  int64_t steps = 0;

 private:
  /// The value of an index; nothing where it is read from a tensor or a scalar.
  std::optional<int64_t> value(const ir::Expr& e) const {
    if (e->op == Op::kInt) return e->i;
    if (e->op == Op::kVar) return loops_[static_cast<size_t>(e->id)];
    if (e->op == Op::kDim) return dims_[static_cast<size_t>(e->id)];
    if (is_float(e->type) || e->op == Op::kLoad || e->op == Op::kScalar) return std::nullopt;
    std::vector<std::optional<int64_t>> args;
    for (const ir::Expr& a : e->args) args.push_back(value(a));
    if (e->op == Op::kSelect) return args[0] ? args[*args[0] != 0 ? 1 : 2] : std::nullopt;
    if (e->op == Op::kAnd || e->op == Op::kOr) {
      const bool settles = e->op == Op::kOr;
      for (const auto& a : args) {
        if (a && (*a != 0) == settles) return settles;
      }
    }
    for (const auto& a : args) {
      if (!a) return std::nullopt;
    }
    const int64_t a = args[0].value_or(0), b = args.size() > 1 ? *args[1] : 0;
    const auto floored = [&] { return static_cast<int64_t>(std::floor(double(a) / double(b))); };
    switch (e->op) {
      case Op::kCast:
        return a;
      case Op::kNeg:
        return -a;
      case Op::kNot:
        return a == 0;
      case Op::kAdd:
        return a + b;
      case Op::kSub:
        return a - b;
      case Op::kMul:
        return a * b;
      case Op::kDiv:
        return b == 0 ? 0 : floored();
      case Op::kMod:
        return b == 0 ? 0 : a - b * floored();
      case Op::kBitAnd:
        return a & b;
      case Op::kBitOr:
        return a | b;
      case Op::kBitXor:
        return a ^ b;
      case Op::kShl:
        return b < 0 || b > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
      case Op::kShr:
        return a >> (b < 0 || b > 63 ? 63 : b);
      case Op::kMin:
        return std::min(a, b);
      case Op::kMax:
        return std::max(a, b);
      case Op::kEq:
        return a == b;
      case Op::kNe:
        return a != b;
      case Op::kLt:
        return a < b;
      case Op::kLe:
        return a <= b;
      case Op::kAnd:
        return a != 0 && b != 0;
      case Op::kOr:
        return a != 0 || b != 0;
      default:
        return std::nullopt;
    }
  }

  void run(const ir::Stmt& s) {
    if (data) return;
    seen_.clear();
    if (const auto* loop = ir::as<ir::ForStmt>(s)) {
      const auto begin = value(loop->begin), end = value(loop->end);
      data |= !begin || !end;
      for (int64_t i = begin.value_or(0); !data && i < *end; ++i, ++steps) {
        loops_[static_cast<size_t>(loop->loop)] = i;
        for (const ir::StmtRef& b : s.body) run(*b);
      }
    } else if (const auto* choice = ir::as<ir::IfStmt>(s)) {
      evaluate(choice->condition);
      const auto holds = value(choice->condition);
      data |= !holds;
      if (data) return;
      if (*holds != 0) run(choice->then());
      if (*holds == 0 && choice->otherwise()) run(*choice->otherwise());
    } else if (const auto* store = ir::as<ir::StoreStmt>(s)) {
      evaluate(store->value);
      look_up(store->offset);
      const bool reduces = store->reduce != ir::Reduce::kNone;
      operations += reduces;
      if (reduces) access(store->buffer, store->offset, false);
      access(store->buffer, store->offset, true);
    } else if (const auto* check = ir::as<ir::CheckStmt>(s)) {
      evaluate(check->condition);
    } else {
      for (const ir::StmtRef& b : s.body) run(*b);
    }
  }

  bool first_time(const ir::Expr& e) {
    const auto [it, made] = parts_.try_emplace(e.get());
    if (made) {
      const int next = static_cast<int>(numbers_.size());
      it->second = numbers_.try_emplace(ir::print(e), next).first->second;
    }
    return seen_.insert(it->second).second;
  }

  void evaluate(const ir::Expr& e) {
    if (e->op == Op::kLoad) return look_up(e);
    if (e->args.empty() || !first_time(e)) return;
    constexpr Op kArithmetic[] = {Op::kNeg,    Op::kAdd,   Op::kSub,    Op::kMul, Op::kDiv,
                                  Op::kMod,    Op::kMin,   Op::kMax,    Op::kShl, Op::kShr,
                                  Op::kBitAnd, Op::kBitOr, Op::kBitXor, Op::kCall};
    for (const Op op : kArithmetic) operations += e->op == op;
    for (const ir::Expr& a : e->args) evaluate(a);
  }

  void look_up(const ir::Expr& e) {
    if (e->op != Op::kLoad) {
      for (const ir::Expr& a : e->args) look_up(a);
      return;
    }
    if (!first_time(e)) return;
    look_up(e->args[0]);
    if (e->guarded) {
      look_up(e->args[1]);
      evaluate(e->args[2]);
      const auto holds = value(e->args[1]);
      data |= !holds;
      if (data || *holds == 0) return;
    }
    access(e->id, e->args[0], false);
  }

  void access(int buffer, const ir::Expr& offset, bool store) {
    const ir::NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
    if (b.home == ir::Home::kRegisters) return;
    (store ? stores : loads) += 1;
    (store ? store_bytes : load_bytes) += size_of(b.type);
    if (!caches_) return;
    const int64_t byte = value(offset).value_or(0) * size_of(b.type);
    for (Cache& c : *caches_) c.touch(buffer, byte);
  }

  const ir::Nest& nest_;
  std::vector<int64_t> dims_, loops_;
  std::vector<Cache>* caches_;
  std::set<int> seen_;  ///< parts of the statement that were counted, by the number of their text
  std::map<std::string, int> numbers_;
  std::unordered_map<const ir::Node*, int> parts_;
};

}  // namespace

TEST_CASE("cpu report: counts of random ops and schedules are those of an interpreter") {
  const ir::Target target = tests::target_named(kTarget);
  const int seeds = static_cast<int>(tests::by_effort(60, 150, 300, 600));
  int compared = 0, by_data = 0, sampled = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    ops::RandomOptions options;
    options.most_dim = 24;
    options.most_points = 3000;
    options.most_terms = 60;
    const std::string text = ops::random_problem(static_cast<uint64_t>(seed), options);
    const auto problem = ops::parse_problem(text);
    REQUIRE_MESSAGE(problem, text);
    schedules::RandomSchedules random(problem->program, target, static_cast<uint64_t>(seed));
    const schedules::Schedule schedule = random.next(6, nullptr);
    const auto scheduled = schedules::apply(problem->program, schedule);
    REQUIRE(scheduled);
    const auto nest = jit::lower(*scheduled, target);
    // Lowering may refuse what each step allows.
    if (!nest) continue;
    const std::vector<int64_t> dims = runtime::timing_dims(problem->program);
    for (size_t l = 0; l < nest->launches.size(); ++l) {
      const jit::Counts counts = jit::count(*nest, static_cast<int>(l), dims);
      if (counts.sampled) {
        ++sampled;  // too many iterations to count one by one
        continue;
      }
      Interpreter interpreter(*nest, dims);
      interpreter.run(nest->launches[l]);
      INFO(text << " | " << kTarget << " | " << schedule.text() << "\nlaunch " << l << " of\n"
                << ir::print(*nest));
      CHECK(counts.data == interpreter.data);
      (interpreter.data ? by_data : compared) += 1;
      if (interpreter.data) continue;
      CHECK(counts.operations == interpreter.operations);
      CHECK(counts.loads == interpreter.loads);
      CHECK(counts.stores == interpreter.stores);
      CHECK(counts.load_bytes == interpreter.load_bytes);
      CHECK(counts.store_bytes == interpreter.store_bytes);
    }
  }
  MESSAGE(compared << " launches compared, data decide in " << by_data << ", sampled " << sampled);
  CHECK(sampled < seeds / 20);
  CHECK(compared > 2 * seeds / 3);
}

namespace {

/// Bytes of lines that the second of two calls misses, in caches of these sizes.
std::vector<double> missed(const ir::Nest& nest, const std::vector<int64_t>& dims,
                           const std::vector<size_t>& capacities) {
  std::vector<Cache> caches(capacities.begin(), capacities.end());
  Interpreter interpreter(nest, dims, &caches);
  std::vector<double> bytes;
  for (int call = 0; call < 2; ++call) {
    bytes.clear();
    for (const Cache& c : caches) bytes.push_back(static_cast<double>(-64 * c.misses));
    for (const ir::Launch& l : nest.launches) {
      if (!l.at_bind) interpreter.run(l);
    }
  }
  for (size_t i = 0; i < caches.size(); ++i) bytes[i] += static_cast<double>(64 * caches[i].misses);
  return bytes;
}

ir::Nest lowered(const ir::Program& program) {
  auto nest = jit::lower(program, tests::target_named(kTarget));
  REQUIRE_MESSAGE(nest, nest.failure().reason);
  return *std::move(nest);
}

}  // namespace

TEST_CASE("cpu report: lines moved are those of a cache of about that size") {
  const ir::Target target = tests::target_named(kTarget);
  const std::string problems[] = {
      "matmul M=24 N=32 K=20",
      "add N=2000",
      "transpose M=60 N=50",
      "softmax M=16 N=130",
      "conv2d N=1 C=3 H=12 W=16 O=4 R=3 Q=3 P=1",
      "matvec M=50 K=60",
      "layernorm M=10 N=200",
      "op g(A: f32[16,20,12]) -> (Y: f32[12,16]) { Y[c,a] = sum[b](A[a,b,c]) }"};
  for (const std::string& text : problems) {
    const auto problem = ops::parse_problem(text);
    REQUIRE(problem);
    const ir::Program plain = *schedules::apply(problem->program, {});
    for (const ir::Program& program : {plain, tests::by_default(text, target)}) {
      const ir::Nest nest = lowered(program);
      const std::vector<size_t> capacities = {1024, 2048, 4096, 8192, 16384};
      const std::vector<double> misses = missed(nest, {}, capacities);
      for (size_t i = 1; i + 1 < capacities.size(); ++i) {
        const double moved = jit::traffic(nest, {}, static_cast<double>(capacities[i]));
        INFO(text << " through " << capacities[i] << " bytes: " << misses[i] << " missed, " << moved
                  << " by estimate\n"
                  << ir::print(nest));
        // A cache of half or twice the size may be past an edge that the estimate is before.
        CHECK(moved >= 0.7 * misses[i + 1]);
        CHECK(moved <= 1.4 * misses[i - 1]);
      }
    }
  }
}

TEST_CASE("cpu report: lines moved by random ops and schedules are of the right size") {
  const ir::Target target = tests::target_named(kTarget);
  constexpr int kSeeds = 300;  // some fifty of them move lines
  int near = 0, all = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    ops::RandomOptions options;
    options.data = false;
    options.most_dim = 40;
    options.most_points = 4000;
    const auto problem =
        ops::parse_problem(ops::random_problem(static_cast<uint64_t>(seed), options));
    REQUIRE(problem);
    schedules::RandomSchedules random(problem->program, target, static_cast<uint64_t>(seed));
    const schedules::Schedule schedule = random.next(6, nullptr);
    const auto nest = jit::lower(*schedules::apply(problem->program, schedule), target);
    // Lowering may refuse what each step allows.
    if (!nest) continue;
    const std::vector<int64_t> dims = runtime::timing_dims(problem->program);
    const double misses = missed(*nest, dims, {4096})[0];
    const double moved = jit::traffic(*nest, dims, 4096);
    if (misses == 0 && moved == 0) continue;
    ++all;
    near += moved <= 2 * misses && misses <= 2 * moved;
  }
  MESSAGE(near << " of " << all << " within a factor of two");
  CHECK(all > 5);
  CHECK(3 * near >= 2 * all);
}
