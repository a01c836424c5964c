// SPDX-License-Identifier: Apache-2.0
// Tiles that a warp fills from shared memory, eight rows of 16 bytes at a time: ldmatrix.
//   thread.x lane: for c: for w: F[32*c + lane] = S[..]  =>  load_matrices<4>(F.at(0), S + row)
#include <fmt/format.h>

#include <map>

#include "jit/cuda/print_tiles.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Fixed by: ldmatrix.
constexpr int64_t kRow = 16;  // bytes of a matrix's row
constexpr int kLanes = 32, kLanesOfRow = 4;

/// Where a lane finds an element: `base + by_lane * lane + by_row * (lane / 4)`.
struct Spot {
  Poly base;
  int64_t by_lane = 0, by_row = 0;
};

/// The loops inside a loop over lanes, one in the other, around one store of a plain load.
struct Fill {
  std::vector<const ForStmt*> loops;
  const StoreStmt* store = nullptr;
};

Fill fill_of(const ForStmt& s) {
  Fill out;
  const Stmt* at = &s;
  while (at->body.size() == 1) {
    at = at->body[0].get();
    const auto* loop = as<ForStmt>(*at);
    if (!loop || is_thread(loop->mark)) break;
    int64_t begin = 0, end = 0;
    if (!is_const(loop->begin, &begin) || !is_const(loop->end, &end) || begin != 0) return {};
    out.loops.push_back(loop);
  }
  const auto* store = as<StoreStmt>(*at);
  const bool copies = store && store->reduce == Reduce::kNone && store->value->op == Op::kLoad &&
                      !store->value->guarded;
  if (copies) out.store = store;
  return out;
}

/// Elements of a fill by the register that takes them.
class Registers {
 public:
  Registers(const CudaNames& names, const Fill& fill) : n_(names), fill_(fill) { walk(0); }
  const std::map<int64_t, Spot>& spots() const { return spots_; }
  bool known() const { return known_; }

 private:
  void walk(size_t depth) {
    if (!known_) return;
    if (depth == fill_.loops.size()) return add();
    int64_t end = 0;
    is_const(fill_.loops[depth]->end, &end);
    for (int64_t i = 0; i < end; ++i) {
      values_[fill_.loops[depth]->loop] = i;
      walk(depth + 1);
    }
  }

  void add() {
    const StoreStmt& s = *fill_.store;
    const NestBuffer& to = n_.nest->buffers[static_cast<size_t>(s.buffer)];
    int64_t number = 0;
    known_ = is_const(register_of(to, with_values(s.offset, values_), n_), &number);
    const Expr lane = make_var(n_.nest->loops[static_cast<size_t>(n_.lane)], n_.lane);
    const Poly row = floor_div(Poly::atom(lane), kLanesOfRow, nullptr);
    Spot spot{Poly::of(with_values(s.value->args[0], values_), &n_.facts)};
    spot.by_lane = spot.base.loop_coef(n_.lane);
    for (const Poly::Term& t : spot.base.terms()) {
      Poly one(1);
      for (const Expr& f : t.factors) one = one * Poly::atom(f);
      if (one == row) spot.by_row = t.coef;
    }
    spot.base -= Poly(spot.by_lane) * Poly::atom(lane) + Poly(spot.by_row) * row;
    known_ = known_ && !spot.base.mentions_loop(n_.lane);
    spots_[number] = std::move(spot);
  }

  const CudaNames& n_;
  const Fill& fill_;
  std::map<int, int64_t> values_;
  std::map<int64_t, Spot> spots_;
  bool known_ = true;
};

/// How the words of a fill lie in shared memory, each a lane's part of a matrix of 8 rows.
struct Matrices {
  std::vector<Poly> bases;
  int64_t stride = 0;  ///< elements from row to row
  bool transposed = false;
};

