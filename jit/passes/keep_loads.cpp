// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/keep_loads.h"

#include <map>
#include <set>
#include <string>

#include "jit/ir/build.h"
#include "jit/ir/facts.h"
#include "jit/ir/visit.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Registers of a thread that a launch may fill so.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kMostRegisters = 72;
/// Numbers of the loops that stand for those over threads of an axis, and for the unrolled ones.
/// Chosen: beyond the number of any loop (not measured).
constexpr int kThreadLoop = 1 << 20;
constexpr int kUnrolledLoop = kThreadLoop + 8;

/// The loops around a statement, outermost first, inside the part that it shares with others.
using Path = std::vector<const ForStmt*>;

/// A load in a place, by a text that equal ones in like loops have in common.
struct Found {
  Expr load;
  std::string key;
};

/// What several loops load: a buffer of registers.
struct Kept {
  std::set<const ForStmt*> loops;  ///< the outermost unrolled one of each
  std::set<std::string> places;
  int64_t elements = 1;
  int64_t registers = 0;
  int tensor = -1;
  int buffer = -1;      ///< in the nest, once made
  bool loaded = false;  ///< by a loop that was passed
};

class Keeper {
 public:
  explicit Keeper(Nest& nest) : nest_(nest) {}

  void run(Launch& launch) {
    written_.clear();
    kept_.clear();
    for_each(*launch.body, [&](const Stmt& s) {
      if (const auto* store = as<StoreStmt>(s)) written_.insert(store->buffer);
    });
    facts_.define_loop(launch.range, Poly(), Poly::of(launch.extent, &facts_));
    for (const bool change : {false, true}) {
      change_ = change;
      regions_ = 0;
      const StmtRef body = walk(launch.body, {}, 0);
      if (change) launch.body = body;
      if (!change && !choose()) return;
    }
  }

 private:
  /// Those that are worth a buffer get one; false: none is.
  bool choose() {
    int64_t registers = 0;
    for (auto& [key, k] : kept_) {
      if (k.loops.size() < 2 || registers + k.registers > kMostRegisters) continue;
      registers += k.registers;
      NestBuffer b;
      b.name = nest_.buffers[static_cast<size_t>(k.tensor)].name + ".kept";
      b.type = nest_.buffers[static_cast<size_t>(k.tensor)].type;
      b.home = Home::kRegisters;
      b.elements = make_int(k.elements);
      b.max_bytes = k.elements * size_of(b.type);
      k.buffer = static_cast<int>(nest_.buffers.size());
      nest_.buffers.push_back(std::move(b));
    }
    return registers > 0;
  }

  static bool unrolled(const ForStmt& s) {
    return s.mark == Mark::kUnroll || s.mark == Mark::kVector;
  }

  StmtRef walk(const StmtRef& s, Path path, int region) {
    if (is<StoreStmt>(*s)) return keep(s, path, region);
    bool together = is<SequenceStmt>(*s);
    if (const auto* l = as<ForStmt>(*s)) {
      facts_.define_loop(l->loop, Poly::of(l->begin, &facts_), Poly::of(l->end, &facts_));
      const bool lockstep = unrolled(*l) || is_thread(l->mark);
      if (lockstep) path.push_back(l);
      together = lockstep || is_block(l->mark);
    }
    if (!together) path.clear();
    return rewrite_children(
        s, [&](const StmtRef& b) { return walk(b, path, together ? region : ++regions_); });
  }

  /// Counts the loads of a store, or reads them from registers, filling those where it is first.
  StmtRef keep(const StmtRef& s, const Path& path, int region) {
    const auto& store = to<StoreStmt>(*s);
    std::vector<StmtRef> body;
    std::set<int> filled;
    Expr value = rewrite(store.value, [&](const Expr& e) -> Expr {
      if (e->op != Op::kLoad || e->guarded) return {};
      const std::string key = key_of(e, path, region);
      if (key.empty()) return {};
      if (!change_) {
        count(key, e, path);
        return {};
      }
      Kept& k = kept_[key];
      if (k.buffer < 0) return {};
      if (!k.loaded) {
        if (filled.insert(k.buffer).second) {
          body.push_back(make_store(k.buffer, number(path), e));
        }
      }
      return load_of(k.buffer, *e, number(path));
    });
    if (!change_ || equal(value, store.value)) return s;
    for (auto& [key, k] : kept_) k.loaded |= filled.contains(k.buffer);
    StoreStmt kept = store;
    kept.value = std::move(value);
    body.push_back(make_stmt(std::move(kept)));
    return make_body(std::move(body));
  }

