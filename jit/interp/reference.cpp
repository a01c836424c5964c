// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "jit/interp/reference_group.h"
#include "jit/interp/reference_stage.h"
#include "jit/interp/reference_state.h"
#include "jit/interp/scalar.h"
#include "jit/ir/scatter.h"

namespace hone::jit {

using ir::Expr;
using ir::Op;

int64_t TensorView::elements() const {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return n;
}

std::vector<TensorView> parameter_views(const ir::Program& program, std::span<const int64_t> dims) {
  RefState state;
  state.program = &program;
  state.dims.assign(dims.begin(), dims.end());
  std::vector<TensorView> out;
  for (const ir::Buffer& b : program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    TensorView v;
    v.type = b.type;
    for (const Expr& e : b.shape) v.shape.push_back(state.extent(e));
    v.strides.resize(v.shape.size(), 1);
    // Parameters are stored in some order of their dims; cut axes are for temporaries only.
    int64_t dense = 1;
    for (size_t a = v.shape.size(); a-- > 0;) {
      const size_t d = b.axes.empty() ? a : static_cast<size_t>(b.axes[a].dim);
      v.strides[d] = b.strides.empty() ? dense : state.extent(b.strides[a]);
      dense *= v.shape[d];
    }
    out.push_back(std::move(v));
  }
  return out;
}

int64_t span_of(const TensorView& view) {
  int64_t last = 0;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] == 0) return 0;
    last += (view.shape[d] - 1) * view.strides[d];
  }
  return last + 1;
}

int64_t bytes_of(const TensorView& view) { return span_of(view) * size_of(view.type); }

namespace {

Failure mismatch(std::string message) { return Failure{ErrorCode::kArgument, std::move(message)}; }

}  // namespace

std::optional<Failure> bind_buffers(RefState& state, std::span<const TensorView> params) {
  size_t next = 0;
  for (const ir::Buffer& b : state.program->buffers) {
    RefBuffer r;
    r.buffer = &b;
    for (const Expr& e : b.shape) r.shape.push_back(state.extent(e));
    for (size_t s = 0; s < state.program->stages.size(); ++s) {
      if (state.program->stages[s].output == b.name) r.producer = static_cast<int>(s);
    }
    if (b.role != ir::Role::kTemp) {
      if (next == params.size()) return mismatch("there are fewer tensors than parameters");
      const TensorView& view = params[next++];
      if (view.type != b.type || view.shape != r.shape ||
          view.strides.size() != view.shape.size()) {
        return mismatch(fmt::format("tensor {} is {}[{}] where {}[{}] is wanted", b.name,
                                    name_of(view.type), fmt::join(view.shape, ","), name_of(b.type),
                                    fmt::join(r.shape, ",")));
      }
      r.view = &view;
    }
    state.buffers.push_back(std::move(r));
  }
  return std::nullopt;
}

namespace {

/// Temporaries larger than this are kept sparse when elements are asked for one by one.
/// Chosen: memory that a check may take (not measured).
constexpr int64_t kDenseElements = int64_t{1} << 20;

void make_cells(RefState& state) {
  for (RefBuffer& b : state.buffers) {
    if (b.producer < 0) continue;
    const int64_t n = b.elements();
    b.cells = Cells(b.buffer->type, n, state.on_demand && n > kDenseElements, state.bounds);
  }
}

/// Runs over the variables of a check; the lowest position that breaks it.
struct CheckRun {
  RefState& state;
  const ir::Check& check;
  std::vector<std::string> names;
  std::vector<int64_t> env;
  std::vector<RefTape> bounds;
  RefTape test;  ///< value, lo, hi, position
  std::optional<int64_t> lowest;
  int64_t value = 0, low = 0, high = 0;  ///< at the lowest

  CheckRun(RefState& s, const ir::Check& c) : state(s), check(c) {
    for (const ir::IndexVar& v : c.vars) names.push_back(v.name);
    env.resize(names.size());
    const TapeScope scope{names, ""};
    for (const ir::IndexVar& v : c.vars) {
      bounds.push_back(make_tape(state, 0, scope, {v.lo ? v.lo : ir::make_int(0), v.hi}));
    }
    test = make_tape(state, 0, scope, {c.value, c.lo, c.hi, c.position});
  }

  void run(size_t k) {
    if (k < names.size()) {
      bounds[k].run(state, env.data(), nullptr, 1);
      const int64_t lo = bounds[k].frame.i(bounds[k].results[0])[0];
      const int64_t hi = bounds[k].frame.i(bounds[k].results[1])[0];
      for (int64_t x = lo; x < hi; ++x) {
        env[k] = x;
        run(k + 1);
      }
      return;
    }
    test.run(state, env.data(), nullptr, 1);
    // Where bad data hide the value, the check of those tells.
    if (test.frame.any_poison) return;
    const auto result = [&](size_t r) { return test.frame.i(test.results[r])[0]; };
    if (result(1) <= result(0) && result(0) <= result(2)) return;
    if (lowest && *lowest <= result(3)) return;
    lowest = result(3);
    value = result(0);
    low = result(1);
    high = result(2);
  }

