// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/report/walk.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "jit/cuda/coalesced_stores.h"
#include "jit/cuda/report/issue.h"
#include "jit/cuda/report/lanes.h"
#include "jit/cuda/vector_access.h"
#include "jit/ir/instructions.h"
#include "jit/ir/operations.h"
#include "jit/ir/visit.h"

namespace hone::jit {

using namespace ir;

namespace {

/// One of the iterations that stand for all, and for how many it stands.
struct Sample {
  int64_t at = 0;
  double weight = 1;
};

/// The first and the last stand for themselves; some between, not at even distances, for the rest.
std::vector<Sample> samples(int64_t n, int most) {
  std::vector<Sample> out;
  if (most == 0 || n <= most) {
    for (int64_t i = 0; i < n; ++i) out.push_back({i, 1});
    return out;
  }
  const int64_t inner = std::max<int64_t>(1, most - 2);
  out.push_back({0, 1});
  for (int64_t i = 0; i < inner; ++i) {
    const int64_t begin = 1 + (n - 2) * i / inner, end = 1 + (n - 2) * (i + 1) / inner;
    const int64_t odd = (begin * 7 + i * 3 + 1) % std::max<int64_t>(1, end - begin);
    out.push_back({begin + odd, static_cast<double>(end - begin)});
  }
  out.push_back({n - 1, 1});
  return out;
}

/// Iterations of a vector loop that are accessed together, at most.
/// Fixed by: `kMostLanes` of the printed loops.
constexpr int64_t kMostLanes = 16;

/// Bytes that global memory is read by.
/// Fixed by: CUDA.
constexpr int64_t kWalkSector = 32;

/// Where a statement stands: the active lanes, and the axes of the threads that loops have opened.
/// `weight` is the number of visits that this one stands for.
struct At {
  uint32_t lanes = 0;
  unsigned axes = 0;
  double weight = 1;
  bool unrolled = false;  ///< inside loops that compilers unroll
};

class Walker {
 public:
  Walker(const Nest& nest, const std::array<int, 3>& block, const std::vector<int64_t>& dims,
         const WalkOptions& options)
      : nest_(nest), block_(block), options_(options), state_(nest, dims) {
    for (const Dim& d : nest.dims) facts_.define_dim(d.name, d.lo, d.hi);
    for (const Launch& l : nest.launches) {
      facts_.define_loop(l.range, Poly(), Poly::of(l.extent, &facts_));
      for_each(*l.body, [&](const Stmt& s) {
        const auto* loop = as<ForStmt>(s);
        if (!loop) return;
        facts_.define_loop(loop->loop, Poly::of(loop->begin, &facts_),
                           Poly::of(loop->end, &facts_));
      });
    }
  }

  /// One warp of one block.
  void run(const Launch& launch, const std::array<int64_t, 3>& block, int warp, double weight) {
    block_index_ = block;
    const int threads = block_[0] * block_[1] * block_[2];
    warp_ = 0;
    for (int l = 0; l < kLanes; ++l) {
      const int t = kLanes * warp + l;
      if (t < threads) warp_ |= 1u << l;
      thread_[0].lane[static_cast<size_t>(l)] = t % block_[0];
      thread_[1].lane[static_cast<size_t>(l)] = t / block_[0] % block_[1];
      thread_[2].lane[static_cast<size_t>(l)] = t / block_[0] / block_[1];
    }
    forget();
    const At at{warp_, 0, weight, false};
    if (is_block(launch.mark)) {
      state_.set(launch.range, block[static_cast<size_t>(axis_of(launch.mark))]);
      visit_stmt(*launch.body, at);
    } else {
      const int64_t n = state_.value(launch.extent).lane[0];
      for (const Sample& s : samples(n, options_.most)) {
        state_.set(launch.range, s.at);
        visit_stmt(*launch.body, {warp_, 0, weight * s.weight, false});
      }
    }
  }

  Walked result() const { return out_; }

 private:
  static double count(uint32_t lanes) { return std::popcount(lanes); }