  void count(const std::string& key, const Expr& load, const Path& path) {
    Kept& k = kept_[key];
    k.elements = 1;
    for (const ForStmt* l : path) {
      if (!unrolled(*l)) continue;
      if (k.elements == 1) k.loops.insert(l);
      k.elements *= *facts_.upper(Poly::of(l->end, &facts_));
    }
    k.tensor = load->id;
    const int64_t size = size_of(nest_.buffers[static_cast<size_t>(load->id)].type);
    k.registers = k.elements * std::max<int64_t>(1, size / 4);
  }

  /// The element of a thread's part that the unrolled loops are at.
  Expr number(const Path& path) const {
    Expr out = make_int(0);
    for (const ForStmt* l : path) {
      if (!unrolled(*l)) continue;
      const int64_t extent = *facts_.upper(Poly::of(l->end, &facts_));
      out = out * make_int(extent) + make_var(nest_.loops[static_cast<size_t>(l->loop)], l->loop);
    }
    return out;
  }

  Expr load_of(int buffer, const Node& like, const Expr& offset) const {
    Node n = like;
    n.id = buffer;
    n.name = nest_.buffers[static_cast<size_t>(buffer)].name;
    n.args = {offset};
    return make_node(std::move(n));
  }

  /// What says that two loads are of the same element, in the same iterations of a thread; "": the
  /// load is not one to keep.
  std::string key_of(const Expr& load, const Path& path, int region) {
    const NestBuffer& b = nest_.buffers[static_cast<size_t>(load->id)];
    const bool memory = b.home == Home::kArgument || b.home == Home::kWorkspace;
    if (!memory || written_.contains(load->id)) return {};
    std::map<int, Expr> standing;
    int inner = 0;
    for (const ForStmt* l : path) {
      const bool thread = is_thread(l->mark);
      int64_t begin = 0;
      if (!thread &&
          (!is_const(l->begin, &begin) || begin != 0 || !facts_.upper(Poly::of(l->end, &facts_)))) {
        return {};
      }
      const int id = thread ? kThreadLoop + axis_of(l->mark) : kUnrolledLoop + inner++;
      standing[l->loop] = make_var((thread ? "t" : "u") + std::to_string(id), id);
    }
    if (inner == 0) return {};
    const auto text = [&](const Expr& e) {
      return print(Poly::of(rewrite(e, [&](const Expr& x) {
                     if (x->op != Op::kVar) return Expr();
                     const auto found = standing.find(x->id);
                     return found == standing.end() ? Expr() : found->second;
                   })).expr());
    };
    std::set<std::string> threads;
    std::string loops, moved = text(load->args[0]);
    for (const ForStmt* l : path) {
      const std::string range = text(standing[l->loop]) + " " + text(l->begin) + " " + text(l->end);
      if (is_thread(l->mark)) {
        threads.insert(range);
      } else {
        loops += range + ";";
      }
    }
    for (const std::string& t : threads) loops += t + ";";
    return std::to_string(region) + ":" + std::to_string(load->id) + "[" + moved + "] " + loops;
  }

  Nest& nest_;
  Facts facts_;
  std::set<int> written_;
  std::map<std::string, Kept> kept_;
  bool change_ = false;
  int regions_ = 0;
};

}  // namespace

Nest with_kept_loads(Nest nest) {
  Keeper keeper(nest);
  for (Launch& l : nest.launches) keeper.run(l);
  return nest;
}

}  // namespace hone::jit
