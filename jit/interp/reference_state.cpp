// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/reference_state.h"

#include <algorithm>
#include <limits>

#include "jit/interp/reference_group.h"
#include "jit/interp/reference_stage.h"
#include "jit/interp/scalar.h"
#include "jit/ir/scan.h"

namespace hone::jit {

using ir::Expr;
using ir::Op;

Cells::Cells(DType type, int64_t elements, bool sparse, bool bounds)
    : floats_(is_float(type)), sparse_(sparse), bounds_(bounds) {
  if (sparse) return;
  const auto n = static_cast<size_t>(elements);
  if (floats_) {
    f.resize(n);
  } else {
    i.resize(n);
  }
  if (bounds) e.resize(n);
  state.resize(n);
}

int64_t Cells::slot(int64_t p) {
  if (!sparse_) return p;
  const auto [it, fresh] = places_.emplace(p, static_cast<int64_t>(state.size()));
  if (fresh) {
    if (floats_) {
      f.push_back(0);
    } else {
      i.push_back(0);
    }
    if (bounds_) e.push_back(0);
    state.push_back(kEmpty);
  }
  return it->second;
}

int64_t RefBuffer::elements() const {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return n;
}

int RefState::buffer_index(const std::string& name) const {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].buffer->name == name) return static_cast<int>(i);
  }
  return -1;
}

void RefState::evaluate_element(int stage, int64_t p) {
  const auto s = static_cast<size_t>(stage);
  if (groups[s]) {
    groups[s]->run_element(s, p);
  } else {
    stages[s]->run_element(p);
  }
}

namespace {

int find(const std::vector<std::string>& names, const std::string& name) {
  const auto it = std::find(names.begin(), names.end(), name);
  return it == names.end() ? -1 : static_cast<int>(it - names.begin());
}

int push_named(TapeBuilder& tape, TapeInstr::Kind kind, DType type, int slot) {
  TapeInstr in;
  in.kind = kind;
  in.type = type;
  in.slot = slot;
  return tape.push(in);
}

/// Lowers the leaves of a stage's expressions.
struct Leaves {
  RefState& state;
  int stage;
  const TapeScope& scope;

  int operator()(TapeBuilder& tape, const Expr& e) const {
    switch (e->op) {
      case Op::kVar:
        if (e->name == scope.lane) return push_named(tape, TapeInstr::kLane, e->type, 0);
        return push_named(tape, TapeInstr::kEnv, e->type, find(scope.names, e->name));
      case Op::kDim:
        return tape.constant(dim(e->name));
      case Op::kScalar:
        return push_scalar(tape, e);
      default:
        return load(tape, e);
    }
  }

  int64_t dim(const std::string& name) const {
    const auto& dims = state.program->dims;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].name == name) return state.dims[i];
    }
    return 0;
  }

  int push_scalar(TapeBuilder& tape, const Expr& e) const {
    const auto& scalars = state.program->scalars;
    TapeInstr in;
    in.type = e->type;
    for (size_t i = 0; i < scalars.size(); ++i) {
      if (scalars[i].name != e->name) continue;
      in.f = state.scalars[i];
      in.i = state.int_scalars[i];
    }
    // The other member stays 0, so that equal constants stay equal.
    if (is_float(e->type)) {
      in.i = 0;
    } else {
      in.f = 0;
    }
    return tape.push(in);
  }

  int load(TapeBuilder& tape, const Expr& e) const {
    const int index = state.buffer_index(e->name);
    const RefBuffer& buffer = state.buffers[static_cast<size_t>(index)];
    // A recurrence reads its own results and later stages'; an update reads the old value.
    const bool old = buffer.producer >= stage && buffer.buffer->role == ir::Role::kInOut;
    const bool computed = buffer.producer >= 0 && !old;
    const size_t rank = buffer.shape.size();
    std::vector<int64_t> strides(rank, 1);
    if (computed) {
      for (size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * buffer.shape[d];
    } else if (buffer.view) {
      strides = buffer.view->strides;
    }
    TapeInstr in;
    in.kind = TapeInstr::kLoad;
    in.type = e->type;
    in.slot = 2 * index + computed;
    in.inexact = computed;
    in.a = tape.constant(0);
    for (size_t d = 0; d < rank; ++d) {
      const int i = tape.add(e->args[d]);
      const int scaled = tape.binary(Op::kMul, DType::kI64, i, tape.constant(strides[d]));
      in.a = tape.binary(Op::kAdd, DType::kI64, in.a, scaled);
      in.b = and_of(tape, in.b, in_range(tape, i, buffer.shape[d]));
    }
    if (e->guarded) in.c = tape.add(e->args[rank]);
    return tape.push(in);
  }

  static int in_range(TapeBuilder& tape, int reg, int64_t extent) {
    TapeInstr in;
    in.kind = TapeInstr::kInRange;
    in.type = DType::kBool;
    in.a = reg;
    in.i = extent;
    return tape.push(in);
  }

  static int and_of(TapeBuilder& tape, int a, int b) {
    return a < 0 ? b : tape.binary(Op::kAnd, DType::kBool, a, b);
  }
};

