// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "jit/interp/reference_stage.h"
#include "jit/interp/reference_state.h"
#include "jit/interp/scalar.h"
#include "jit/ir/sort.h"

namespace hone::jit {
namespace {

/// A small generator of our own: the same data from the same seed wherever this is built.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  int64_t below(int64_t n) {
    return static_cast<int64_t>((next() >> 11) % static_cast<uint64_t>(n));
  }
  int64_t between(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }

 private:
  uint64_t state_;
};

/// Calls f(offset of the first element, elements, distance between them) for every row of the last
/// dimension, in order.
template <class F>
void each_row(const TensorView& v, F f) {
  const size_t rank = v.shape.size();
  const int64_t n = v.elements();
  const int64_t row = rank == 0 ? 1 : v.shape[rank - 1];
  const int64_t step = rank == 0 ? 0 : v.strides[rank - 1];
  std::vector<int64_t> at(rank);
  for (int64_t p = 0; p < n; p += row) {
    int64_t offset = 0;
    for (size_t d = 0; d + 1 < rank; ++d) offset += at[d] * v.strides[d];
    f(offset, row, step);
    for (size_t d = rank - 1; rank > 1 && d-- > 0;) {
      if (++at[d] < v.shape[d]) break;
      at[d] = 0;
    }
  }
}

/// Calls f(offset) for every element in row-major order.
template <class F>
void each_offset(const TensorView& v, F f) {
  each_row(v, [&](int64_t offset, int64_t n, int64_t step) {
    for (int64_t i = 0; i < n; ++i) f(offset + i * step);
  });
}

/// Sets every element to the bits of `value`, in the order of memory.
template <class T>
void fill_with(const TensorView& view, T value) {
  TensorView v = view;
  const std::vector<size_t> order = ir::stable_order(
      v.shape.size(), [&](size_t a, size_t b) { return view.strides[a] > view.strides[b]; });
  for (size_t d = 0; d < order.size(); ++d) {
    v.shape[d] = view.shape[order[d]];
    v.strides[d] = view.strides[order[d]];
  }
  auto* data = static_cast<T*>(view.data);
  each_row(v, [&](int64_t offset, int64_t n, int64_t step) {
    if (step == 1) {
      std::fill_n(data + offset, n, value);
    } else {
      for (int64_t i = 0; i < n; ++i) data[offset + i * step] = value;
    }
  });
}

/// Bytes of elements of less than a byte: whatever is in them, the elements are small integers.
/// What fills the last byte of a row up is no zero either.
void fill_packed(const TensorView& v, Random& random) {
  each_offset(v, [&](int64_t offset) {
    write_int(v.type, v.data, offset, static_cast<int64_t>(random.next() >> 32));
  });
}

/// Every 64th element is a denormal in tensors of up to so many; larger ones have as many. Each
/// takes processors more than a hundred cycles, in every product that it is a factor of. Tuned on:
/// an Intel server (AVX-512): a product of 2048 cubed took 40 times as long as of others.
constexpr uint64_t kWithDenormals = 1 << 14;

/// `fewer`: bits that are 0 in a draw that makes a denormal.
double random_float(DType type, uint64_t fewer, Random& random) {
  // One draw serves: 6 bits for the kind, one for the sign, the rest for the size.
  const uint64_t bits = random.next();
  const uint64_t kind = bits & 63;
  const double sign = (bits & 64) != 0 ? 1 : -1;
  const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
  if (kind == 0) return 0;
  if (kind == 1 && (bits >> 7 & fewer) == 0) {
    return sign * denormal_of(type) * static_cast<double>(1 + (bits >> 32) % 100);
  }
  return kind < 5 ? sign * 16 * unit : sign * unit;
}

/// What a caller's data are like. Denormals, which cost many processors a hundred cycles, are rare
/// in them, and so are arguments that functions make denormals from.
double timed_float(Random& random) {
  constexpr double kLeast = 0x1p-10;  // Chosen: of a thousand, one is so small (not measured).
  const uint64_t bits = random.next();
  const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
  return ((bits & 1) != 0 ? 1 : -1) * std::max(kLeast, unit);
}

