// SPDX-License-Identifier: Apache-2.0
#include "jit/native/report/traffic.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "jit/ir/visit.h"
#include "jit/native/report/nest_values.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Fixed by: x86.
constexpr double kLine = 64;  // bytes

/// Elements at even distances: `count` of them, `step` apart.
struct Run {
  double step = 0, count = 1;
};

/// Bytes of the lines under the sums of one element of each run.
double bytes_under(std::vector<Run> runs, double size) {
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.step < b.step; });
  double piece = size;           // bytes that lie together
  double pieces = 1, apart = 0;  // how many, and bytes from one to the next
  for (const Run& r : runs) {
    const double step = r.step * size;
    if (step == 0 || r.count <= 1) continue;
    if (pieces == 1 && step <= std::max(piece, kLine)) {
      piece += step * (r.count - 1);
    } else if (pieces == 1) {
      pieces = r.count;
      apart = step;
    } else if (step <= apart * pieces) {
      // Where runs overlap, as rows and taps of a window do, they share pieces.
      pieces += step / apart * (r.count - 1);
    } else {
      pieces *= r.count;
    }
  }
  const bool aligned = pieces == 1 || std::fmod(apart, kLine) == 0;
  const double lines = aligned ? std::ceil(piece / kLine) : (piece + kLine - size) / kLine;
  return pieces * kLine * lines;
}

/// A loop that is open, with the first of its values and how many there are.
struct Open {
  int loop = -1;
  Trips trips;
};

/// Bytes that a part touches, by the buffer.
using Touched = std::map<int, double>;

/// Bytes moved into caches of several capacities.
using Levels = std::vector<double>;

double total(const Touched& touched) {
  double bytes = 0;
  for (const auto& [buffer, part] : touched) bytes += part;
  return bytes;
}

/// Accesses to one buffer whose elements move alike: they lie `least` to `most` from a common one.
struct Movers {
  std::vector<Run> runs;
  double drawn = 1;             ///< places that data choose
  int64_t least = 0, most = 0;  ///< first elements
  int64_t down = 0, up = 0;     ///< how far they move from there
  int count = 0;
};

/// What some accesses touch: `bytes` of lines between two bytes of a buffer.
struct Part {
  double begin = 0, end = 0, bytes = 0;
};

/// Parts that overlap touch no more than what lies between their ends.
double union_of(std::vector<Part> parts) {
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.begin < b.begin; });
  double bytes = 0;
  for (size_t i = 0; i < parts.size();) {
    Part joined = parts[i];
    size_t k = i + 1;
    for (; k < parts.size() && parts[k].begin < joined.end; ++k) {
      joined.end = std::max(joined.end, parts[k].end);
      joined.bytes += parts[k].bytes;
    }
    const double most = std::ceil((joined.end - joined.begin) / kLine) * kLine;
    bytes += k - i > 1 ? std::min(joined.bytes, most) : joined.bytes;
    i = k;
  }
  return bytes;
}

class Tracer {
 public:
  Tracer(const Nest& nest, std::span<const int64_t> dims) : nest_(nest), values_(nest, dims) {}

  Levels traffic_of(const Launch& launch, std::span<const double> capacities) {
    const Trips trips = start(launch);
    const double whole = total(touched_by(*launch.body, {{launch.range, trips}}));
    std::span<const double> small = below(capacities, whole);
    Levels moved(capacities.size(), whole);
    if (small.empty()) return moved;
    values_.set(launch.range, middle(trips));
    small = below(small, total(touched_by(*launch.body, {})));
    const Levels once = traffic_of(*launch.body, small);
    for (size_t i = 0; i < small.size(); ++i) moved[i] = static_cast<double>(trips.count) * once[i];
    return moved;
  }

  Touched touched_by(const Launch& launch) {
    return touched_by(*launch.body, {{launch.range, start(launch)}});
  }

 private:
  static int64_t middle(const Trips& t) { return t.begin + std::max<int64_t>(0, t.count - 1) / 2; }