/// Fills the lanes that `mask` leaves out with the `else` value, or poisons them.
void fill_missing(RefState& state, const TapeInstr& in, Frame& fr, int n, int dst,
                  const int64_t* mask) {
  const bool floats = is_float(in.type);
  const bool bounds = in.inexact && fr.has_bounds();
  for (int l = 0; l < n; ++l) {
    if (mask[l]) continue;
    if (bounds) fr.e(dst)[l] = in.c >= 0 ? fr.e(in.c)[l] : 0;
    if (floats) {
      fr.f(dst)[l] = in.c >= 0 ? fr.f(in.c)[l] : 0;
    } else {
      fr.i(dst)[l] = in.c >= 0 ? fr.i(in.c)[l] : 0;
    }
    if (in.c >= 0) continue;
    fr.poison_lane(in, l);
    if (state.fault.empty()) {
      state.fault =
          "an access leaves " + state.buffers[static_cast<size_t>(in.slot / 2)].buffer->name;
    }
  }
}

/// Reads what an earlier stage wrote, having it evaluated first where that is on demand.
void load_computed(RefState& state, const TapeInstr& in, Frame& fr, int n, int dst,
                   const int64_t* offsets, const int64_t* mask) {
  RefBuffer& buffer = state.buffers[static_cast<size_t>(in.slot / 2)];
  Cells& cells = buffer.cells;
  const bool bounds = in.inexact && fr.has_bounds();
  for (int l = 0; l < n; ++l) {
    if (mask && !mask[l]) continue;
    int64_t slot = cells.slot(offsets[l]);
    if (state.on_demand && cells.state[static_cast<size_t>(slot)] == Cells::kEmpty) {
      state.evaluate_element(buffer.producer, offsets[l]);
    }
    const auto s = static_cast<size_t>(slot);
    if (cells.state[s] != Cells::kWritten) {
      fr.poison_lane(in, l);
      if (state.fault.empty() && cells.state[s] == Cells::kEmpty) {
        state.fault = "an access reads an element of " + buffer.buffer->name + " never written";
      }
    }
    if (is_float(in.type)) {
      fr.f(dst)[l] = cells.f[s];
    } else {
      fr.i(dst)[l] = cells.i[s];
    }
    if (bounds) fr.e(dst)[l] = cells.e[s];
  }
}

/// An access at a position that is itself uncertain may give anything.
void bound_position(const TapeInstr& in, Frame& fr, int n, int dst) {
  if (!in.inexact || !fr.has_bounds()) return;
  for (int l = 0; l < n; ++l) {
    const double position = fr.e(in.a)[l] + (in.b >= 0 ? fr.e(in.b)[l] : 0);
    if (position > 0) fr.e(dst)[l] = std::numeric_limits<double>::infinity();
  }
}