bool has_small_integers(DataSet set) { return set == DataSet::kIntegers || set == DataSet::kTimed; }

int64_t random_int(DType type, DataSet set, Random& random) {
  if (type == DType::kBool) return random.below(2);
  if (has_small_integers(set)) return random.between(type == DType::kU8 ? 0 : -4, 4);
  return wrap_to(type, static_cast<int64_t>(random.next()));
}

/// The sign of an element: -1, 1, or 0 where signs mix. Some rows and columns have one sign, so
/// that a stray zero in a maximum, a minimum or a product is seen.
int sign_at(int64_t row, int64_t column) {
  if (row % 5 == 3 || column % 11 == 7) return -1;
  return row % 5 == 1 || column % 11 == 4 ? 1 : 0;
}

void fill_one(const TensorView& v, DataSet set, Random& random) {
  const bool whole = set == DataSet::kIntegers;
  const auto elements = static_cast<uint64_t>(v.elements());
  const uint64_t fewer = std::bit_ceil(std::max(elements, kWithDenormals)) / kWithDenormals - 1;
  int64_t row = 0;
  each_row(v, [&](int64_t first, int64_t n, int64_t step) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t offset = first + i * step;
      const int sign = sign_at(row, i);
      if (!is_float(v.type)) {
        int64_t x = random_int(v.type, set, random);
        const bool has_sign = v.type != DType::kU8 && v.type != DType::kBool;
        if (has_small_integers(set) && has_sign && sign != 0)
          x = sign * std::max<int64_t>(1, std::abs(x));
        write_int(v.type, v.data, offset, x);
        continue;
      }
      if (set == DataSet::kTimed) {
        write_float(v.type, v.data, offset, timed_float(random));
        continue;
      }
      double x =
          whole ? static_cast<double>(random.between(-4, 4)) : random_float(v.type, fewer, random);
      if (sign != 0) x = sign * std::max(whole ? 1.0 : 0.25, std::abs(x));
      write_float(v.type, v.data, offset, x);
    }
    ++row;
  });
}

/// One row (of the last dimension) all NaN, one all infinite; of few rows, single elements.
void put_special(const TensorView& v) {
  const int64_t n = v.elements();
  if (n == 0) return;
  const int64_t row = v.shape.empty() ? 1 : v.shape.back();
  const int64_t rows = n / row;
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  int64_t position = 0;
  each_offset(v, [&](int64_t offset) {
    const bool by_row = rows >= 4;
    const int64_t at = by_row ? position / row : position;
    const int64_t of = by_row ? rows : n;
    if (at == of / 3) write_float(v.type, v.data, offset, nan);
    if (at == 2 * of / 3 && of > 1) write_float(v.type, v.data, offset, infinity);
    ++position;
  });
}

/// The last element of `tensor` that `e` reads, or null.
ir::Expr read_from(const ir::Expr& e, const std::string& tensor) {
  ir::Expr found;
  ir::visit(e, [&](const ir::Expr& n) {
    if (n->op == ir::Op::kLoad && n->name == tensor) found = n;
  });
  return found;
}

/// True where an element is read that data choose and that need not be.
bool reads_guarded(const ir::Expr& e) {
  bool found = false;
  ir::visit(e, [&](const ir::Expr& n) {
    if (n->op != ir::Op::kLoad || !n->guarded) return;
    for (size_t d = 0; d + 1 < n->args.size(); ++d) {
      found |= ir::mentions_load(n->args[d]);
    }
  });
  return found;
}

/// The first element that `e` reads, or null.
ir::Expr first_read(const ir::Expr& e) {
  if (e->op == ir::Op::kLoad) return e;
  for (const ir::Expr& a : e->args) {
    if (ir::Expr found = first_read(a)) return found;
  }
  return {};
}

