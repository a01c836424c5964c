// SPDX-License-Identifier: Apache-2.0
// Which part of a stage the consumers inside a loop need, and where that part is kept.
#include <algorithm>

#include "jit/passes/lowering.h"

namespace hone::jit {

using namespace ir;

namespace {

constexpr int64_t kLine = 64;

int64_t round_up(int64_t v, int64_t to) { return (v + to - 1) / to * to; }

}  // namespace

Span Lowering::reduction_span(Instance& in, size_t rvar) {
  const IndexVar& v = in.stage().rvars[rvar];
  const auto bound = [&](const Expr& e) {
    return in.ahead ? Poly::of(ahead(in, e), &facts_) : index(in, e);
  };
  const Poly lo = v.lo ? bound(v.lo) : Poly();
  return {lo, bound(v.hi) - lo};
}

/// The values a loop takes while the loops that are open stand still.
Span Lowering::range_of(Instance& in, int node) {
  if (auto v = value_of(in, node)) return {*v, 1};
  const LoopNode& n = in.loops->nodes[static_cast<size_t>(node)];
  const auto base = base_of(in, node);
  if (n.split_into >= 0 && base) {
    const int inner = in.loops->inner[static_cast<size_t>(n.split_into)];
    Span s = range_of(in, inner);
    s.lo += *base;
    return s;
  }
  if (n.factored >= 0) {
    const Span& w = in.window[in.stage().vars.size() + static_cast<size_t>(n.factored)];
    return {w.lo, min(w.lo + w.extent, extent_of(in, node), &facts_) - w.lo};
  }
  return {0, extent_of(in, node)};
}

/// The values of each var and rvar of a stage that is being emitted.
std::vector<Span> Lowering::spans_of(Instance& in) {
  std::vector<Span> spans;
  const size_t vars = in.stage().vars.size();
  for (size_t v = 0; v < vars + in.stage().rvars.size(); ++v) {
    Span s = range_of(in, static_cast<int>(v));
    s.lo += v < vars ? in.window[v].lo : reduction_span(in, v - vars).lo;
    spans.push_back(std::move(s));
  }
  return spans;
}

std::vector<Span> Lowering::domain_of(int stage) {
  Instance none;
  std::vector<Span> spans;
  const Stage& s = program_.stages[static_cast<size_t>(stage)];
  for (const IndexVar& v : s.vars) {
    const Poly lo = v.lo ? index(none, v.lo) : Poly();
    spans.push_back({lo, index(none, v.hi) - lo});
  }
  // A factored loop is an output index: readers run over all of the buffer, also where the loop
  // itself is cut short.
  const Buffer& output = *program_.buffer(s.output);
  for (size_t f = 0; f < s.factored.size(); ++f) {
    spans.push_back({0, index(none, output.shape[s.out_index.size() + f])});
  }
  return spans;
}

/// lo .. hi of an index while the reader's variables run over `vars`; nothing where it depends on
/// data.
std::optional<Span> Lowering::interval(const Expr& e, const std::vector<Span>& vars,
                                       const Stage& reader) {
  Instance none;
  if (e->op == Op::kDiv || e->op == Op::kMod) {
    int64_t k = 0;
    auto inner = interval(e->args[0], vars, reader);
    if (!inner || !is_const(e->args[1], &k) || k <= 0) return std::nullopt;
    if (e->op == Op::kMod) {
      if (inner->extent == Poly(1)) return Span{floor_mod(inner->lo, k, &facts_), 1};
      return Span{0, k};
    }
    const Poly lo = floor_div(inner->lo, k, &facts_);
    return Span{lo, floor_div(inner->lo + inner->extent - Poly(1), k, &facts_) - lo + Poly(1)};
  }
  Span out{0, 1};
  for (const Poly p = Poly::of(e); const Poly::Term& t : p.terms()) {
    const Expr& f = t.factors[0];
    if (t.factors.size() != 1 || f->op != Op::kVar) {
      if (f->op == Op::kDim && t.factors.size() == 1) {
        out.lo += Poly(t.coef) * index(none, f);
        continue;
      }
      if (t.factors.size() != 1 || (f->op != Op::kDiv && f->op != Op::kMod)) return std::nullopt;
    }
    Span s;
    if (f->op == Op::kVar) {
      size_t v = 0;
      while (v < reader.vars.size() && reader.vars[v].name != f->name) ++v;
      if (v == reader.vars.size()) {
        size_t r = 0;
        while (r < reader.rvars.size() && reader.rvars[r].name != f->name) ++r;
        v += r;
      }
      if (v >= vars.size()) return std::nullopt;
      s = vars[v];
    } else {
      auto inner = interval(f, vars, reader);
      if (!inner) return std::nullopt;
      s = *inner;
    }
    const int64_t c = t.coef;
    out.lo += Poly(c) * (c >= 0 ? s.lo : s.lo + s.extent - Poly(1));
    out.extent += Poly(c >= 0 ? c : -c) * (s.extent - Poly(1));
  }
  out.lo += Poly(Poly::of(e).constant());
  return out;
}

void Lowering::widen(std::vector<Span>& box, std::vector<bool>& seen, size_t dim,
                     const Span& span) {
  if (!seen[dim]) {
    box[dim] = span;
    seen[dim] = true;
    return;
  }
  Span& b = box[dim];
  const Poly lo = min(b.lo, span.lo, &facts_);
  const Poly hi = max(b.lo + b.extent, span.lo + span.extent, &facts_);
  b = {lo, hi - lo};
}

/// The box of a temporary that its readers inside `place` touch, given the loops that are open.
std::vector<Span> Lowering::needed(const std::string& buffer, const Place& place) {
  const Buffer& b = *program_.buffer(buffer);
  Instance none;
  std::vector<Span> box(b.shape.size());
  std::vector<bool> seen(b.shape.size(), false);
  for (const size_t r : tree_.readers(buffer)) {
    const Stage& reader = program_.stages[r];
    if (!tree_.is_inside(r, place)) continue;
    std::vector<Span> vars;
    bool known = false;
    each_load(reader, [&](const Expr& e) {
      if (e->name != buffer) return;
      if (!known) {
        known = true;
        vars = spans_inside(r);
      }
      for (size_t d = 0; d < box.size(); ++d) {
        auto span = interval(e->args[d], vars, reader);
        widen(box, seen, d, span ? *span : Span{0, index(none, b.shape[d])});
      }
    });
  }
  return box;
}

bool Lowering::mentions(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& x) { found |= x->op == Op::kVar || x->op == Op::kLoad; });
  return found;
}

