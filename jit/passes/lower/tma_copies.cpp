// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/tma_copies.h"

#include "jit/ir/build.h"
#include "jit/ir/gpu.h"
#include "jit/passes/lower/accesses.h"
#include "jit/passes/reject.h"
#include "jit/passes/statements.h"

namespace hone::jit {

using namespace ir;

/// An axis of the copy's layout that has more than one element.
struct TmaAxis {
  size_t var = 0;  ///< of the stage
  int64_t div = 1;
  int64_t extent = 1;
  int64_t stride = 1;  ///< elements
};

/// How a stage is cut in TMA copies.
struct TmaShape {
  Expr load;
  std::vector<size_t> axis;    ///< per var, the axis of the tensor that it runs along
  std::vector<TmaAxis> box;    ///< of one copy, innermost first: a run of the layout
  std::vector<TmaAxis> outer;  ///< outermost first: loops over copies
};

namespace {

/// Fixed by: TMA.
constexpr int kTmaSm = 90;
constexpr int64_t kMostRank = 5;      // dimensions of a map
constexpr int64_t kMostBoxDim = 256;  // elements of a copy along one, its boxDim
constexpr int64_t kChunk = 16;        // bytes that rows and strides are multiples of
constexpr int64_t kTileAlign = 128;   // of a copy in shared memory
constexpr int64_t kMostSwizzle = 128;

bool is_zero(const Expr& e) {
  return (e->op == Op::kInt && e->i == 0) || (e->op == Op::kFloat && e->f == 0);
}

/// The variable of the stage that `index` is, but for a constant; the number of them where it is
/// none.
size_t var_in(const Stage& s, const Expr& index) {
  const Poly p = Poly::of(index);
  if (p.terms().size() == 1 && p.terms()[0].coef == 1 && p.terms()[0].factors.size() == 1) {
    for (size_t v = 0; v < s.vars.size(); ++v) {
      const Expr& f = p.terms()[0].factors[0];
      if (f->op == Op::kVar && f->name == s.vars[v].name) return v;
    }
  }
  return s.vars.size();
}

std::string bytes_text(int64_t bytes) { return std::to_string(bytes) + " bytes"; }

}  // namespace

/// What no TMA does.
void TmaCopies::check_source(const Instance& in) const {
  const Stage& s = in.stage();
  const std::string what = "tma " + s.name + ": ";
  if (target_.generation() < kTmaSm) {
    reject(what + print(target_) + " has no TMA for boxes; sm_90 has, leave the step out" +
           newer_compiler_hint(target_, target_.sm >= kTmaSm));
  }
  for (const Loop& l : s.loops) {
    if (l.mark == Mark::kSerial) continue;
    reject(what + "loop " + l.name + " is marked " + std::string(name_of(l.mark)) +
           ", and one thread starts the copies; leave the copy's loops alone");
  }
  if (s.value->op != Op::kLoad || s.where || s.reduce != Reduce::kNone) {
    reject(what + "it is no plain copy of a tensor");
  }
  if (s.value->guarded && !is_zero(s.value->args.back())) {
    reject(what + "outside " + s.value->name + " it finds " + print(s.value->args.back()) +
           "; a copied box has 0 there");
  }
  const Home home = nest_.buffers[static_cast<size_t>(storage_of(s.value->name).buffer)].home;
  if (home != Home::kArgument && home != Home::kBound && home != Home::kWorkspace) {
    reject(what + s.value->name + " is not in the GPU's memory");
  }
}

/// Which axis of the tensor each variable of the copy runs along.
TmaShape TmaCopies::tensor_axes(const Instance& in) const {
  const Stage& s = in.stage();
  TmaShape copy;
  copy.load = s.value;
  const Storage& from = storage_of(s.value->name);
  copy.axis.assign(s.vars.size(), from.axes.size());
  for (size_t a = 0; a < from.axes.size(); ++a) {
    const auto dim = static_cast<size_t>(from.axes[a].dim);
    if (from.axes[a].div != 1 || from.axes[a].mod != 0) {
      reject("tma " + s.name + ": the layout of " + s.value->name + " splits dim " +
             std::to_string(dim) + "; a box is of whole dims");
    }
    const size_t v = var_in(s, s.value->args[dim]);
    if (v < s.vars.size() && copy.axis[v] == from.axes.size()) {
      copy.axis[v] = a;
    } else if (!is_const(s.value->args[dim])) {
      reject("tma " + s.name + ": dim " + std::to_string(dim) + " of " + s.value->name +
             " is read at " + print(s.value->args[dim]) + "; a box has neighbours");
    }
  }
  for (size_t d = 0; d < s.out_index.size(); ++d) {
    if (s.out_index[d]->op != Op::kVar) reject("tma " + s.name + ": it is no plain copy");
  }
  return copy;
}

/// Takes the axes of the layout, from the last outwards, into one TMA copy while it stays one run.
/// The others become loops over copies.
void TmaCopies::choose_box(const Instance& in, TmaShape& copy) const {
  const Stage& s = in.stage();
  const Storage& to = storage_of(s.output);
  int64_t run = 1;
  bool dense = true;
  for (size_t a = to.axes.size(); a-- > 0;) {
    const auto dim = static_cast<size_t>(to.axes[a].dim);
    TmaAxis axis;
    while (s.vars[axis.var].name != s.out_index[dim]->name) ++axis.var;
    axis.div = to.axes[a].div;
    axis.extent =
        to.axes[a].mod ? to.axes[a].mod : ceil_div(to.shape[dim], axis.div, nullptr).constant();
    axis.stride = to.strides[a].constant();
    if (!(in.window[axis.var].lo == to.base[dim])) {
      reject("tma " + s.name + ": it is kept at a loop around the one where it is copied, and a " +
             "box is copied as a whole; leave out store=");
    }
    if (axis.extent == 1) continue;
    if (copy.axis[axis.var] >= storage_of(copy.load->name).axes.size()) {
      reject("tma " + s.name + ": it is copied along " + s.vars[axis.var].name + ", which " +
             copy.load->name + " does not have");
    }
    dense = dense && axis.div == 1 && axis.stride == run;
    if (dense) {
      run *= axis.extent;
      copy.box.push_back(axis);
    } else {
      copy.outer.insert(copy.outer.begin(), axis);
    }
  }
  check_box(in, copy);
}

/// The limits of TMA on boxDim and on where a copy lies in shared memory.
void TmaCopies::check_box(const Instance& in, const TmaShape& copy) const {
  const Stage& s = in.stage();
  const std::string what = "tma " + s.name + ": ";
  const NestBuffer& to = nest_.buffers[static_cast<size_t>(storage_of(s.output).buffer)];
  const int64_t size = size_of(to.type);
  const int64_t row = copy.box.empty() ? size : copy.box[0].extent * size;
  if (row % kChunk != 0) {
    reject(what + "its rows have " + bytes_text(row) + "; those of a box are multiples of " +
           bytes_text(kChunk) +
           ": copy a longer window, or lay its neighbours along the last axis");
  }
  for (const TmaAxis& a : copy.box) {
    if (a.extent <= kMostBoxDim) continue;
    reject(what + std::to_string(a.extent) + " elements along " + s.vars[a.var].name +
           "; a box has at most " + std::to_string(kMostBoxDim) + ": split it by layout=[" +
           s.vars[a.var].name + "/N]..[" + s.vars[a.var].name + "%N]");
  }
  if (to.swizzle > kMostSwizzle || (to.swizzle != 0 && row != to.swizzle)) {
    reject(what + "swizzled rows of " + bytes_text(to.swizzle) + ", of which a box has " +
           bytes_text(row) +
           "; both are 32, 64 or 128: take layout=[d/N]..[d%N] with N elements of so many bytes");
  }
  const int64_t align = to.swizzle ? 8 * to.swizzle : kTileAlign;
  for (const TmaAxis& a : copy.outer) {
    if (a.stride * size % align == 0) continue;
    reject(what + "boxes are " + bytes_text(a.stride * size) +
           " apart in shared memory, where each begins at a multiple of " + std::to_string(align) +
           "; leave out pad=, or lay the axes of a box last");
  }
}

/// The tensor's dimensions in the order of the copy, then those along which boxDim is 1.
TensorMap TmaCopies::map_of(Instance& in, const TmaShape& copy, std::vector<Expr>& at) {
  const Stage& s = in.stage();
  const Storage& from = storage_of(copy.load->name);
  TensorMap map;
  map.buffer = from.buffer;
  map.swizzle = nest_.buffers[static_cast<size_t>(storage_of(s.output).buffer)].swizzle;
  const int64_t size = size_of(copy.load->type);
  const std::string what = "tma " + s.name + ": ";
  const auto add = [&](size_t a, int64_t box) {
    const auto dim = static_cast<size_t>(from.axes[a].dim);
    const Poly stride = from.strides[a] * Poly(size);
    const Poly first = accesses_.index(in, copy.load->args[dim]);
    if (box == 1 && from.shape[dim] == Poly(1) && first == Poly()) return;
    if (map.box.empty() && !(from.strides[a] == Poly(1))) {
      reject(what + "neighbours in the copy's rows are " + print(from.strides[a].expr()) +
             " elements apart in " + copy.load->name +
             "; a box's rows are neighbours in memory: lay the copy out as " + copy.load->name +
             " is");
    }
    // Of the address that a row begins at; the GPU calls another an illegal instruction.
    if (map.box.empty() && !(floor_mod(first * Poly(size), kChunk, &facts_) == Poly())) {
      reject(what + "its rows begin " + print((first * Poly(size)).expr()) +
             " bytes into those of " + copy.load->name + "; TMA takes multiples of " +
             std::to_string(kChunk) + " that are known before the call");
    }
    if (!map.box.empty() && !(floor_mod(stride, kChunk, &facts_) == Poly())) {
      reject(what + "along dim " + std::to_string(dim) + " elements of " + copy.load->name +
             " are " + print(stride.expr()) + " bytes apart; TMA takes multiples of " +
             std::to_string(kChunk) + " that are known before the call");
    }
    // Of a tensor without elements there is no map; loops over its dims have no iterations.
    const auto least = facts_.lower(from.shape[dim]);
    if (!(from.shape[dim] == Poly()) && (!least || *least < 1)) {
      reject(what + copy.load->name + " may have no elements in dim " + std::to_string(dim) +
             ", and TMA knows no empty tensors");
    }
    map.sizes.push_back(from.shape[dim].expr());
    map.strides.push_back(stride.expr());
    map.box.push_back(box);
    at.push_back(first.expr());
  };
  std::vector<bool> taken(from.axes.size(), false);
  for (const TmaAxis& b : copy.box) {
    taken[copy.axis[b.var]] = true;
    add(copy.axis[b.var], b.extent);
  }
  for (size_t a = from.axes.size(); a-- > 0;) {
    if (!taken[a]) add(a, 1);
  }
  if (static_cast<int64_t>(map.box.size()) > kMostRank) {
    reject(what + copy.load->name + " has " + std::to_string(map.box.size()) + " dims; TMA takes " +
           std::to_string(kMostRank));
  }
  return map;
}

/// What a copy means: its elements, one after the other, as far as the window goes.
StmtRef TmaCopies::meaning(Instance& in, const TmaShape& copy) {
  const Stage& s = in.stage();
  const Storage& to = storage_of(s.output);
  std::vector<std::pair<int, Expr>> loops;
  Expr inside;
  int assumed = 0;
  for (const TmaAxis& a : copy.outer) {
    const Poly rest = in.window[a.var].extent - Poly(1) - *in.value[a.var];
    if (a.div != 1 || facts_.nonnegative(rest)) continue;
    const Expr holds = make_binary(Op::kLe, make_int(0), rest.expr());
    inside = inside ? make_binary(Op::kAnd, inside, holds) : holds;
    facts_.assume(rest);
    ++assumed;
  }
  for (size_t b = copy.box.size(); b-- > 0;) {
    const TmaAxis& a = copy.box[b];
    const Poly end = min(Poly(a.extent), in.window[a.var].extent - *in.value[a.var], &facts_);
    const int id = new_loop(s.name + "/" + s.vars[a.var].name, 0, end);
    loops.emplace_back(id, end.expr());
    *in.value[a.var] += Poly::atom(make_var(nest_.loops[static_cast<size_t>(id)], id));
  }
  std::vector<Poly> indices;
  for (const Expr& e : s.out_index) indices.push_back(accesses_.index(in, e));
  accesses_.prove_inside(to, indices, s.output);
  Expr place = accesses_.offset(to, indices);
  StmtRef body = make_store(to.buffer, std::move(place), accesses_.translate(in, s.value));
  while (!loops.empty()) {
    body = make_for(loops.back().first, Mark::kSerial, make_int(0), loops.back().second,
                    {std::move(body)});
    loops.pop_back();
  }
  for (; assumed > 0; --assumed) facts_.forget();
  return inside ? make_if(std::move(inside), std::move(body)) : body;
}

StmtRef TmaCopies::copy(Instance& in) {
  check_source(in);
  const Stage& s = in.stage();
  TmaShape copy = tensor_axes(in);
  choose_box(in, copy);
  for (size_t v = 0; v < s.vars.size(); ++v) in.value[v] = Poly();
  std::vector<int> loops;
  for (const TmaAxis& a : copy.outer) {
    loops.push_back(new_loop(s.name + "/" + s.vars[a.var].name + ".o", 0, a.extent));
    const Expr var = make_var(nest_.loops[static_cast<size_t>(loops.back())], loops.back());
    *in.value[a.var] += Poly(a.div) * Poly::atom(var);
  }
  std::vector<Expr> at;
  TensorMap map = map_of(in, copy, at);
  Poly begin;
  for (size_t i = 0; i < loops.size(); ++i) {
    const Expr var = make_var(nest_.loops[static_cast<size_t>(loops[i])], loops[i]);
    begin += Poly(copy.outer[i].stride) * Poly::atom(var);
  }
  const int number = static_cast<int>(nest_.maps.size());
  nest_.maps.push_back(std::move(map));
  StmtRef out = make_tma_copy(number, std::move(at), storage_of(s.output).buffer, begin.expr(),
                              meaning(in, copy));
  for (size_t i = loops.size(); i-- > 0;) {
    out = make_for(loops[i], Mark::kUnroll, make_int(0), make_int(copy.outer[i].extent),
                   {std::move(out)});
  }
  for (size_t v = 0; v < s.vars.size(); ++v) in.value[v].reset();
  return out;
}

}  // namespace hone::jit
