// SPDX-License-Identifier: Apache-2.0
// The checks of a call. What is right is found out without allocating; only failures print.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "jit/interp/scalar.h"
#include "runtime/call/plan.h"

namespace hone::runtime {
namespace {

constexpr int64_t kUnknown = INT64_MIN;

/// Bytes that a tensor of the call may touch.
struct Range {
  const char* begin;
  const char* end;
};

Failure wrong(const ParamPlan& p, std::string_view why) {
  return Failure{ErrorCode::kArgument, fmt::format("{}: {}", p.text, why)};
}

std::string shape_text(const TensorRef& t, bool with_strides) {
  if (t.rank() == TensorRef::kFlat) return fmt::format("a flat tensor of {} elements", t.count());
  if (t.rank() > TensorRef::kMaxRank) return "a tensor whose shape and strides do not fit";
  std::string text = "shape [";
  for (int i = 0; i < t.rank(); ++i) text += fmt::format("{}{}", i > 0 ? "," : "", t.extent(i));
  if (!with_strides) return text + "]";
  text += "] strides (";
  for (int i = 0; i < t.rank(); ++i) text += fmt::format("{}{}", i > 0 ? "," : "", t.stride(i));
  return text + ")";
}

bool is_known(const ir::Expr& e, std::span<const int64_t> dims) {
  bool known = true;
  ir::visit(e, [&](const ir::Expr& x) {
    known = known && (x->op != ir::Op::kDim || dims[static_cast<size_t>(x->id)] != kUnknown);
  });
  return known;
}

std::string expected_text(const ParamPlan& p, std::span<const int64_t> dims, bool with_strides) {
  const auto print = [&](const ir::Expr& e) {
    int64_t value = 0;
    if (ir::is_const(e, &value)) return std::to_string(value);
    return is_known(e, dims) ? fmt::format("{}={}", ir::print(e), evaluate(e, dims)) : ir::print(e);
  };
  std::string text = "shape [", strides = "] strides (";
  for (size_t i = 0; i < p.extents.size(); ++i) {
    text += (i > 0 ? "," : "") + print(p.extents[i]);
    strides += (i > 0 ? "," : "") + print(p.strides[i]);
  }
  return with_strides ? text + strides + ")" : text + "]";
}

/// Strides are told only where they are what is wrong: the shape is as expected.
Failure wrong_shape(const ParamPlan& p, const TensorRef& t, std::span<const int64_t> dims) {
  bool same = t.rank() == p.sizes.rank;
  for (int i = 0; same && i < t.rank(); ++i) {
    const ir::Expr& extent = p.extents[static_cast<size_t>(i)];
    same = is_known(extent, dims) && evaluate(extent, dims) == t.extent(i);
  }
  const bool flat = t.rank() == TensorRef::kFlat;
  return wrong(p, fmt::format("got {}, expected {}", shape_text(t, same),
                              expected_text(p, dims, same || flat)));
}

/// True for a tensor of bytes where elements of less than a byte are wanted.
bool is_bytes_of(const ParamPlan& p, const TensorRef& t) {
  return is_packed(p.type) && t.type() == DType::kU8;
}

/// What a pointer, dtype and direction must be; true when all is well.
bool base_fits(const ParamPlan& p, const TensorRef& t) {
  const auto address = reinterpret_cast<uintptr_t>(t.data());
  return (t.type() == p.type || is_bytes_of(p, t)) && (!p.written || t.writable()) &&
         (address & static_cast<uintptr_t>(p.align - 1)) == 0 && (address != 0 || t.count() == 0);
}

Failure wrong_base(const ParamPlan& p, const TensorRef& t) {
  if (t.type() != p.type && !is_bytes_of(p, t)) {
    return wrong(p, fmt::format("got a tensor of {}{}", name_of(t.type()),
                                is_packed(p.type) ? "; one of its bytes, u8, fits too" : ""));
  }
  if (p.written && !t.writable()) return wrong(p, "it is written, but the tensor given is const");
  if (!t.data()) return wrong(p, "the pointer is null");
  return wrong(p, fmt::format("the address {} is not a multiple of {}", t.data(), p.align));
}

/// True where the bytes that hold elements of less than a byte have the shape and strides.
bool bytes_fit(const Sizes& sizes, bool may_be_flat, const TensorRef& t) {
  if (t.rank() == TensorRef::kFlat) return may_be_flat && t.count() == sizes.end;
  if (t.rank() != sizes.rank) return false;
  for (int i = 0; i < sizes.rank; ++i) {
    const bool packed = i == sizes.packed_dim;
    const int64_t extent = packed ? bytes_of_row(sizes.type, sizes.extents[i]) : sizes.extents[i];
    const int64_t stride = packed ? 1 : sizes.bytes_apart(sizes.strides[i]);
    if (t.extent(i) != extent) return false;
    if (t.stride(i) != stride && extent > 1 && sizes.count > 0) return false;
  }
  return true;
}

bool shape_fits(const Sizes& sizes, bool may_be_flat, const TensorRef& t) {
  if (is_packed(sizes.type) && t.type() == DType::kU8) return bytes_fit(sizes, may_be_flat, t);
  if (t.rank() == TensorRef::kFlat) return may_be_flat && t.count() == sizes.count;
  if (t.rank() != sizes.rank) return false;
  for (int i = 0; i < sizes.rank; ++i) {
    const int64_t extent = sizes.extents[i];
    if (t.extent(i) != extent) return false;
    // The stride of a dim of one element is never used.
    if (t.stride(i) != sizes.strides[i] && extent > 1 && sizes.count > 0) return false;
  }
  return true;
}

/// The dim that `e` is, alone and not known yet; null otherwise.
int64_t* open_dim(const ir::Expr& e, std::span<int64_t> dims) {
  if (e->op != ir::Op::kDim) return nullptr;
  int64_t* const dim = &dims[static_cast<size_t>(e->id)];
  return *dim == kUnknown ? dim : nullptr;
}

/// Takes dims from the shape and strides of `t` where they stand alone. The stride of a dim of one
/// element, or of an empty tensor, is never used: whatever it is, it is brought into its range.
void learn_dims(const ParamPlan& p, const TensorRef& t, std::span<const ir::Dim> ranges,
                std::span<int64_t> dims) {
  if (t.rank() != p.sizes.rank) return;
  for (int i = 0; i < t.rank(); ++i) {
    const size_t at = static_cast<size_t>(i);
    if (i == p.sizes.packed_dim && is_bytes_of(p, t)) continue;  // bytes do not tell elements
    if (int64_t* dim = open_dim(p.extents[at], dims)) *dim = t.extent(i);
    if (int64_t* dim = open_dim(p.strides[at], dims)) {
      const ir::Dim& range = ranges[static_cast<size_t>(p.strides[at]->id)];
      const bool used = t.extent(i) > 1 && t.count() > 0;
      *dim = used ? t.stride(i) : std::clamp(t.stride(i), range.lo, range.hi);
    }
  }
}

/// Which dim of a tensor tells the call a dim of the problem: ` (dim 0 of A)`.
std::string told_by(const ir::Dim& dim, std::span<const ParamPlan> params) {
  for (const ParamPlan& p : params) {
    for (size_t i = 0; i < p.extents.size(); ++i) {
      const ir::Expr& e = p.extents[i];
      if (e->op == ir::Op::kDim && e->name == dim.name)
        return fmt::format(" (dim {} of {})", i, p.name);
    }
  }
  return {};
}

/// The tensor whose stride a dim is, with the stride's position; nothing where it is an extent.
std::string stride_text(const ir::Dim& dim, std::span<const ParamPlan> params) {
  for (const ParamPlan& p : params) {
    for (size_t i = 0; i < p.strides.size(); ++i) {
      const ir::Expr& e = p.strides[i];
      if (e->op == ir::Op::kDim && e->name == dim.name) {
        return fmt::format("the stride of dim {} of {}", i, p.name);
      }
    }
  }
  return {};
}

/// A flat tensor tells a dim where that is its only unknown.
void learn_from_count(const ParamPlan& p, const TensorRef& t, std::span<int64_t> dims) {
  if (t.rank() != TensorRef::kFlat || is_packed(p.type)) return;
  int64_t* unknown = nullptr;
  int64_t known = 1;
  for (const ir::Expr& e : p.extents) {
    int64_t value = 0;
    if (int64_t* dim = open_dim(e, dims)) {
      if (unknown) return;
      unknown = dim;
    } else if (ir::is_const(e, &value) || e->op == ir::Op::kDim) {
      known *= evaluate(e, dims);
    } else {
      return;
    }
  }
  if (unknown && known > 0 && t.count() % known == 0) *unknown = t.count() / known;
}

/// The sizes of `p` with its formulas worked out.
void settle(const ParamPlan& p, std::span<const int64_t> dims, Sizes* out) {
  out->rank = p.sizes.rank;
  out->type = p.sizes.type;
  out->packed_dim = p.sizes.packed_dim;
  for (int i = 0; i < out->rank; ++i) {
    out->extents[i] = evaluate(p.extents[static_cast<size_t>(i)], dims);
    out->strides[i] = evaluate(p.strides[static_cast<size_t>(i)], dims);
  }
  out->measure();
}

/// True if no two elements of a written tensor share memory: each stride spans all below it.
bool distinct_elements(const Sizes& s) {
  int order[TensorRef::kMaxRank];
  int n = 0;
  const auto stride = [&](int i) { return std::abs(s.strides[i]); };
  for (int i = 0; i < s.rank; ++i) {
    if (s.extents[i] <= 1) continue;
    int at = n++;
    for (; at > 0 && stride(i) < stride(order[at - 1]); --at) order[at] = order[at - 1];
    order[at] = i;
  }
  int64_t span = 1;
  for (int i = 0; i < n; ++i) {
    if (stride(order[i]) < span) return s.count == 0;
    span += (s.extents[order[i]] - 1) * stride(order[i]);
  }
  return true;
}

/// The widest stride of a tensor in bytes; rows are what lies between two steps of it.
int64_t pitch_of(const Sizes& s) {
  int64_t widest = 0;
  for (int i = 0; i < s.rank; ++i) {
    if (s.extents[i] > 1) widest = std::max(widest, s.strides[i]);
  }
  return s.bytes_apart(widest);
}

/// Bytes of one row; more than `pitch` where rows cannot be told apart.
int64_t row_of(const Sizes& s, int64_t pitch) {
  int64_t last = 0;
  for (int i = 0; i < s.rank; ++i) {
    if (s.extents[i] <= 1 || s.bytes_apart(s.strides[i]) == pitch) continue;
    if (s.strides[i] < 0) return pitch + 1;
    last += (s.extents[i] - 1) * s.strides[i];
  }
  return s.bytes_apart(last) + size_of(s.type);
}

/// True if two tensors whose ranges meet are still apart: rows of one pitch, side by side.
bool side_by_side(const Sizes& a, const char* at_a, const Sizes& b, const char* at_b) {
  const int64_t pitch = pitch_of(a);
  if (pitch <= 0 || pitch != pitch_of(b)) return false;
  const int64_t apart = ((at_b - at_a) % pitch + pitch) % pitch;
  return row_of(a, pitch) <= apart && apart + row_of(b, pitch) <= pitch;
}

/// True if `type` has the value, rounded where it is of floats.
bool holds(const ScalarArg& s, DType type) {
  if (is_float(type)) {
    const double value = s.is_real ? s.real : static_cast<double>(s.integer);
    int64_t bits = 0;
    jit::write_float(type, &bits, 0, value);
    return !std::isfinite(value) || std::isfinite(jit::read_float(type, &bits, 0));
  }
  const auto [low, high] = jit::integers_of(type);
  if (!s.is_real) return low <= s.integer && s.integer <= high;
  // 2^63 as a double is just outside of i64.
  const bool inside = s.real >= static_cast<double>(low) &&
                      (type == DType::kI64 ? s.real < 0x1p63 : s.real <= static_cast<double>(high));
  return inside && s.real == std::trunc(s.real);
}

int64_t scalar_bits(const ScalarArg& s, DType type) {
  int64_t bits = 0;
  if (is_float(type)) {
    jit::write_float(type, &bits, 0, s.is_real ? s.real : static_cast<double>(s.integer));
  } else {
    jit::write_int(type, &bits, 0, s.is_real ? jit::int_from_float(type, s.real) : s.integer);
  }
  return bits;
}

/// Where the failure of one call is put together.
class Checker {
 public:
  Checker(const CallPlan& plan, std::span<const ArgRef> args, Bindings* out)
      : plan_(plan),
        args_(args),
        out_(out),
        params_(plan.params.data()),
        count_(plan.params.size()),
        dims_(out->dims.data(), plan.dims.size()) {}