/// Writes values that pass a check, running over its variables in order.
struct Satisfy {
  RefState& state;
  const ir::Check& check;
  Random& random;
  bool timed = false;  ///< chains go from one end to the other, as the offsets of a caller do
  bool again = false;  ///< only what does not pass is written
  std::vector<std::string> names = {};
  std::vector<int64_t> env = {}, ends = {};
  std::vector<RefTape> bounds = {};
  RefTape limits = {};    ///< value, lo, hi
  RefTape position = {};  ///< in the tensor
  const TensorView* view = nullptr;
  bool packed = false;    ///< of bytes that several elements share
  bool chained = false;   ///< lo is a neighbour: values climb
  size_t along = 0;       ///< the variable that they climb along
  bool in_chain = false;  ///< a chain of this tensor is checked

  bool prepare() {
    const ir::Expr read = first_read(check.value);
    if (!read || read->guarded) return false;
    const RefBuffer& buffer = state.buffers[static_cast<size_t>(state.buffer_index(read->name))];
    if (!buffer.view || is_float(read->type)) return false;
    view = buffer.view;
    packed = state.program->buffer(read->name)->packed.has_value();
    for (const ir::IndexVar& v : check.vars) names.push_back(v.name);
    env.resize(names.size());
    ends.resize(names.size());
    const TapeScope scope{names, ""};
    for (const ir::IndexVar& v : check.vars) {
      bounds.push_back(make_tape(state, 0, scope, {v.lo ? v.lo : ir::make_int(0), v.hi}));
    }
    limits = make_tape(state, 0, scope, {check.value, check.lo, check.hi});
    position = make_tape(state, 0, scope, read->args);
    if (const ir::Expr before = read_from(check.lo, read->name)) {
      chained = true;
      along = changing(read, before);
    }
    const auto& all = state.program->checks;
    in_chain = std::any_of(all.begin(), all.end(), [&](const ir::Check& other) {
      return read_from(other.value, read->name) && read_from(other.lo, read->name);
    });
    return true;
  }

  /// The variable by which the indices of two elements differ.
  size_t changing(const ir::Expr& read, const ir::Expr& before) const {
    for (size_t d = 0; d < read->args.size() && d < before->args.size(); ++d) {
      if (ir::equal(read->args[d], before->args[d])) continue;
      for (size_t k = 0; k < names.size(); ++k) {
        if (ir::mentions_var(read->args[d], names[k])) return k;
      }
    }
    return 0;
  }

  void run(size_t k) {
    if (k < names.size()) {
      bounds[k].run(state, env.data(), nullptr, 1);
      const int64_t lo = bounds[k].frame.i(bounds[k].results[0])[0];
      const int64_t hi = bounds[k].frame.i(bounds[k].results[1])[0];
      ends[k] = hi;
      for (int64_t x = lo; x < hi; ++x) {
        env[k] = x;
        run(k + 1);
      }
      return;
    }
    position.run(state, env.data(), nullptr, 1);
    int64_t offset = 0;
    for (size_t d = 0; d < position.results.size(); ++d) {
      const int64_t at = position.frame.i(position.results[d])[0];
      if (position.frame.any_poison || at < 0 || at >= view->shape[d]) return;
      offset += at * view->strides[d];
    }
    choose(offset);
  }

  /// Of check.value, lo and hi.
  int64_t limit(size_t r) { return limits.frame.i(limits.results[r])[0]; }
  bool evaluate() {
    limits.run(state, env.data(), nullptr, 1);
    return !limits.frame.any_poison;
  }

  /// Of what the check accepts, the values that an element of the type reaches: an i8 no row 500.
  std::pair<int64_t, int64_t> attainable(int64_t start, int64_t slope) {
    int64_t lo = limit(1), hi = limit(2);
    const auto [least, most] = integers_of(view->type);
    int64_t one = 0, other = 0;
    if (!__builtin_mul_overflow(slope, least, &one) && !__builtin_add_overflow(start, one, &one) &&
        !__builtin_mul_overflow(slope, most, &other) &&
        !__builtin_add_overflow(start, other, &other)) {
      lo = std::max(lo, std::min(one, other));
      hi = std::min(hi, std::max(one, other));
    }
    return {lo, hi};
  }

  bool passes() { return evaluate() && limit(1) <= limit(0) && limit(0) <= limit(2); }