/// Row-major strides over the buffer's axes, or those it states.
Storage Lowering::dense(const Buffer& b, std::vector<Poly> shape) {
  Storage s;
  s.axes = b.axes;
  if (s.axes.empty()) {
    for (size_t d = 0; d < shape.size(); ++d) s.axes.push_back({static_cast<int>(d)});
  }
  s.base.resize(shape.size());
  s.strides.resize(s.axes.size());
  Poly stride(1);
  for (size_t a = s.axes.size(); a-- > 0;) {
    Instance none;
    s.strides[a] = b.strides.empty() ? stride : index(none, b.strides[a]);
    const Axis& axis = s.axes[a];
    const Poly extent = ceil_div(shape[static_cast<size_t>(axis.dim)], axis.div, &facts_);
    stride = stride * (axis.mod ? Poly(axis.mod) : extent);
    if (a + 1 == s.axes.size()) stride += Poly(b.pad);
  }
  s.shape = std::move(shape);
  return s;
}

/// What a stage computes inside its loop must cover what is read where it is kept.
void Lowering::check_covered(const Stage& st, const std::vector<Span>& window) {
  if (st.store.root()) return;
  const std::vector<Span> made = window_at(st, st.at);
  for (size_t d = 0; d < window.size(); ++d) {
    if (facts_.at_most(made[d].lo, window[d].lo) &&
        facts_.at_most(window[d].lo + window[d].extent, made[d].lo + made[d].extent)) {
      continue;
    }
    reject("compute " + st.name + " at " + st.at.stage + "/" + st.at.loop + " store " +
           st.store.stage + "/" + st.store.loop + ": readers outside need " +
           print(window[d].extent.expr()) + " elements of dim " + std::to_string(d) +
           ", the loop computes " + print(made[d].extent.expr()));
  }
}