  Result<Done> run() {
    if (!distribute()) return wrong_count();
    if (misfit_ >= 0) return wrong_scalar();
    if (!plan_.dims.empty()) {
      if (auto f = resolve_dims(); !f) return f.failure();
    }
    for (size_t i = 0; i < count_; ++i) {
      const ParamPlan& p = params_[i];
      if (p.constant) continue;
      const TensorRef& t = *tensors_[i];
      if (!base_fits(p, t)) return wrong_base(p, t);
      sizes_[i] = &p.sizes;
      if (!p.fixed) {
        settle(p, dims_, &settled_[p.open]);
        sizes_[i] = &settled_[p.open];
      }
      if (!shape_fits(*sizes_[i], p.may_be_flat, t)) return wrong_shape(p, t, dims_);
      if (p.written && !p.fixed && !distinct_elements(*sizes_[i])) {
        return wrong(p, "it is written, but some of its elements share memory");
      }
      const char* data = static_cast<const char*>(t.data());
      ranges_[i] = {data + sizes_[i]->begin, data + sizes_[i]->end};
      out_->tensors[i] = data;
    }
    for (size_t w = 0; w < count_; ++w) {
      if (!params_[w].written) continue;
      for (size_t i = 0; i < count_; ++i) {
        if (i != w && !params_[i].constant && overlap(w, i)) return wrong_overlap(w, i);
      }
    }
    return Done{};
  }

