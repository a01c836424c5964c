// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower.h"

#include <algorithm>

#include "jit/ir/build.h"
#include "jit/ir/gpu.h"
#include "jit/ir/integers.h"
#include "jit/ir/recurrence.h"
#include "jit/ir/scan.h"
#include "jit/ir/scatter.h"
#include "jit/ir/so_far.h"
#include "jit/passes/joins.h"
#include "jit/passes/lower/lowering.h"
#include "jit/passes/multicast.h"
#include "jit/passes/pipeline.h"
#include "jit/passes/reject.h"
#include "jit/passes/unread.h"
#include "jit/passes/wgmma.h"

namespace hone::jit {

using namespace ir;

namespace {

StmtRef loop(int id, const Loop& how, Expr begin, Expr end, std::vector<StmtRef> body,
             int into = -1, bool scan = false) {
  ForStmt s;
  s.loop = id;
  s.mark = row_of(how.mark).in_nest ? how.mark : Mark::kSerial;
  s.begin = std::move(begin);
  s.end = std::move(end);
  s.instruction = how.instruction;
  s.scan = scan;
  s.gpu = {how.gpu, 0, into};
  s.body = std::move(body);
  return make_stmt(std::move(s));
}

/// Nodes of all expressions that one nest may have. Cuts of nested loops multiply their copies.
/// Chosen: a second to compile (not measured).
constexpr size_t kMostNodes = 1 << 16;

}  // namespace

void reject(std::string message) { throw ir::Reject(std::move(message)); }

Nest Lowering::run(const std::string* only) {
  check_marks(program_, target_);
  overhangs_.find();
  nest_.dims = program_.dims;
  nest_.scalars = program_.scalars;
  for (const Dim& d : program_.dims) facts_.define_dim(d.name, d.lo, d.hi);
  allocation_.add_parameters();
  checks_.add();
  for (size_t i = 0; i < program_.stages.size(); ++i) {
    const Stage& s = program_.stages[i];
    const bool outlives = kept_at_root(program_, s);
    if (!s.at.root() && !outlives) continue;
    allocation_.allocate_root(static_cast<int>(i));
    if (outlives) windows_.check_covered(s, windows_.whole(s));
    if (s.at.root() && (!only || s.name == *only)) add_launch(static_cast<int>(i));
    if (s.at.root()) know_elements(s);
  }
  const ArgsLayout layout = args_layout(nest_);
  size_t tensor = 0, bound = 0;
  for (NestBuffer& b : nest_.buffers) {
    if (b.home == Home::kArgument) b.slot = layout.tensor_slots[tensor++];
    if (b.home == Home::kBound) b.slot = layout.bound_slots[bound++];
  }
  nest_.slots = ArgsLayout::kFirstTensor +
                static_cast<int>(layout.tensor_slots.size() + layout.bound_slots.size() +
                                 nest_.dims.size() + nest_.scalars.size());
  return std::move(nest_);
}

void Lowering::add_launch(int stage) {
  const Stage& s = program_.stages[static_cast<size_t>(stage)];
  Instance in(context_.loops[static_cast<size_t>(stage)], windows_.domain_of(stage));
  context_.active[static_cast<size_t>(stage)] = &in;
  Launch launch;
  launch.name = s.name;
  launch.at_bind =
      nest_.buffers[static_cast<size_t>(storage_of(s.output).buffer)].home == Home::kBound;
  const bool ranged = !in.loops->order.empty() &&
                      !in.loops->nodes[static_cast<size_t>(in.loops->order[0])].reduction &&
                      in.loops->nodes[static_cast<size_t>(in.loops->order[0])].factored < 0 &&
                      (s.loops[0].mark == Mark::kSerial || s.loops[0].mark == Mark::kParallel ||
                       is_block(s.loops[0].mark));
  if (s.writes_nothing()) {
    // What is computed inside it is of no use either.
    launch.range = new_loop(s.name, 0, 0);
    launch.extent = make_int(0);
    launch.body = make_body({});
  } else if (ranged) {
    launch_loop(in, launch);
  } else {
    launch.range = new_loop(s.name, 0, 1);
    launch.extent = make_int(1);
    Block body;
    walk(in, 0, body);
    launch.body = make_body(std::move(body));
  }
  context_.active[static_cast<size_t>(stage)] = nullptr;
  nest_.launches.push_back(std::move(launch));
}

/// What is known of the integers that a stage leaves, where indices and sizes alone decide them.
void Lowering::know_elements(const Stage& s) {
  const Buffer& b = *program_.buffer(s.output);
  const bool last = s.reduce == Reduce::kLast && !s.from_old;
  const bool plain = s.reduce == Reduce::kNone && !s.where;
  if (b.role != Role::kTemp || !is_int(b.type) || (!last && !plain)) return;
  IntegerRange held = *range_of(b.type);
  Expr value = s.value;
  for (; value->op == Op::kCast && is_int(value->args[0]->type); value = value->args[0]) {
    const IntegerRange cast = *range_of(value->type);
    held = {std::max(held.lo, cast.lo), std::min(held.hi, cast.hi)};
  }
  if (value->type != DType::kI64) return;
  const std::optional<Span> span =
      windows_.interval(value, windows_.spans_inside(program_.stages.index_of(s)), s);
  if (!span || span->guessed) return;
  Poly least = span->lo, most = span->lo + span->extent - Poly(1);
  if (last) {  // what no term reaches is 0
    least = min(0, least, &facts_);
    most = max(0, most, &facts_);
  }
  const std::optional<int64_t> lo = facts_.lower(least), hi = facts_.upper(most);
  if (!lo || !hi || *lo < held.lo || *hi > held.hi) return;
  facts_.define_elements({b.name, std::move(least), std::move(most), {}});
}

/// The outermost loop of a root stage is the launch's range: its pieces become branches.
///   for o in 0..n: main, then tail    =>    launch(o in 0..n+1): if o < n: main else tail
void Lowering::launch_loop(Instance& in, Launch& launch) {
  const int node = in.loops->order[0];
  const Loop& l = in.stage().loops[0];
  if (l.gpu.depth > 1) {
    reject("pipeline " + l.name + ": the loop is the range of launch " + launch.name +
           "; bind it, or pipeline a loop inside it");
  }
  std::vector<Piece> pieces = tails_.pieces_of(in, node, false);
  // What never runs has no index that could be proved.
  std::erase_if(pieces, [](const Piece& p) {
    const std::optional<int64_t> trips = (p.end - p.begin).value();
    return trips && *trips <= 0;
  });
  Poly extent;
  for (const Piece& p : pieces) {
    extent = max(extent, p.end, &facts_);
  }
  launch.range = new_loop(in.stage().name + "/" + l.name, 0, extent);
  launch.parallel = l.mark == Mark::kParallel;
  if (is_block(l.mark)) launch.mark = l.mark, launch.cluster = l.gpu.cluster;
  launch.extent = extent.expr();
  const Expr range = make_var(nest_.loops[static_cast<size_t>(launch.range)], launch.range);
  Block parts;
  for (const Piece& p : pieces) {
    Block body;
    facts_.define_loop(launch.range, p.begin, p.end);
    if (p.holds) facts_.assume(*p.holds);
    values_.place(in, node, p.end - p.begin == Poly(1) ? p.begin : Poly::atom(range), p);
    enter(in, 0, body);
    values_.unplace(in, node);
    if (p.holds) facts_.forget();
    Expr when = p.holds ? make_binary(Op::kLe, make_int(0), p.holds->expr()) : Expr();
    auto also = [&](Expr c) { when = when ? make_binary(Op::kAnd, when, c) : c; };
    if (!(p.begin == Poly())) also(make_binary(Op::kLe, p.begin.expr(), range));
    if (!(p.end == extent)) also(make_binary(Op::kLt, range, p.end.expr()));
    if (when) {
      parts.push_back(make_if(when, make_body(std::move(body))));
    } else {
      parts.insert(parts.end(), body.begin(), body.end());
    }
  }
  launch.body = make_body(std::move(parts));
}

void Lowering::walk(Instance& in, size_t depth, Block& out) {
  if (depth == in.loops->order.size()) {
    leaf(in, false, out);
    return;
  }
  const LoopNode& node = in.loops->nodes[static_cast<size_t>(in.loops->order[depth])];
  const Loop& l = in.stage().loops[depth];
  const bool reduced = node.reduction && in.stage().reduce != Reduce::kNone;
  const bool scattered = l.mark == Mark::kScatter;
  // Factored loops are cut to where the reduction has values: all of the window is initialised
  // before the first of them. So it is before terms go anywhere.
  const bool first = (reduced || scattered || node.factored >= 0) && !in.initialised;
  if (first) {
    if (!in.stage().from_old) initialise(in, depth, out);
    in.initialised = true;
  }
  if (scattered) {
    walk(in, depth + 1, out);
  } else {
    walk_loop(in, depth, l, false, out, [&](Block& inside) { enter(in, depth, inside); });
  }
  if (first) in.initialised = false;
}

void Lowering::walk_loop(Instance& in, size_t depth, const Loop& l, bool init, Block& out,
                         const std::function<void(Block&)>& inside) {
  const int node = in.loops->order[depth];
  for (const Piece& p : tails_.pieces_of(in, node, init)) {
    Block body;
    const Poly trips = p.end - p.begin;
    if (trips.is_constant() && trips.constant() <= 0) continue;
    tiles_.check_whole(l, p);
    if (p.holds) facts_.assume(*p.holds);
    // One block or thread of several that run is a loop all the same, one iteration of a tensor
    // instruction a part of it. And what blocks of a cluster fill once, they fill together.
    const bool bound = is_block(l.mark) || is_thread(l.mark) || l.mark == Mark::kTensor ||
                       (l.gpu.specialized && has_clusters(program_));
    if (!bound && trips.is_constant() && trips.constant() == 1) {
      values_.place(in, node, p.begin, p);
      inside(body);
    } else {
      const int id = new_loop(in.stage().name + "/" + l.name, p.begin, p.end);
      values_.place(in, node, Poly::atom(make_var(nest_.loops[static_cast<size_t>(id)], id)), p);
      Block within;
      begins_[id] = p.begin;
      if (is_thread(l.mark)) threads_.open(in, l, id, p);
      inside(within);
      if (is_thread(l.mark)) threads_.close();
      if (!init) after_loop(id, p.end);
      const bool reduces =
          is_thread(l.mark) && in.loops->nodes[static_cast<size_t>(node)].reduction && !init;
      if (bound || !within.empty()) {
        body.push_back(loop(id, l, p.begin.expr(), p.end.expr(), std::move(within),
                            reduces ? storage_of(in.stage().output).buffer : -1,
                            l.mark == Mark::kVector && scanning_loop(in.stage()) == depth));
      }
    }
    values_.unplace(in, node);
    if (p.holds) facts_.forget();
    if (p.holds && !body.empty()) {
      out.push_back(
          make_if(make_binary(Op::kLe, make_int(0), p.holds->expr()), make_body(std::move(body))));
    } else {
      out.insert(out.end(), body.begin(), body.end());
    }
  }
}

/// The body of an open loop: what is computed at it, then the loops inside.
void Lowering::enter(Instance& in, size_t depth, Block& out) {
  const Loop& l = in.stage().loops[depth];
  const BufferAllocation::Live before = allocation_.live();
  prefetches_.add(in, l, out);
  allocate_inside(in, l.name, out);
  attached(in, l.name, out);
  walk(in, depth + 1, out);
  allocation_.release(before);
}

/// Memory for what is kept at the loop.
void Lowering::allocate_inside(const Instance& in, const std::string& loop_name, Block& out) {
  std::vector<std::pair<size_t, std::vector<Span>>> carried;
  const Windows::StandStill still(windows_);
  for (size_t i = 0; i < program_.stages.size(); ++i) {
    const Stage& s = program_.stages[i];
    const Place& home = s.store.root() ? s.at : s.store;
    if (home.stage == in.stage().name && home.loop == loop_name && !kept_at_root(program_, s)) {
      std::vector<Span> window = windows_.window_at(s, home);
      allocation_.allocate(static_cast<int>(i), window);
      if (carried_state(program_, s)) carried.emplace_back(i, std::move(window));
    }
  }
  for (auto& [i, window] : carried) before_first(i, std::move(window), out);
}

void Lowering::attached(Instance& in, const std::string& loop_name, Block& out) {
  std::vector<std::pair<size_t, std::vector<Span>>> windows;
  {
    const Windows::StandStill still(windows_);
    for (size_t i = 0; i < program_.stages.size(); ++i) {
      const Stage& s = program_.stages[i];
      if (s.at.stage != in.stage().name || s.at.loop != loop_name) continue;
      windows.emplace_back(i, windows_.window_at(s, s.at));
    }
  }
  for (auto& [i, window] : windows) {
    const Stage& s = program_.stages[i];
    windows_.check_chains(s, window);
    windows_.check_ranges(s, window);
    if (carried_state(program_, s)) keep_earlier(in, loop_name, i, window, out);
    if (is_so_far(program_, s, in.stage())) {
      read_so_far(in, s, out);
      continue;
    }
    Instance child(context_.loops[i], std::move(window));
    context_.active[i] = &child;
    if (program_.buffer(s.output)->space == Space::kSharedMemory) {
      Block together;
      if (s.tma) {
        together.push_back(copies_.copy(child));
      } else {
        walk(child, 0, together);
      }
      out.push_back(make_team(std::move(together)));
    } else {
      walk_choosing(child, out);
    }
    context_.active[i] = nullptr;
  }
}

/// What a scatter holds of a term's element before the term comes, as the value of another stage.
void Lowering::read_so_far(Instance& in, const Stage& reader, Block& out) {
  const Stage& s = in.stage();
  const Storage& to = storage_of(reader.output);
  const std::vector<Poly> index{accesses_.variable(in, s.rvars[0].name)};
  accesses_.prove_inside(to, index, reader.output);
  std::vector<Expr> at = s.out_index;
  for (Expr& e : at) e = e->op == Op::kVar ? scattered_to(s, e->name) : e;
  const Expr held =
      make_load(s.output, s.accumulate, std::move(at), identity(s.reduce, s.accumulate));
  out.push_back(make_store(to.buffer, accesses_.offset(to, index), accesses_.translate(in, held)));
}

/// A tile whose elements are chosen by conditions on indices. It is computed without the choice
/// where what is left of the conditions says that they hold for all elements.
///   T[i,j] = select(j <= i, ..)    =>    if j0 + 127 <= i0: T[i,j] = ..; else T[i,j] = select(..)
void Lowering::walk_choosing(Instance& in, Block& out) {
  const Stage& s = in.stage();
  std::vector<Poly> left;
  if (program_.buffer(s.output)->space == Space::kWarp) left = windows_.left_by_choices(in);
  // Nothing is proved of what never is.
  Poly together;
  const bool never = std::any_of(left.begin(), left.end(), [&](const Poly& p) {
    together += p;
    const auto most = facts_.upper(p), all = facts_.upper(together);
    return (most && *most < 0) || (all && *all < 0);
  });
  if (left.empty() || never) return walk(in, 0, out);
  Instance all(*in.loops, in.window);
  Expr whole;
  for (const Poly& p : left) {
    const Expr holds = make_binary(Op::kLe, make_int(0), p.expr());
    whole = whole ? make_binary(Op::kAnd, whole, holds) : holds;
    facts_.assume(p);
  }
  Block plain, chosen;
  Instance* const around = context_.active[program_.stages.index_of(s)];
  context_.active[program_.stages.index_of(s)] = &all;
  walk(all, 0, plain);
  context_.active[program_.stages.index_of(s)] = around;
  for (size_t i = 0; i < left.size(); ++i) facts_.forget();
  walk(in, 0, chosen);
  out.push_back(
      make_if(std::move(whole), make_body(std::move(plain)), make_body(std::move(chosen))));
}

/// The conjuncts of `where` that decide what is reduced. The others bound what readers may look at:
/// elements of a temporary beyond them may be computed and are never seen.
static Expr needed_where(const Stage& s, const Expr& where) {
  if (!where) return where;
  if (where->op == Op::kAnd) {
    const Expr a = needed_where(s, where->args[0]), b = needed_where(s, where->args[1]);
    return a && b ? make_binary(Op::kAnd, a, b) : a ? a : b;
  }
  bool reduced = false;
  visit(where, [&](const Expr& e) { reduced |= e->op == Op::kVar && s.is_reduction_var(e->name); });
  return reduced ? where : Expr();
}

/// The condition under which a result that others see lies in its domain, null where it always
/// does. It is assumed from here on; `assumed` grows by the number of assumptions.
Expr Lowering::keep_inside(Instance& in, int& assumed) {
  const Stage& s = in.stage();
  Expr inside;
  if (!s.at.root()) return inside;
  for (const IndexVar& v : s.vars) {
    if (!overhangs_.has(s, v.name)) continue;
    const Poly value = accesses_.variable(in, v.name), end = accesses_.index(in, v.hi);
    const Poly rest = end - Poly(1) - value;
    if (facts_.nonnegative(rest)) continue;
    const Expr below = make_binary(Op::kLt, value.expr(), end.expr());
    inside = inside ? make_binary(Op::kAnd, inside, below) : below;
    facts_.assume(rest);
    ++assumed;
  }
  return inside;
}

/// The same for indices that a term tells. Where it is not proved that it goes to an element of the
/// window, that is tested.
Expr Lowering::keep_scattered(Instance& in, Expr when, int& assumed) {
  const Stage& s = in.stage();
  for (size_t v = 0; v < s.vars.size(); ++v) {
    if (!runs_scattered(s, s.vars[v].name)) continue;
    const Span& window = in.window[v];
    const Poly from = accesses_.variable(in, s.vars[v].name) - window.lo;
    const Poly last = window.extent - Poly(1) - from;
    const bool below = facts_.nonnegative(last);
    const auto require = [&](const Poly& least, const Expr& holds) {
      when = when ? make_binary(Op::kAnd, when, holds) : holds;
      facts_.assume(least);
      ++assumed;
    };
    // What grows past 64 bits comes back as a negative number.
    if (!facts_.nonnegative(from) || (!below && !facts_.upper(from))) {
      require(from, make_binary(Op::kLe, make_int(0), from.expr()));
    }
    if (!below) require(last, make_binary(Op::kLt, from.expr(), window.extent.expr()));
  }
  return when;
}

void Lowering::leaf(Instance& in, bool init, Block& out) {
  const Stage& s = in.stage();
  ir::visit(s.value, [&](const Expr&) { ++nodes_; });
  if (nodes_ > kMostNodes) {
    reject("loops that are cut copy the stages inside to more than " + std::to_string(kMostNodes) +
           " operations; cut fewer of the loops around stage " + s.name);
  }
  std::vector<Poly> indices;
  for (const Expr& e : s.out_index) indices.push_back(accesses_.index(in, e));
  for (const std::string& f : s.factored) {
    const int node = in.loops->find(f);
    indices.push_back(*in.value[static_cast<size_t>(node)]);
  }
  Storage& to = kept_storage(s.output);
  const auto carried = carried_state(program_, s);
  if (carried) {
    if (!init) to.youngest = indices[carried->dim];
    indices[carried->dim] = 0;
  }
  int assumed = 0;
  Expr when = keep_inside(in, assumed);
  if (!init) when = keep_scattered(in, std::move(when), assumed);
  accesses_.prove_inside(to, indices, s.output);
  threads_.check(in);
  tiles_.check(in);
  overhangs_.check_sum(s);
  Block body;
  if (init && carried) {
    const Expr youngest = accesses_.offset(to, indices);
    if (in.keeps_earlier) indices[carried->dim] = 1;
    Expr value = in.keeps_earlier ? make_nest_load(nest_.buffers[static_cast<size_t>(to.buffer)],
                                                   to.buffer, youngest)
                                  : accesses_.translate(in, carried->first);
    body = {make_store(to.buffer, accesses_.offset(to, indices), std::move(value))};
  } else if (init) {
    body = {make_store(to.buffer, accesses_.offset(to, indices), identity(s.reduce, s.accumulate))};
  } else if (!define(in, indices, when, body)) {
    body.clear();
  }
  for (; assumed > 0; --assumed) facts_.forget();
  if (body.empty()) return;
  if (when) {
    out.push_back(make_if(std::move(when), make_body(std::move(body))));
  } else {
    out.insert(out.end(), body.begin(), body.end());
  }
}

/// Stores the stage's value where `when`, narrowed by its `where`, holds; false: it never does.
bool Lowering::define(Instance& in, const std::vector<Poly>& indices, Expr& when, Block& out) {
  const Stage& s = in.stage();
  const Storage& to = storage_of(s.output);
  const bool combines = in.initialised && s.reduce != Reduce::kLast;
  const Reduce reduce = combines ? s.reduce : Reduce::kNone;
  const bool temporary = program_.buffer(s.output)->role == Role::kTemp;
  const Expr where = temporary ? needed_where(s, s.where) : s.where;
  if (where) {
    Expr holds = accesses_.translate(in, where);
    int64_t known = 0;
    if (!is_const(holds, &known)) {
      when = when ? make_binary(Op::kAnd, when, std::move(holds)) : std::move(holds);
    } else if (!known) {
      return false;
    }
  }
  Expr value = accesses_.translate(in, s.value);
  // A term that changes nothing, as beyond a border. What began with -0 would become 0.
  if (combines && !s.from_old && equal(value, identity(reduce, s.accumulate))) return false;
  out.push_back(make_store(to.buffer, accesses_.offset(to, indices), std::move(value), reduce));
  return true;
}

Result<Nest, ir::Reject> lower(const Program& program, const Target& target) {
  if (auto broken = broken_order(program)) return *std::move(broken);
  if (auto broken = broken_scatter(program)) return *std::move(broken);
  try {
    LoweringContext context(program, target);
    return with_wgmma_groups(multicast(pipelined(without_unread(Lowering(context).run()))));
  } catch (ir::Reject& why) {
    return std::move(why);
  }
}

Result<Nest, ir::Reject> lower_launch(const Program& program, const Target& target,
                                      const std::string& stage) {
  try {
    LoweringContext context(program, target);
    return Lowering(context).run(&stage);
  } catch (ir::Reject& why) {
    return std::move(why);
  }
}

}  // namespace hone::jit