/// Nothing where words are not parts of such matrices, all of one kind.
std::optional<Matrices> matrices_of(const std::map<int64_t, Spot>& spots, int64_t each,
                                    int64_t size) {
  Matrices out;
  const auto multiple = [&](const Poly& p) {
    bool fits = p.constant() * size % kRow == 0;
    for (const Poly::Term& t : p.terms()) fits &= t.coef * size % kRow == 0;
    return fits;
  };
  int64_t next = 0;
  for (auto at = spots.begin(); at != spots.end(); ++at, ++next) {
    if (at->first != next) return {};
    const Spot& spot = at->second;
    const int64_t place = next % each;
    if (place == 0) {
      const bool plain = spot.by_lane == each;
      const int64_t stride = plain ? spot.by_row + kLanesOfRow * each : spot.by_lane / 2;
      const bool transposed = !plain && each == 2 && spot.by_lane % 2 == 0 &&
                              spot.by_row == 1 - 2 * kLanesOfRow * stride;
      if (!plain && !transposed) return {};
      if (!out.bases.empty() && (out.stride != stride || out.transposed != transposed)) return {};
      if (stride * size % kRow != 0 || !multiple(spot.base)) return {};
      out.stride = stride;
      out.transposed = transposed;
      out.bases.push_back(spot.base);
    }
    const Poly step = spot.base - out.bases.back();
    const Spot& first = std::prev(at, place)->second;
    if (!(step == Poly(place * (out.transposed ? out.stride : 1)))) return {};
    if (spot.by_lane != first.by_lane || spot.by_row != first.by_row) return {};
  }
  return spots.size() % static_cast<size_t>(each) == 0 ? std::optional(out) : std::nullopt;
}

}  // namespace

/// The body of a loop over all lanes of a warp as loads of matrices; false: it is something else.
bool TilePrinter::emit_matrices(const ForStmt& s) {
  const Fill fill = fill_of(s);
  if (!fill.store) return false;
  const NestBuffer& to = nest_.buffers[static_cast<size_t>(fill.store->buffer)];
  const NestBuffer& from = nest_.buffers[static_cast<size_t>(fill.store->value->id)];
  const int64_t size = size_of(to.type);
  if (to.home != Home::kWarp || to.lanes != kLanes || from.home != Home::kSharedMemory ||
      to.type != from.type || size > 2) {
    return false;
  }
  const Registers registers(n_, fill);
  if (!registers.known()) return false;
  const auto found = matrices_of(registers.spots(), 4 / size, size);
  if (!found) return false;
  const std::string& lane = loop(s.loop);
  used_.insert({fill.store->buffer, fill.store->value->id});
  written_.insert(&to);
  for (size_t i = 0; i < found->bases.size();) {
    const auto apart = [&](size_t b) { return (found->bases[i + b] - found->bases[i]).value(); };
    const size_t left = found->bases.size() - i;
    size_t count = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    const auto one = count > 1 ? apart(1) : 0, two = count > 2 ? apart(2) : 0;
    if (count == 4 && !(one && two && apart(3) == *one + *two)) count = one ? 2 : 1;
    if (count == 2 && !one) count = 1;
    std::string address = print_index(found->bases[i].expr(), n_) +
                          fmt::format(" + {} * ({} % 8)", found->stride, lane);
    if (count > 1) address += fmt::format(" + {} * ({} / 8 % 2)", *one, lane);
    if (count > 2) address += fmt::format(" + {} * ({} / 16)", *two, lane);
    // A lane's row is one chunk of 16 bytes, which moves as a whole.
    if (from.swizzle) address = fmt::format("swizzled<{}, {}>({})", from.swizzle, size, address);
    line(fmt::format("load_matrices<{}, {}>({}.at({}), HONE_AT({}, {}));", count, found->transposed,
                     n_.buffers[static_cast<size_t>(fill.store->buffer)],
                     static_cast<int64_t>(i) * 4 / size,
                     n_.buffers[static_cast<size_t>(fill.store->value->id)], address));
    i += count;
  }
  return true;
}

}  // namespace hone::jit