 private:
  bool distribute() {
    size_t tensor = 0, scalar = 0;
    for (const ArgRef& arg : args_) {
      if (const TensorRef* t = arg.tensor()) {
        while (tensor < count_ && params_[tensor].constant) ++tensor;
        if (tensor == count_) return false;
        tensors_[tensor++] = t;
      } else {
        if (scalar == plan_.scalars.size()) return false;
        const DType type = plan_.scalars[scalar].type;
        if (!holds(arg.scalar(), type) && misfit_ < 0) {
          misfit_ = static_cast<int>(scalar);
          misfit_value_ = arg.scalar();
        }
        out_->scalars[scalar] = scalar_bits(arg.scalar(), type);
        ++scalar;
      }
    }
    while (tensor < count_ && params_[tensor].constant) ++tensor;
    return tensor == count_ && scalar == plan_.scalars.size();
  }

  Failure wrong_scalar() const {
    const ir::ScalarParam& s = plan_.scalars[static_cast<size_t>(misfit_)];
    const std::string value = misfit_value_.is_real ? fmt::format("{}", misfit_value_.real)
                                                    : fmt::format("{}", misfit_value_.integer);
    std::string accepted = "a number within its range";
    if (!is_float(s.type)) {
      const auto [low, high] = jit::integers_of(s.type);
      accepted = fmt::format("an integer from {} to {}", low, high);
    }
    return Failure{ErrorCode::kArgument,
                   fmt::format("{}: {}: got {}, which it does not hold; {} is expected", s.name,
                               name_of(s.type), value, accepted)};
  }