  /// Lanes of `among` for which `f(lane)` holds.
  template <class F>
  static uint32_t lanes_where(uint32_t among, const F& f) {
    uint32_t out = 0;
    for (size_t l = 0; l < kLanes; ++l) {
      if ((among >> l & 1) != 0 && f(l)) out |= 1u << l;
    }
    return out;
  }

  void branch(double weight, bool divergent, bool data) {
    out_.branches += weight;
    if (divergent) out_.divergent += weight;
    if (data) out_.data_branches += weight;
  }

  /// Lanes of `at` that meet `condition`; data are taken to meet it.
  uint32_t meeting(const Expr& condition, const At& at) {
    const LaneValue c = state_.value(condition);
    const uint32_t yes =
        c.data ? at.lanes : lanes_where(at.lanes, [&](size_t l) { return c.lane[l] != 0; });
    branch(at.weight, yes != 0 && yes != at.lanes, c.data);
    return yes;
  }

  void visit_stmt(const Stmt& s, const At& at) {
    if (at.lanes == 0 && !holds_team(s)) return;
    visit(s, Overloaded{
                 [&](const SequenceStmt&) { visit_body(s, at); },
                 [&](const ForStmt& loop) { visit_for(loop, at); },
                 [&](const IfStmt& choice) { visit_if(choice, at); },
                 [&](const TeamStmt&) {
                   visit_body(s, {warp_, 0, at.weight, at.unrolled});
                 },
                 [&](const FillStmt&) { visit_fill(s, at.weight); },
                 [&](const TmaCopyStmt& copy) { visit_tma_copy(copy, at); },
                 [&](const StoreStmt& store) { visit_store(store, at); },
                 [&](const CheckStmt& check) { visit_check(check, at); },
                 [&](const PrefetchStmt&) { forget(); },
                 [&](const GpuStmt&) { forget(); },
             });
  }

  void visit_body(const Stmt& s, const At& at) {
    for (const StmtRef& b : s.body) visit_stmt(*b, at);
  }

  /// Whether all threads run something inside `s`, whatever its conditions are.
  static bool holds_team(const Stmt& s) {
    return any_of(s, [](const Stmt& x) { return is<TeamStmt, FillStmt>(x); });
  }

  /// The copies that one thread starts.
  void visit_fill(const Stmt& s, double weight) {
    At one{warp_, 0, weight, false};
    for (size_t a = 0; a < 3; ++a) {
      one.lanes = lanes_where(one.lanes, [&](size_t l) { return thread_[a].lane[l] == 0; });
    }
    if (one.lanes != 0) visit_body(s, one);
  }

  /// A TMA copy reads its box whole.
  void visit_tma_copy(const TmaCopyStmt& s, const At& at) {
    const TensorMap& map = nest_.maps[static_cast<size_t>(s.map)];
    const NestBuffer& b = nest_.buffers[static_cast<size_t>(map.buffer)];
    const auto bytes = map.box_elements() * size_of(b.type);
    const auto [found, first] =
        numbers_.try_emplace({&s, static_cast<const void*>(nullptr)}, out_.sites.size());
    if (first) {
      AccessSite made;
      made.buffer = map.buffer;
      made.place = "box of " + b.name;
      made.bytes = static_cast<int>(bytes);
      out_.sites.push_back(std::move(made));
    }
    AccessSite& site = out_.sites[found->second];
    site.requests += at.weight;
    site.sectors += at.weight * static_cast<double>((bytes + kWalkSector - 1) / kWalkSector);
    site.least_sectors = site.sectors;
  }

  void visit_if(const IfStmt& s, At at) {
    const uint32_t all = at.lanes, yes = meeting(s.condition, at);
    at.lanes = yes;
    visit_stmt(s.then(), at);
    if (!s.otherwise()) return;
    at.lanes = state_.value(s.condition).data ? all : all & ~yes;
    visit_stmt(*s.otherwise(), at);
  }