/// The dim of a register tile along which its stage writes vectors: the last, unless the vector
/// loop derives from another one's variable.
size_t Lowering::vector_dim(const Stage& s, size_t dims) {
  std::string v;
  for (const Loop& l : s.loops) {
    if (l.mark == Mark::kVector) v = l.name;
  }
  for (size_t f = 0; f < s.factored.size(); ++f) {
    if (s.factored[f] == v) return s.out_index.size() + f;
  }
  for (size_t r = s.relations.size(); r-- > 0;) {
    if (s.relations[r].outer == v || s.relations[r].inner == v) v = s.relations[r].parent;
  }
  for (size_t d = 0; d < s.out_index.size(); ++d) {
    if (s.out_index[d]->op == Op::kVar && s.out_index[d]->name == v) return d;
  }
  return dims - 1;
}

/// Elements of a window, all of whose extents are constant, with what lies between its rows.
int64_t Lowering::elements_of(const Storage& s) {
  if (s.axes.empty()) return 1;
  const Axis& outer = s.axes[0];
  const Poly extent = ceil_div(s.shape[static_cast<size_t>(outer.dim)], outer.div, nullptr);
  return (outer.mod ? outer.mod : extent.constant()) * s.strides[0].constant();
}

/// Bytes of a row whose chunks are swizzled.
int64_t Lowering::swizzled_row(const Buffer& b, const Storage& s) {
  const size_t rows = s.axes.size() < 2 ? 0 : s.axes.size() - 2;
  const int64_t row = s.axes.size() < 2 ? 0 : s.strides[rows].constant() * size_of(b.type);
  if (row >= 32 && (row & (row - 1)) == 0) return row;
  reject("swizzle=on of " + b.name + ": rows have " + std::to_string(row) +
         " bytes; rows of 32, 64, 128 and further powers of two can be swizzled, use pad= or a "
         "layout");
}

void Lowering::allocate(int stage, const std::vector<Span>& window) {
  const Stage& st = program_.stages[static_cast<size_t>(stage)];
  check_covered(st, window);
  const Buffer& b = *program_.buffer(st.output);
  std::vector<Poly> shape;
  for (size_t d = 0; d < window.size(); ++d) {
    auto most = facts_.upper(window[d].extent);
    if (!most) {
      reject("the window of " + b.name + " in dim " + std::to_string(d) +
             " has no constant upper bound: " + print(window[d].extent.expr()));
    }
    shape.push_back(std::max<int64_t>(*most, 1));
  }
  Buffer laid = b;
  if (b.space == Space::kRegisters && b.axes.empty() && !shape.empty()) {
    const size_t v = vector_dim(st, shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d != v) laid.axes.push_back({static_cast<int>(d)});
    }
    laid.axes.push_back({static_cast<int>(v)});
    // Rows of a register tile start on a vector of their own.
    const int64_t lanes = std::max(1, target_.vector_bytes() / size_of(b.type));
    if (shape[v].constant() > 1) shape[v] = round_up(shape[v].constant(), lanes);
  }
  WarpLayout held;
  if (b.space == Space::kWarp) {
    held = warp_layout(b);
    laid.axes = held.axes;
  }
  Storage s = dense(laid, std::move(shape));
  for (size_t d = 0; d < window.size(); ++d) s.base[d] = window[d].lo;
  const int64_t total = elements_of(s);
  NestBuffer n;
  n.name = b.name;
  n.type = b.type;
  n.elements = make_int(total);
  n.max_bytes = total * size_of(b.type);
  n.align = kLine;
  n.written = true;
  if (b.space == Space::kRegisters) {
    n.home = Home::kRegisters;
  } else if (b.space == Space::kSharedMemory) {
    n.home = Home::kSharedMemory;
    if (b.swizzle) n.swizzle = swizzled_row(b, s);
  } else if (b.space == Space::kWarp) {
    n.home = Home::kWarp;
    n.lanes = held.lanes;
  } else {
    n.home = Home::kWorker;
    n.offset = worker_top_;
    worker_top_ = round_up(worker_top_ + n.max_bytes, kLine);
    nest_.worker_bytes = std::max(nest_.worker_bytes, worker_top_);
  }
  s.buffer = static_cast<int>(nest_.buffers.size());
  nest_.buffers.push_back(std::move(n));
  storage_.emplace_back(b.name, std::move(s));
}