  Failure wrong_count() const {
    size_t tensors = 0;
    std::string expected;
    for (const ParamPlan& p : plan_.params) {
      if (p.constant) continue;
      ++tensors;
      expected += (expected.empty() ? "" : ", ") + p.text;
    }
    for (const ir::ScalarParam& s : plan_.scalars) {
      expected += fmt::format("{}{}: {}", expected.empty() ? "" : ", ", s.name, name_of(s.type));
    }
    size_t got = 0;
    for (const ArgRef& a : args_) got += a.tensor() ? 1 : 0;
    return Failure{
        ErrorCode::kArgument,
        fmt::format("the call takes {} tensors and {} scalars, ({}); got {} tensors and {} "
                    "scalars",
                    tensors, plan_.scalars.size(), expected, got, args_.size() - got)};
  }

  Result<Done> resolve_dims() {
    for (int64_t& dim : dims_) dim = kUnknown;
    for (size_t i = 0; i < count_; ++i) {
      if (params_[i].constant) continue;
      const TensorRef& t = *tensors_[i];
      // What has another rank tells nothing.
      if (t.rank() != TensorRef::kFlat && t.rank() != params_[i].sizes.rank) {
        return wrong_shape(params_[i], t, dims_);
      }
      learn_dims(params_[i], t, plan_.dims, dims_);
    }
    for (size_t round = 0; round < dims_.size(); ++round) {
      for (size_t i = 0; i < count_; ++i) {
        if (!params_[i].constant) learn_from_count(params_[i], *tensors_[i], dims_);
      }
    }
    for (size_t i = 0; i < dims_.size(); ++i) {
      const ir::Dim& dim = plan_.dims[i];
      if (dims_[i] < dim.lo || dims_[i] > dim.hi) return wrong_dim(dim, dims_[i]);
    }
    return Done{};
  }