  void visit_for(const ForStmt& s, At at) {
    LaneValue begin = state_.value(s.begin);
    const LaneValue end = state_.value(s.end);
    if (is_block(s.mark)) {
      const int64_t b = block_index_[static_cast<size_t>(axis_of(s.mark))];
      state_.set(s.loop, b);
      if (b >= begin.lane[0] && b < end.lane[0]) visit_body(s, at);
      return;
    }
    if (is_thread(s.mark)) {
      const auto axis = static_cast<size_t>(axis_of(s.mark));
      for (size_t l = 0; l < kLanes; ++l) begin.lane[l] += thread_[axis].lane[l];
      state_.set(s.loop, begin);
      const uint32_t in =
          lanes_where(at.lanes, [&](size_t l) { return begin.lane[l] < end.lane[l]; });
      if (!covers(s, axis)) branch(at.weight, in != 0 && in != at.lanes, false);
      at.lanes = in;
      at.axes |= 1u << axis;
      if (const auto found = coalesced_stores(nest_, s, facts_)) coalesced_ = {s.loop, *found};
      visit_body(s, at);
      coalesced_.reset();
      return;
    }
    if (s.mark == Mark::kTensor && s.instruction->lanes > 0) return visit_tiles(s, at);
    iterate(s, begin, end, at);
  }

  /// One instruction on tiles in registers; the first value of a tile takes none.
  void visit_tiles(const ForStmt& s, const At& at) {
    const Stmt* inside = &s;
    double products = 1;
    while (const auto* loop = as<ForStmt>(*inside)) {
      products *= static_cast<double>(state_.value(loop->end).lane[0]);
      inside = loop->body[0].get();
    }
    count_lanes(at);
    if (to<StoreStmt>(*inside).reduce == Reduce::kNone) return;
    const Instruction& row = *s.instruction;
    const double operations = at.weight * 2 * products * kLanes / row.lanes;
    out_.operations += operations;
    out_.tensor_operations += operations;
    out_.tensor_by_bytes[static_cast<size_t>(size_of(row.a))] += operations;
    out_.instructions += at.weight;
  }

  /// Every thread along the axis has an iteration: no condition is printed.
  bool covers(const ForStmt& s, size_t axis) const {
    int64_t begin = 0, end = 0;
    return is_const(s.begin, &begin) && is_const(s.end, &end) && end - begin == block_[axis];
  }

  /// A loop that each lane walks.
  void iterate(const ForStmt& s, const LaneValue& begin, const LaneValue& end, At at) {
    int64_t most = 0, least = INT64_MAX;
    for (size_t l = 0; l < kLanes; ++l) {
      if ((at.lanes >> l & 1) == 0) continue;
      most = std::max(most, end.lane[l] - begin.lane[l]);
      least = std::min(least, end.lane[l] - begin.lane[l]);
    }
    if (least != most && at.lanes != 0) branch(at.weight, true, begin.data || end.data);
    const bool unrolled = s.mark == Mark::kUnroll || s.mark == Mark::kVector;
    const uint32_t all = at.lanes;
    const double weight = at.weight;
    at.unrolled |= unrolled;
    for (const Sample& i : samples(most, unrolled && most <= 64 ? 0 : options_.most)) {
      if (!unrolled) forget();
      LaneValue here = begin;
      for (size_t l = 0; l < kLanes; ++l) here.lane[l] += i.at;
      here.data |= end.data;
      state_.set(s.loop, here);
      at.lanes = lanes_where(all, [&](size_t l) { return here.lane[l] < end.lane[l]; });
      at.weight = weight * i.weight;
      if (s.mark == Mark::kVector && least == most && most >= 2 && most <= kMostLanes) {
        vector_ = VectorLanes{s.loop, s.begin, most};
        vector_lane_ = i.at;
      }
      visit_body(s, at);
      if (s.mark == Mark::kVector) vector_.reset();
    }
    if (!unrolled) forget();
  }

  // --- leaves ---