/// Nothing of the call decides `e`: no dim, no scalar argument.
static bool same_in_all_calls(const Expr& e) {
  bool same = true;
  visit(e, [&](const Expr& x) { same &= x->op != Op::kDim && x->op != Op::kScalar; });
  return same;
}

/// Is `e` decided when constants are bound? `addresses`: it chooses elements or ends of ranges, and
/// data that do so are checked by the call.
bool Lowering::is_bound(const Expr& e, bool addresses) {
  if (!e) return true;
  if (e->op == Op::kDim || e->op == Op::kScalar) return false;
  if (e->op == Op::kLoad) {
    if (addresses || !holds_constants(e->name)) return false;
    const bool checked = !e->guarded;
    for (size_t d = 0; d < e->args.size(); ++d) {
      const bool otherwise = e->guarded && d + 1 == e->args.size();
      if (!is_bound(e->args[d], checked && !otherwise)) return false;
    }
    return true;
  }
  return std::all_of(e->args.begin(), e->args.end(),
                     [&](const Expr& a) { return is_bound(a, addresses); });
}

/// Are the elements of `buffer`, and where they lie, known when constants are bound?
bool Lowering::holds_constants(const std::string& buffer) {
  const Buffer& b = *program_.buffer(buffer);
  for (const auto* list : {&b.shape, &b.strides}) {
    if (!std::all_of(list->begin(), list->end(), same_in_all_calls)) return false;
  }
  const Stage* made = program_.producer(buffer);
  if (made && !made->at.root()) {  // lives inside the reader's loops
    std::optional<bool>& known = inner_bound_[program_.stages.index_of(*made)];
    if (!known) known = is_bound(*made);
    return *known;
  }
  const NestBuffer& n = nest_.buffers[static_cast<size_t>(storage_of(buffer).buffer)];
  return n.home == Home::kBound || (n.home == Home::kArgument && b.constant);
}

/// A stage of which nothing is of the call, and which reads constants, can run once, when they are
/// bound.
bool Lowering::is_bound(const Stage& stage) {
  bool any = false, all = is_bound(stage.value, false) && is_bound(stage.where, false);
  each_load(stage, [&](const Expr&) { any = true; });
  for (const auto* list : {&stage.vars, &stage.rvars}) {
    for (const IndexVar& v : *list) all &= is_bound(v.lo, true) && is_bound(v.hi, true);
  }
  const Buffer& output = *program_.buffer(stage.output);
  return any && all && std::all_of(output.shape.begin(), output.shape.end(), same_in_all_calls);
}

void Lowering::allocate_root(int stage) {
  const Stage& st = program_.stages[static_cast<size_t>(stage)];
  const Buffer& b = *program_.buffer(st.output);
  if (b.role != Role::kTemp) return;
  if (b.space != Space::kRoot && b.space != Space::kScratch) {
    reject("stage " + st.name + " is at the root, which has no " + std::string(name_of(b.space)) +
           "; use compute " + st.name + " at a loop, or in=scratch");
  }
  Instance none;
  std::vector<Poly> shape;
  // An empty range may be given backwards: no elements all the same.
  for (const Expr& e : b.shape) shape.push_back(max(0, index(none, e), &facts_));
  Storage s = dense(b, std::move(shape));
  Poly total(1);
  for (const Axis& a : s.axes) {
    const Poly extent = ceil_div(s.shape[static_cast<size_t>(a.dim)], a.div, &facts_);
    total = total * (a.mod ? Poly(a.mod) : extent);
  }
  auto most = facts_.upper(total);
  if (!most) reject("the size of " + b.name + " has no constant upper bound");
  NestBuffer n;
  n.name = b.name;
  n.type = b.type;
  n.elements = total.expr();
  n.max_bytes = std::max<int64_t>(*most, 1) * size_of(b.type);
  n.align = kLine;
  n.stream = b.stream;
  n.written = true;
  n.home = is_bound(st) ? Home::kBound : Home::kWorkspace;
  if (n.home == Home::kWorkspace) {
    n.offset = nest_.shared_bytes;
    nest_.shared_bytes = round_up(nest_.shared_bytes + n.max_bytes, kLine);
  }
  s.buffer = static_cast<int>(nest_.buffers.size());
  nest_.buffers.push_back(std::move(n));
  storage_.emplace_back(b.name, std::move(s));
}

}  // namespace hone::jit