  Failure wrong_dim(const ir::Dim& dim, int64_t value) const {
    const std::string stride = stride_text(dim, plan_.params);
    if (value == kUnknown) {
      const std::string what = stride.empty() ? dim.name : stride;
      return Failure{ErrorCode::kArgument,
                     fmt::format("{} cannot be told from flat tensors; give one with a shape{}",
                                 what, stride.empty() ? "" : " and strides")};
    }
    if (!stride.empty()) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("{} is {} at this call; it is {} to {} elements", stride, value,
                                 dim.lo, dim.hi)};
    }
    return Failure{ErrorCode::kArgument,
                   fmt::format("{} is {} at this call{}; the problem says {}={}..{}", dim.name,
                               value, told_by(dim, plan_.params), dim.name, dim.lo, dim.hi)};
  }

  bool overlap(size_t a, size_t b) const {
    const bool meet = ranges_[a].begin < ranges_[b].end && ranges_[b].begin < ranges_[a].end;
    return meet && !side_by_side(*sizes_[a], static_cast<const char*>(tensors_[a]->data()),
                                 *sizes_[b], static_cast<const char*>(tensors_[b]->data()));
  }

  Failure wrong_overlap(size_t written, size_t other) const {
    return wrong(params_[written],
                 fmt::format("it is written, and overlaps {} in memory; an op reads and writes one "
                             "tensor in place only where it says inout",
                             params_[other].name));
  }

  const CallPlan& plan_;
  std::span<const ArgRef> args_;
  Bindings* out_;
  // Beside the plan: the checks meet them often.
  const ParamPlan* params_;
  size_t count_;
  std::span<int64_t> dims_;
  int misfit_ = -1;  // the first scalar that its type does not hold
  ScalarArg misfit_value_{0};
  // Filled per parameter; left as they are beyond, to keep calls cheap.
  const TensorRef* tensors_[kMaxSlots];
  const Sizes* sizes_[kMaxSlots];
  Range ranges_[kMaxSlots];
  Sizes settled_[kMaxOpen];
};

}  // namespace

std::span<const ArgRef> refer(std::span<const Arg> args, std::span<ArgRef> refs) {
  for (size_t i = 0; i < args.size(); ++i) {
    refs[i] = std::visit([](const auto& value) { return ArgRef(value); }, args[i]);
  }
  return refs.first(args.size());
}

Result<Done> bind_arguments(const CallPlan& plan, std::span<const ArgRef> args, Bindings* out) {
  return Checker(plan, args, out).run();
}

Result<Done> check_constant(const ParamPlan& param, const TensorRef& tensor) {
  if (!base_fits(param, tensor)) return wrong_base(param, tensor);
  if (!shape_fits(param.sizes, param.may_be_flat, tensor)) return wrong_shape(param, tensor, {});
  return Done{};
}

}  // namespace hone::runtime