  /// Whether it is too low for what other data says: an end before its start.
  bool decreases() const { return ir::mentions_load(check.lo) && value < low; }

  std::string why() const {
    const std::string gives = " it gives " + std::to_string(value);
    if (decreases()) return " decreases:" + gives + " after " + std::to_string(low);
    if (high < low) return " is out of range:" + gives + ", and nothing is accepted";
    return " is out of range:" + gives + ", and " + std::to_string(low) + " to " +
           std::to_string(high) + " are accepted";
  }
};

std::optional<BadPosition> run_checks(RefState& state) {
  std::optional<BadPosition> bad;
  for (const ir::Check& check : state.program->checks) {
    CheckRun run(state, check);
    run.run(0);
    if (run.lowest && (!bad || *run.lowest < bad->position)) bad = {*run.lowest, check.tensor};
  }
  return bad;
}

/// `elements`: null for all.
ReferenceTensor extract(RefBuffer& b, const std::vector<int64_t>* elements, bool bounds) {
  ReferenceTensor t;
  t.name = b.buffer->name;
  t.type = b.buffer->type;
  t.shape = b.shape;
  t.whole = elements == nullptr;
  if (t.whole) {
    t.f = std::move(b.cells.f);
    t.i = std::move(b.cells.i);
    t.bound = std::move(b.cells.e);
    for (uint8_t s : b.cells.state) t.written.push_back(s == Cells::kWritten);
    return t;
  }
  t.elements = *elements;
  for (int64_t p : t.elements) {
    const auto s = static_cast<size_t>(b.cells.slot(p));
    if (is_float(t.type)) {
      t.f.push_back(b.cells.f[s]);
    } else {
      t.i.push_back(b.cells.i[s]);
    }
    if (bounds) t.bound.push_back(b.cells.e[s]);
    t.written.push_back(b.cells.state[s] == Cells::kWritten);
  }
  return t;
}

std::optional<Failure> check_counts(const ir::Program& program, size_t scalars, size_t dims) {
  if (scalars != program.scalars.size() || dims != program.dims.size()) {
    return mismatch(fmt::format("{} scalars and {} dims given, {} and {} wanted", scalars, dims,
                                program.scalars.size(), program.dims.size()));
  }
  for (const ir::Stage& s : program.stages) {
    if (!s.factored.empty()) {
      return Failure{ErrorCode::kUnsupported,
                     "the definition is evaluated before any step; stage " + s.name +
                         " is the product of one"};
    }
  }
  return std::nullopt;
}

void run_stages(RefState& state, const ReferenceOptions& options) {
  for (size_t s = 0; s < state.program->stages.size(); ++s) {
    state.stages.push_back(std::make_unique<StageEval>(state, static_cast<int>(s)));
  }
  const ir::Groups groups(*state.program);
  state.groups.resize(state.stages.size());
  for (const ir::Group& group : groups.all()) {
    const auto together = std::make_shared<GroupEval>(state, groups, group);
    for (const size_t s : group.stages) state.groups[s] = together;
  }
  if (!state.on_demand) {
    for (size_t s = 0; s < state.stages.size(); ++s) {
      const ir::Group* group = groups.of(s);
      if (!group) state.stages[s]->run_all();
      if (group && s == group->leader()) state.groups[s]->run_all();
    }
    return;
  }
  size_t output = 0;
  for (RefBuffer& b : state.buffers) {
    if (b.producer < 0 || b.buffer->role == ir::Role::kTemp) continue;
    for (int64_t p : options.elements[output]) {
      if (b.cells.state[static_cast<size_t>(b.cells.slot(p))] == Cells::kEmpty) {
        state.evaluate_element(b.producer, p);
      }
    }
    ++output;
  }
}

void set_values(RefState& state, const ir::Program& program, std::span<const double> scalars,
                std::span<const int64_t> dims) {
  state.program = &program;
  state.dims.assign(dims.begin(), dims.end());
  for (size_t i = 0; i < scalars.size(); ++i) {
    const DType t = program.scalars[i].type;
    state.scalars.push_back(is_float(t) ? round_to(t, scalars[i]) : 0);
    state.int_scalars.push_back(is_float(t) ? 0 : int_from_float(t, scalars[i]));
  }
}

}  // namespace