  Trips start(const Launch& launch) {
    const int64_t n = values_.eval(launch.extent).value_or(kTripsFromData);
    values_.set(launch.range, 0);
    return {0, n, false};
  }

  /// The capacities, which ascend, that are less than `bytes`.
  static std::span<const double> below(std::span<const double> capacities, double bytes) {
    const auto end = std::lower_bound(capacities.begin(), capacities.end(), bytes);
    return capacities.first(static_cast<size_t>(end - capacities.begin()));
  }

  /// Of one execution that finds nothing of its own in the cache.
  Levels traffic_of(const Stmt& s, std::span<const double> capacities) {
    if (capacities.empty()) return {};
    const double whole = total(touched_by(s, {}));
    Levels moved(capacities.size(), whole);
    std::span<const double> small = below(capacities, whole);
    if (small.empty()) return moved;
    double times = 1;
    if (const auto* loop = as<ForStmt>(s)) {
      const Trips trips = trips_of(*loop, values_);
      values_.set(loop->loop, middle(trips));
      Touched once;
      for (const StmtRef& b : s.body) add(once, touched_by(*b, {}));
      // What stays from one iteration to the next is moved once.
      small = below(small, total(once));
      times = static_cast<double>(trips.count);
    }
    std::fill_n(moved.begin(), small.size(), 0);
    const auto add_part = [&](const Stmt& part) {
      const Levels more = traffic_of(part, small);
      for (size_t i = 0; i < small.size(); ++i) moved[i] += times * more[i];
    };
    if (const auto* choice = as<IfStmt>(s)) {
      const bool holds = values_.eval(choice->condition).value_or(1) != 0;
      if (const Stmt* taken = holds ? &choice->then() : choice->otherwise()) add_part(*taken);
    } else {
      for (const StmtRef& b : s.body) add_part(*b);
    }
    return moved;
  }

  static void add(Touched& all, const Touched& more) {
    for (const auto& [buffer, bytes] : more) all[buffer] += bytes;
  }

  Touched touched_by(const Stmt& s, std::vector<Open> open) {
    movers_.clear();
    gather(s, open);
    std::map<int, std::vector<Part>> parts;
    for (const auto& [key, m] : movers_) {
      const double size = size_of(nest_.buffers[static_cast<size_t>(key.first)].type);
      std::vector<Run> runs = m.runs;
      if (m.count > 1) {
        const auto span = static_cast<double>(m.most - m.least);
        runs.push_back({span / (m.count - 1), static_cast<double>(m.count)});
      }
      const double bytes = m.drawn * bytes_under(std::move(runs), size);
      const bool anywhere = m.drawn > 1;
      parts[key.first].push_back(
          {anywhere ? 0 : size * static_cast<double>(m.least - m.down),
           anywhere ? bytes_of(key.first) : size * static_cast<double>(m.most + m.up + 1), bytes});
    }
    Touched out;
    for (auto& [buffer, list] : parts) {
      out[buffer] = std::min(union_of(std::move(list)), bytes_of(buffer));
    }
    return out;
  }

  double bytes_of(int buffer) const {
    const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
    const auto elements = values_.eval(b.elements);
    const double bytes = elements ? static_cast<double>(*elements) * size_of(b.type)
                                  : static_cast<double>(b.max_bytes);
    return std::max(bytes, kLine);
  }

  /// The accesses inside `s`, whose loops are opened one after the other.
  void gather(const Stmt& s, std::vector<Open>& open) {
    const auto* loop = as<ForStmt>(s);
    if (loop) {
      const Trips trips = trips_of(*loop, values_);
      if (trips.count == 0) return;
      values_.set(loop->loop, middle(trips));
      open.push_back({loop->loop, trips});
    }
    if (const auto* store = as<StoreStmt>(s)) access(store->buffer, store->offset, open);
    for_each_expr(s, [&](const Expr& root) {
      ir::visit(root, [&](const Expr& e) {
        if (e->op == Op::kLoad) access(e->id, e->args[0], open);
      });
    });
    const auto* choice = as<IfStmt>(s);
    if (choice) {
      const bool holds = values_.eval(choice->condition).value_or(1) != 0;
      const Stmt* taken = holds ? &choice->then() : choice->otherwise();
      if (taken) gather(*taken, open);
    } else {
      for (const StmtRef& b : s.body) gather(*b, open);
    }
    if (loop) open.pop_back();
  }