  /// The same of an element that shares its byte with others, which keep their bits.
  void choose_bits(int64_t offset) {
    const int64_t before = read_int(view->type, view->data, offset);
    if (!evaluate()) return;
    const int64_t value = limit(0);
    int64_t own = 0;
    for (int64_t bit = 1; bit < 256; bit *= 2) {
      write_int(view->type, view->data, offset, before ^ bit);
      if (evaluate() && limit(0) != value) own |= bit;
    }
    // Chosen: of 16 values one that passes is found (not measured).
    constexpr int kDraws = 64;
    for (int i = 0; i < kDraws; ++i) {
      const auto drawn = static_cast<int64_t>(random.next());
      write_int(view->type, view->data, offset, (before & ~own) | (drawn & own));
      if (passes()) return;
    }
  }

  /// Puts into the element at `offset` what makes the value one that is allowed. The value is taken
  /// to be linear in it.
  void choose(int64_t offset) {
    if (again && (!evaluate() || passes())) return;
    if (packed) return choose_bits(offset);
    write_int(view->type, view->data, offset, 1);
    const int64_t at_one = evaluate() ? limit(0) : 0;
    write_int(view->type, view->data, offset, 0);
    if (!evaluate()) return;
    const int64_t start = limit(0), slope = at_one - start;
    const auto [lo, hi] = attainable(start, slope);
    if (lo > hi) return;
    // Climbing values take about twice the average step, so that the end is used as well. What a
    // chain starts from leaves it most of the room.
    const int64_t room = std::max<int64_t>(0, hi - lo);
    const int64_t left = chained && !names.empty() ? ends[along] - env[along] : 1;
    int64_t reach = in_chain || names.empty() ? room / 16 : room;
    if (chained) reach = std::min(room, 2 * room / std::max<int64_t>(1, left));
    if (slope == 0) return;
    int64_t step = random.below(reach + 1);
    if (timed && chained && left == 1) step = room;
    if (timed && !chained && in_chain) step = 0;
    int64_t x = (lo + step - start) / slope;
    while (slope > 0 ? start + x * slope < lo : start + x * slope > hi) ++x;
    while (slope > 0 ? start + x * slope > hi : start + x * slope < lo) --x;
    write_int(view->type, view->data, offset, x);
  }
};

/// Checks without variables of a chain (its first value) come first: the others build on them. What
/// several checks look at is mended for each in turn.
void satisfy_checks(RefState& state, bool timed, Random& random) {
  // Chosen: enough for checks that build on one another (not measured).
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    for (const bool chained : {false, true}) {
      for (const ir::Check& check : state.program->checks) {
        Satisfy s{state, check, random, timed, round > 0};
        if (s.prepare() && s.chained == chained) s.run(0);
      }
    }
  }
}

/// An index that is a multiple of an element and a number.
struct LinearIndex {
  ir::Expr element;
  int64_t times = 1, more = 0;
};

/// The index as such a one; nothing where it is none.
std::optional<LinearIndex> linear_index(const ir::Expr& e) {
  if (e->op == ir::Op::kLoad && !e->guarded && is_int(e->type)) return LinearIndex{e};
  if (e->op == ir::Op::kCast && is_int(e->type)) return linear_index(e->args[0]);
  const bool sum = e->op == ir::Op::kAdd || e->op == ir::Op::kSub;
  if (!sum && e->op != ir::Op::kMul) return std::nullopt;
  int64_t number = 0;
  const size_t constant = ir::is_const(e->args[0], &number) ? 0 : 1;
  if (!ir::is_const(e->args[constant], &number)) return std::nullopt;
  auto out = linear_index(e->args[1 - constant]);
  if (!out) return out;
  const int64_t sign = e->op == ir::Op::kSub ? -1 : 1;
  const bool turned = sum && constant == 0 && sign < 0;
  const int64_t by = e->op == ir::Op::kMul ? number : turned ? -1 : 1;
  if (__builtin_mul_overflow(out->times, by, &out->times) || out->times == 0) return std::nullopt;
  if (__builtin_mul_overflow(out->more, by, &out->more)) return std::nullopt;
  const int64_t added = sum ? (constant == 1 ? sign * number : number) : 0;
  if (__builtin_add_overflow(out->more, added, &out->more)) return std::nullopt;
  return out;
}