  DType type_of(int buffer) const { return nest_.buffers[static_cast<size_t>(buffer)].type; }
  Home home_of(int buffer) const { return nest_.buffers[static_cast<size_t>(buffer)].home; }
  static bool own(Home h) {
    return h == Home::kRegisters || h == Home::kWorker || h == Home::kWarp;
  }

  /// What goes to memory is one thread's along axes that no loop runs over.
  At by_one_thread(At at) const {
    for (size_t a = 0; a < 3; ++a) {
      if (block_[a] == 1 || (at.axes >> a & 1) != 0) continue;
      at.lanes = lanes_where(at.lanes, [&](size_t l) { return thread_[a].lane[l] == 0; });
    }
    return at;
  }

  void count_lanes(const At& at) {
    out_.lanes_run += at.weight * count(at.lanes);
    out_.lanes_had += at.weight * kLanes;
  }

  void visit_check(const CheckStmt& s, At at) {
    at = by_one_thread(at);
    if (at.lanes == 0) return;
    count_lanes(at);
    loads_in(s, s.condition, at);
    loads_in(s, s.position, at, true);
  }

  void visit_store(const StoreStmt& s, At at) {
    const bool to_memory = !own(home_of(s.buffer));
    if (to_memory) at = by_one_thread(at);
    if (at.lanes == 0) return;
    count_lanes(at);
    loads_in(s, s.offset, at);
    loads_in(s, s.value, at, true);
    if (s.reduce != Reduce::kNone) out_.operations += at.weight * count(at.lanes);
    out_.instructions += at.weight * store_instructions(s, type_of(s.buffer));
    if (!to_memory) return;
    if (s.reduce != Reduce::kNone) access(&s, nullptr, s.buffer, s.offset, false, at);
    if (coalesced_) return store_coalesced(s, at);
    access(&s, &s, s.buffer, s.offset, true, at);
  }

  /// What four lanes have of four rounds, each stores of one round, in the first of them.
  void store_coalesced(const StoreStmt& s, const At& at) {
    const CoalescedStores& q = coalesced_->second;
    const LaneValue round = state_.value(make_var("", q.rounds->loop));
    const LaneValue lane = state_.value(make_var("", coalesced_->first));
    if (round.lane[0] % kQuadLanes != 0) return;
    LaneValue own = round, first = lane;
    for (size_t l = 0; l < kLanes; ++l) {
      own.lane[l] += lane.lane[l] % kQuadLanes;
      first.lane[l] -= lane.lane[l] % kQuadLanes;
    }
    state_.set(q.rounds->loop, own);
    state_.set(coalesced_->first, first);
    access(&s, &s, s.buffer, s.offset, true, at, true, kQuadLanes);
    state_.set(q.rounds->loop, round);
    state_.set(coalesced_->first, lane);
  }

  /// Loads and operations of a value. Index arithmetic is counted of a `whole` value alone.
  void loads_in(const Stmt& s, const Expr& e, const At& at, bool whole = false) {
    switch (e->op) {
      case Op::kLoad: {
        At touched = at;
        if (e->guarded) {
          touched.lanes = meeting(e->args[1], at);
          At others = at;
          if (!state_.value(e->args[1]).data) others.lanes = at.lanes & ~touched.lanes;
          loads_in(s, e->args[2], others);
        }
        loads_in(s, e->args[0], touched);
        const bool wide = !e->guarded || !vector_ || is_uniform(e->args[1], *vector_, facts_);
        if (!own(home_of(e->id))) access(&s, e.get(), e->id, e->args[0], false, touched, wide);
        out_.instructions += at.weight * load_instructions(type_of(e->id));
        return;
      }
      case Op::kSelect: {
        loads_in(s, e->args[0], at);
        At side = at;
        side.lanes = meeting(e->args[0], at);
        loads_in(s, e->args[1], side);
        if (!state_.value(e->args[0]).data) side.lanes = at.lanes & ~side.lanes;
        loads_in(s, e->args[2], side);
        return;
      }
      default:
        break;
    }
    if (is_arithmetic(e->op) && (whole || e->type != DType::kI64)) {
      out_.operations += at.weight * count(at.lanes);
      out_.instructions += at.weight * instructions_of(e);
    }
    for (const Expr& a : e->args) loads_in(s, a, at);
  }