  /// How an access moves with the open loops: on the way from their first to their last values.
  void access(int buffer, const Expr& offset, const std::vector<Open>& open) {
    const Home home = nest_.buffers[static_cast<size_t>(buffer)].home;
    if (home == Home::kRegisters) return;
    Movers m;
    std::vector<int64_t> steps;
    std::vector<int64_t> kept;
    for (const Open& o : open) {
      kept.push_back(values_.at(o.loop));
      values_.set(o.loop, o.trips.begin);
    }
    const int64_t first = values_.eval_without_data(offset);
    for (const Open& o : open) {
      const auto count = static_cast<double>(o.trips.count);
      if (in_data(offset, o.loop)) m.drawn *= count;
      const auto moved_at = [&](int64_t step) {
        values_.set(o.loop, o.trips.begin + step);
        return values_.eval_without_data(offset) - first;
      };
      const int64_t reach = moved_at(o.trips.count - 1);
      // Remainders fall back to where they began: the first step says more than the whole way.
      const int64_t start = o.trips.count > 1 ? std::abs(moved_at(1)) : 0;
      values_.set(o.loop, o.trips.begin);
      (reach < 0 ? m.down : m.up) += std::abs(reach);
      const double step = std::max(static_cast<double>(start),
                                   static_cast<double>(std::abs(reach)) / std::max(1.0, count - 1));
      steps.push_back(std::llround(step * 16));
      add_run(m.runs, {step, count});
    }
    for (size_t i = 0; i < open.size(); ++i) values_.set(open[i].loop, kept[i]);
    Movers& all = movers_.try_emplace({buffer, std::move(steps)}, std::move(m)).first->second;
    all.least = all.count == 0 ? first : std::min(all.least, first);
    all.most = all.count == 0 ? first : std::max(all.most, first);
    ++all.count;
  }

  /// Two loops that move alike, as a window's taps and its place do, are one longer run.
  static void add_run(std::vector<Run>& runs, Run r) {
    for (Run& known : runs) {
      if (known.step == r.step && r.step > 0) {
        known.count += r.count - 1;
        return;
      }
    }
    runs.push_back(r);
  }

  static bool in_data(const Expr& offset, int loop) {
    return any_node(offset, [&](const Expr& e) {
      return e->op == Op::kLoad && mentions_loop(e->args[0], loop);
    });
  }

  const Nest& nest_;
  NestValues values_;
  /// By the buffer and, in sixteenths of elements, the steps along the open loops.
  std::map<std::pair<int, std::vector<int64_t>>, Movers> movers_;
};

}  // namespace

double footprint(const Nest& nest, std::span<const int64_t> dims) {
  Touched all;
  for (const Launch& l : nest.launches) {
    if (l.at_bind) continue;
    for (const auto& [buffer, bytes] : Tracer(nest, dims).touched_by(l)) {
      all[buffer] = std::max(all[buffer], bytes);
    }
  }
  return total(all);
}

std::vector<double> traffic(const Nest& nest, std::span<const int64_t> dims,
                            std::span<const double> capacities) {
  std::vector<double> moved(capacities.size());
  const double all = footprint(nest, dims);
  const auto end = std::lower_bound(capacities.begin(), capacities.end(), all);
  const auto small = capacities.first(static_cast<size_t>(end - capacities.begin()));
  for (const Launch& l : nest.launches) {
    if (l.at_bind || small.empty()) continue;
    const Levels part = Tracer(nest, dims).traffic_of(l, small);
    for (size_t i = 0; i < small.size(); ++i) moved[i] += part[i];
  }
  return moved;
}

double traffic(const Nest& nest, std::span<const int64_t> dims, double capacity) {
  return traffic(nest, dims, std::span(&capacity, 1))[0];
}

}  // namespace hone::jit
