// SPDX-License-Identifier: Apache-2.0
#include "jit/native/report/counts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "jit/ir/operations.h"
#include "jit/ir/visit.h"
#include "jit/native/report/nest_values.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Iterations that are walked one by one; beyond them a loop is sampled.
/// Chosen: time that a report may take (not measured).
constexpr int64_t kMostWalked = int64_t{1} << 19;
constexpr int64_t kSamples = 16;

/// Parts of a statement that are counted already.
class Parts {
 public:
  bool add(const Expr& e) {
    const bool known =
        std::any_of(parts_.begin(), parts_.end(), [&](const Expr& x) { return equal(x, e); });
    if (!known) parts_.push_back(e);
    return !known;
  }

 private:
  std::vector<Expr> parts_;
};

class Counter {
 public:
  Counter(const Nest& nest, std::span<const int64_t> dims) : nest_(nest), values_(nest, dims) {}

  Counts run(const Launch& launch) {
    const int64_t n = values_.eval(launch.extent).value_or(kTripsFromData);
    return over(
        launch.range, {0, n, false}, [&] { return of(*launch.body); },
        controls(*launch.body).count(launch.range) > 0);
  }

 private:
  using Loops = std::set<int>;

  /// Loops outside of `s` that decide what runs inside: they stand in bounds or conditions.
  const Loops& controls(const Stmt& s) {
    const auto [it, made] = controls_.try_emplace(&s);
    if (!made) return it->second;
    Loops found, inside;
    const auto take = [&](const Expr& e) {
      ir::visit(e, [&](const Expr& x) {
        if (x->op == Op::kVar && x->id >= 0) found.insert(x->id);
      });
    };
    for_each(s, [&](const Stmt& x) {
      if (const auto* loop = as<ForStmt>(x)) {
        inside.insert(loop->loop);
        take(loop->begin), take(loop->end);
      }
      if (const auto* choice = as<IfStmt>(x)) take(choice->condition);
      for_each_expr(x, [&](const Expr& root) {
        ir::visit(root, [&](const Expr& e) {
          if (e->op == Op::kLoad && e->guarded) take(e->args[1]);
        });
      });
    });
    for (const int loop : inside) found.erase(loop);
    return it->second = std::move(found);
  }

  /// The sum over a loop's iterations, which differ where the loop decides what runs inside.
  template <class F>
  Counts over(int loop, const Trips& trips, const F& body, bool differs) {
    Counts all;
    if (trips.count == 0) return all;
    if (!differs) {
      values_.set(loop, trips.begin);
      all = body();
      all *= static_cast<double>(trips.count);
    } else {
      const bool sampled = walked_ > kMostWalked && trips.count > kSamples;
      const int64_t steps = sampled ? kSamples : trips.count;
      for (int64_t i = 0; i < steps; ++i, ++walked_) {
        // The middle of each part of the range stands for the part.
        const int64_t first = trips.count * i / steps, next = trips.count * (i + 1) / steps;
        values_.set(loop, trips.begin + (first + next - 1) / 2);
        Counts part = body();
        part *= static_cast<double>(next - first);
        all += part;
      }
      all.sampled |= sampled;
    }
    all.data |= trips.data;
    return all;
  }

  Counts of(const Stmt& s) {
    if (const auto* loop = as<ForStmt>(s)) return of_loop(*loop);
    if (const auto* choice = as<IfStmt>(s)) return of_choice(*choice);
    if (const auto* store = as<StoreStmt>(s)) return of_store(*store);
    Counts all;
    if (const auto* check = as<CheckStmt>(s)) {
      Parts parts;
      add_value(check->condition, parts, all);
    }
    for (const StmtRef& b : s.body) all += of(*b);
    return all;
  }

  Counts of_loop(const ForStmt& s) {
    // What runs inside is settled by few of the loops outside.
    std::vector<int64_t> key;
    for (const int loop : controls(s)) key.push_back(values_.at(loop));
    auto& known = known_[&s];
    if (const auto it = known.find(key); it != known.end()) return it->second;
    const auto body = [&] {
      Counts all;
      for (const StmtRef& b : s.body) all += of(*b);
      return all;
    };
    bool differs = false;
    for (const StmtRef& b : s.body) differs |= controls(*b).count(s.loop) > 0;
    const Counts all = over(s.loop, trips_of(s, values_), body, differs);
    if (known.size() < kMostWalked) known.emplace(std::move(key), all);
    return all;
  }

  Counts of_choice(const IfStmt& s) {
    Parts parts;
    Counts all;
    add_value(s.condition, parts, all);
    const auto holds = values_.eval(s.condition);
    all.data |= !holds;
    if (holds.value_or(1) != 0) {
      all += of(s.then());
    } else if (s.otherwise()) {
      all += of(*s.otherwise());
    }
    return all;
  }

  Counts of_store(const StoreStmt& s) {
    const NestBuffer& to = nest_.buffers[static_cast<size_t>(s.buffer)];
    Parts parts;
    Counts all;
    add_value(s.value, parts, all);
    add_loads(s.offset, parts, all);
    const bool reduces = s.reduce != Reduce::kNone;
    if (reduces) all.operations += 1;
    if (to.home == Home::kRegisters) return all;
    all.stores += 1;
    all.store_bytes += size_of(to.type);
    if (!reduces) return all;
    all.loads += 1;
    all.load_bytes += size_of(to.type);
    return all;
  }

  /// Operations and loads of a value.
  void add_value(const Expr& e, Parts& parts, Counts& all) {
    if (e->op == Op::kLoad) return add_loads(e, parts, all);
    if (e->args.empty() || !parts.add(e)) return;
    if (is_arithmetic(e->op)) all.operations += 1;
    for (const Expr& a : e->args) add_value(a, parts, all);
  }

  /// Loads in an index or in a value's leaf.
  void add_loads(const Expr& e, Parts& parts, Counts& all) {
    if (e->op != Op::kLoad) {
      for (const Expr& a : e->args) add_loads(a, parts, all);
      return;
    }
    if (!parts.add(e)) return;
    add_loads(e->args[0], parts, all);
    if (e->guarded) {
      add_loads(e->args[1], parts, all);
      add_value(e->args[2], parts, all);
      const auto holds = values_.eval(e->args[1]);
      all.data |= !holds;
      if (holds && *holds == 0) return;
    }
    const NestBuffer& from = nest_.buffers[static_cast<size_t>(e->id)];
    if (from.home == Home::kRegisters) return;
    all.loads += 1;
    all.load_bytes += size_of(from.type);
  }

  const Nest& nest_;
  NestValues values_;
  int64_t walked_ = 0;
  std::map<const Stmt*, Loops> controls_;
  /// Counts of a loop, by the values of the loops outside that decide them.
  std::map<const Stmt*, std::map<std::vector<int64_t>, Counts>> known_;
};

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  operations += other.operations;
  loads += other.loads;
  stores += other.stores;
  load_bytes += other.load_bytes;
  store_bytes += other.store_bytes;
  data |= other.data;
  sampled |= other.sampled;
  return *this;
}

Counts& Counts::operator*=(double times) {
  operations *= times;
  loads *= times;
  stores *= times;
  load_bytes *= times;
  store_bytes *= times;
  return *this;
}

Counts count(const Nest& nest, int launch, std::span<const int64_t> dims) {
  return Counter(nest, dims).run(nest.launches[static_cast<size_t>(launch)]);
}

}  // namespace hone::jit