  void access(const Stmt* s, const void* what, int buffer, const Expr& offset, bool store,
              const At& at, bool wide = true, int64_t words = 1) {
    if (at.lanes == 0) return;
    const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
    // What the lanes of a vector loop access side by side is one access.
    const int64_t width = vector_ && wide ? access_width(b, offset, *vector_, facts_) : 1;
    if (vector_lane_ % width != 0) return;
    const LaneValue element = state_.value(offset);
    Request r;
    r.active = at.lanes;
    const int64_t size = size_of(b.type);
    r.bytes = static_cast<int>(words * width * size);
    for (size_t l = 0; l < kLanes; ++l) {
      const int64_t at_byte = element.lane[l] * size;
      r.address[l] = b.swizzle > 0 && at_byte >= 0 ? swizzled(at_byte, b.swizzle) : at_byte;
    }
    if (store) {
      forget(buffer);
    } else if (options_.merge && known(buffer, r)) {
      return;
    }
    const auto [found, first] = numbers_.try_emplace({s, what}, out_.sites.size());
    if (first) {
      AccessSite made;
      made.buffer = buffer;
      made.place = b.name + "[" + print(offset) + "]";
      made.store = store;
      made.shared = b.home == Home::kSharedMemory;
      made.bytes = r.bytes;
      out_.sites.push_back(std::move(made));
    }
    AccessSite& site = out_.sites[found->second];
    site.data |= element.data;
    site.requests += at.weight;
    out_.instructions += at.weight;
    if (site.shared) {
      site.rounds += at.weight * rounds_of(r);
      site.least_rounds += at.weight * least_rounds_of(r);
    } else {
      site.sectors += at.weight * sectors_of(r);
      site.least_sectors += at.weight * least_sectors_of(r);
    }
  }

  // --- what was read a moment ago is in registers ---

  using Seen = std::pair<uint32_t, std::array<int64_t, kLanes>>;

  bool known(int buffer, Request r) {
    for (size_t l = 0; l < kLanes; ++l) {
      if ((r.active >> l & 1) == 0) r.address[l] = 0;
    }
    return !seen_[buffer].insert({r.active, r.address}).second;
  }
  void forget() { seen_.clear(); }
  void forget(int buffer) { seen_.erase(buffer); }

  const Nest& nest_;
  std::array<int, 3> block_;
  WalkOptions options_;
  LaneState state_;
  std::array<int64_t, 3> block_index_{};
  std::array<LaneValue, 3> thread_;
  uint32_t warp_ = 0;  ///< lanes that are threads
  Facts facts_;
  std::optional<VectorLanes> vector_;  ///< the vector loop that is open, and its lane
  int64_t vector_lane_ = 0;
  std::optional<std::pair<int, CoalescedStores>>
      coalesced_;  ///< of the loop over lanes that is open
  Walked out_;
  std::map<std::pair<const void*, const void*>, size_t> numbers_;
  std::map<int, std::set<Seen>> seen_;
};

}  // namespace

Walked walk(const Nest& nest, const Launch& launch, const std::array<int, 3>& block,
            const std::array<int64_t, 3>& grid, const std::vector<int64_t>& dims,
            const WalkOptions& options) {
  Walker walker(nest, block, dims, options);
  const int threads = block[0] * block[1] * block[2];
  for (const Sample& z : samples(grid[2], options.most)) {
    for (const Sample& y : samples(grid[1], options.most)) {
      for (const Sample& x : samples(grid[0], 3 * options.most)) {
        for (const Sample& w : samples((threads + kLanes - 1) / kLanes, options.most)) {
          walker.run(launch, {x.at, y.at, z.at}, static_cast<int>(w.at),
                     x.weight * y.weight * z.weight * w.weight);
        }
      }
    }
  }
  return walker.result();
}

}  // namespace hone::jit