void load(void* self, const TapeInstr& in, Frame& fr, int n, int dst) {
  RefState& state = *static_cast<RefState*>(self);
  const RefBuffer& buffer = state.buffers[static_cast<size_t>(in.slot / 2)];
  const int64_t* offsets = fr.i(in.a);
  const int64_t* mask = in.b >= 0 ? fr.i(in.b) : nullptr;
  if (mask && std::all_of(mask, mask + n, [](int64_t m) { return m != 0; })) mask = nullptr;
  if (in.slot % 2 != 0) {
    load_computed(state, in, fr, n, dst, offsets, mask);
    if (mask) fill_missing(state, in, fr, n, dst, mask);
    return bound_position(in, fr, n, dst);
  }
  if (in.inexact && fr.has_bounds()) std::fill_n(fr.e(dst), n, 0.0);
  if (is_float(in.type)) {
    gather_float(in.type, buffer.view->data, offsets, mask, n, fr.f(dst));
  } else {
    gather_int(in.type, buffer.view->data, offsets, mask, n, fr.i(dst));
  }
  if (mask) fill_missing(state, in, fr, n, dst, mask);
  bound_position(in, fr, n, dst);
}

/// The sums of floats of `value` that vectors may make as prefixes. They may do so in this
/// stage, or in another of its circle that it is inlined into.
std::vector<TapeBuilder::Prefix> prefixes_in(const Expr& value, const RefState& state,
                                             size_t stage) {
  const auto in_circle = [&](const Expr& load) {
    const int producer =
        state.buffers[static_cast<size_t>(state.buffer_index(load->name))].producer;
    if (producer < 0) return false;
    const auto p = static_cast<size_t>(producer);
    return p == stage ||
           (!state.groups.empty() && state.groups[p] && state.groups[p] == state.groups[stage]);
  };
  std::vector<TapeBuilder::Prefix> out;
  ir::visit(value, [&](const Expr& e) {
    if ((e->op != Op::kAdd && e->op != Op::kSub) || !is_float(e->type)) return;
    if (const auto scan = ir::scan_of(e, in_circle)) out.push_back({e, *scan});
  });
  return out;
}

}  // namespace

void RefTape::run(RefState& state, const int64_t* env, const int64_t* lane, int n) {
  frame.env = env;
  frame.lane = lane;
  frame.load = load;
  frame.self = &state;
  frame.clear_poison();
  run_tape(tape, frame, n);
}

RefTape make_tape(RefState& state, int stage, const TapeScope& scope,
                  const std::vector<Expr>& exprs, const DType* domain) {
  TapeBuilder builder(Leaves{state, stage, scope});
  RefTape out;
  for (const Expr& e : exprs) {
    if (state.bounds) builder.add_prefixes(prefixes_in(e, state, static_cast<size_t>(stage)));
    int reg = builder.add(e);
    if (domain && is_float(*domain) != is_float(e->type)) {
      TapeInstr cast;
      cast.kind = TapeInstr::kExpr;
      cast.op = Op::kCast;
      cast.type = *domain;
      cast.a = reg;
      reg = builder.push(cast);
    }
    out.results.push_back(reg);
  }
  out.tape = builder.take(out.results);
  out.frame = Frame(out.tape, state.bounds);
  return out;
}

RefTape make_position_tape(RefState& state, int stage, const TapeScope& scope,
                           const std::vector<Expr>& index, const std::vector<int64_t>& shape) {
  TapeBuilder builder(Leaves{state, stage, scope});
  int position = builder.constant(0);
  int inside = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int i = builder.add(index[d]);
    const int outer = builder.binary(Op::kMul, DType::kI64, position, builder.constant(shape[d]));
    position = builder.binary(Op::kAdd, DType::kI64, outer, i);
    inside = Leaves::and_of(builder, inside, Leaves::in_range(builder, i, shape[d]));
  }
  if (inside < 0) inside = Leaves::in_range(builder, builder.constant(0), 1);
  RefTape out;
  out.results = {position, inside};
  out.tape = builder.take(out.results);
  out.frame = Frame(out.tape, state.bounds);
  return out;
}

int64_t RefState::extent(const Expr& e) {
  RefTape tape = make_tape(*this, 0, {}, {e});
  tape.run(*this, nullptr, nullptr, 1);
  return tape.frame.i(tape.results[0])[0];
}

}  // namespace hone::jit