std::optional<std::string> bad_element(const ir::Program& program,
                                       std::span<const TensorView> params,
                                       std::span<const int64_t> dims, int64_t position) {
  if (check_counts(program, 0, dims.size())) return std::nullopt;
  RefState state;
  set_values(state, program, {}, dims);
  if (bind_buffers(state, params)) return std::nullopt;
  for (const ir::Check& check : program.checks) {
    CheckRun run(state, check);
    run.run(0);
    if (run.lowest == position) return check.tensor + run.why();
    // The ranges of the checks to come may be as long as bad data says.
    if (run.lowest) return std::nullopt;
  }
  return std::nullopt;
}

Result<ReferenceOutcome> evaluate(const ir::Program& program, std::span<const TensorView> params,
                                  std::span<const double> scalars, std::span<const int64_t> dims,
                                  const ReferenceOptions& options) {
  if (auto failure = check_counts(program, scalars.size(), dims.size())) return *failure;
  RefState state;
  state.bounds = options.bounds;
  state.on_demand = !options.elements.empty();
  set_values(state, program, scalars, dims);
  if (auto failure = bind_buffers(state, params)) return *failure;
  make_cells(state);
  ReferenceOutcome out;
  out.bad = run_checks(state);
  run_stages(state, options);
  size_t next = 0;
  for (RefBuffer& b : state.buffers) {
    if (b.producer < 0 || b.buffer->role == ir::Role::kTemp) continue;
    const bool poisoned = std::count(b.cells.state.begin(), b.cells.state.end(), Cells::kPoisoned);
    if (poisoned && !out.bad) {
      return Failure{
          ErrorCode::kInternal,
          fmt::format("output {} depends on what does not exist: {}", b.buffer->name, state.fault)};
    }
    const auto* elements = state.on_demand ? &options.elements[next] : nullptr;
    out.outputs.push_back(extract(b, elements, options.bounds));
    ++next;
  }
  return out;
}

double scalar_operations(const ir::Program& program, std::span<const int64_t> dims) {
  RefState state;
  state.program = &program;
  state.dims.assign(dims.begin(), dims.end());
  double total = 0;
  for (const ir::Stage& s : program.stages) {
    double points = 1;
    std::vector<ir::IndexVar> vars = s.vars;
    vars.insert(vars.end(), s.rvars.begin(), s.rvars.end());
    for (const ir::IndexVar& v : vars) {
      if (ir::scattered_to(s, v.name)) continue;  // each term goes to one
      bool known = true;
      for (const Expr& bound : {v.lo, v.hi}) {
        ir::visit(bound, [&](const Expr& n) {
          known &= n->op != Op::kLoad && n->op != Op::kVar && n->op != Op::kScalar;
        });
      }
      // Ranges that depend on data or other variables count as a typical 16.
      const int64_t lo = known && v.lo ? state.extent(v.lo) : 0;
      points *= known ? static_cast<double>(std::max<int64_t>(0, state.extent(v.hi) - lo)) : 16;
    }
    int64_t nodes = s.reduce != ir::Reduce::kNone;
    ir::visit(s.value, [&](const Expr& n) { nodes += is_float(n->type) && n->op >= Op::kCast; });
    total += points * static_cast<double>(std::max<int64_t>(1, nodes));
  }
  return total;
}

std::vector<int64_t> sample_positions(std::span<const int64_t> shape,
                                      std::span<const int64_t> edges, int count, uint64_t seed) {
  int64_t elements = 1;
  for (int64_t s : shape) elements *= s;
  if (elements == 0) return {};
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  // Per dimension, the indices where something may begin or end.
  std::vector<std::vector<int64_t>> special(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    std::set<int64_t> at = {0, shape[d] - 1};
    const int64_t edge = d < edges.size() ? edges[d] : 0;
    if (edge > 0) {
      const int64_t last = (shape[d] - 1) / edge * edge;
      for (int64_t e : {edge - 1, edge, last - 1, last}) {
        if (e >= 0 && e < shape[d]) at.insert(e);
      }
    }
    special[d].assign(at.begin(), at.end());
  }
  std::set<int64_t> found;
  for (int tries = 0; tries < 4 * count && static_cast<int>(found.size()) < count &&
                      static_cast<int64_t>(found.size()) < elements;
       ++tries) {
    // The first half mixes special indices, the second is anywhere.
    int64_t position = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto n = static_cast<int64_t>(special[d].size());
      const bool edge = tries < 2 * count && static_cast<int>(found.size()) < count / 2;
      position = position * shape[d] +
                 (edge ? special[d][static_cast<size_t>(below(n))] : below(shape[d]));
    }
    found.insert(position);
  }
  // All corners, however few positions were wanted.
  for (uint32_t corner = 0; corner < (1u << std::min<size_t>(shape.size(), 6)); ++corner) {
    int64_t position = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      position = position * shape[d] + ((corner >> std::min<size_t>(d, 31)) & 1 ? shape[d] - 1 : 0);
    }
    found.insert(position);
  }
  return {found.begin(), found.end()};
}

}  // namespace hone::jit