/// Sets most numbers that choose elements of another tensor to valid ones, about seven of eight.
/// Random ones alone would measure and test what happens where there are none.
void aim_guarded(RefState& state, Random& random) {
  // Chosen: few that choose nothing (not measured).
  constexpr int kOf = 8;
  const auto aim = [&](const ir::Expr& chooser, int64_t extent) {
    const auto index = linear_index(chooser);
    if (!index || extent <= 0) return;
    const RefBuffer& from =
        state.buffers[static_cast<size_t>(state.buffer_index(index->element->name))];
    if (!from.view) return;
    each_offset(*from.view, [&](int64_t offset) {
      const int64_t chosen = (random.below(extent) - index->more) / index->times;
      const int64_t inside = wrap_to(from.view->type, chosen);
      if (random.below(kOf) != 0) write_int(from.view->type, from.view->data, offset, inside);
    });
  };
  for (const ir::Stage& stage : state.program->stages) {
    ir::visit(stage.value, [&](const ir::Expr& e) {
      if (e->op != ir::Op::kLoad || !e->guarded) return;
      const RefBuffer& table = state.buffers[static_cast<size_t>(state.buffer_index(e->name))];
      for (size_t d = 0; d + 1 < e->args.size(); ++d) aim(e->args[d], table.shape[d]);
    });
  }
}

}  // namespace

std::string_view name_of(DataSet set) {
  constexpr std::string_view names[] = {"integers", "random", "special", "timed"};
  return names[static_cast<int>(set)];
}

void fill_unwritten(const TensorView& view) {
  uint64_t one = 0;
  if (is_float(view.type)) {
    write_float(view.type, &one, 0, std::numeric_limits<double>::quiet_NaN());
  } else {
    write_int(view.type, &one, 0, view.type == DType::kBool ? 1 : 0x5a);
  }
  switch (size_of(view.type)) {
    case 1:
      return fill_with(view, static_cast<uint8_t>(one));
    case 2:
      return fill_with(view, static_cast<uint16_t>(one));
    case 4:
      return fill_with(view, static_cast<uint32_t>(one));
    default:
      return fill_with(view, one);
  }
}

std::vector<double> scalar_values(const ir::Program& program, uint64_t seed) {
  Random random(seed);
  std::vector<double> out;
  for (const ir::ScalarParam& s : program.scalars) {
    // Powers of two keep whole numbers exact.
    const double value = std::ldexp(1.0, static_cast<int>(random.between(-1, 1)));
    out.push_back(is_float(s.type) ? value : static_cast<double>(random.between(1, 3)));
  }
  return out;
}

void fill_parameters(const ir::Program& program, std::span<const TensorView> params,
                     std::span<const double> scalars, std::span<const int64_t> dims, DataSet set,
                     uint64_t seed) {
  Random random(seed);
  bool special = set == DataSet::kSpecial;
  size_t next = 0;
  for (const ir::Buffer& b : program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    const TensorView& view = params[next++];
    if (b.role == ir::Role::kOutput) continue;
    if (b.packed) {
      fill_packed(view, random);
      continue;
    }
    fill_one(view, set, random);
    if (special && is_float(view.type)) {
      put_special(view);
      special = false;
    }
  }
  bool guards = false;
  for (const ir::Stage& stage : program.stages) guards |= reads_guarded(stage.value);
  if (program.checks.empty() && !guards) return;
  RefState state;
  state.program = &program;
  state.dims.assign(dims.begin(), dims.end());
  for (double s : scalars) {
    state.scalars.push_back(s);
    state.int_scalars.push_back(static_cast<int64_t>(s));
  }
  if (bind_buffers(state, params)) return;
  if (guards) aim_guarded(state, random);
  satisfy_checks(state, set == DataSet::kTimed, random);
}

}  // namespace hone::jit
