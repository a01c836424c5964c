// SPDX-License-Identifier: Apache-2.0
#include "runtime/call/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/ir/integers.h"

namespace hone::runtime {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int64_t binary(ir::Op op, int64_t a, int64_t b) {
  switch (op) {
    case ir::Op::kAdd:
      return wrap_add(a, b);
    case ir::Op::kSub:
      return wrap_add(a, static_cast<int64_t>(0 - static_cast<uint64_t>(b)));
    case ir::Op::kMul:
      return wrap_mul(a, b);
    case ir::Op::kDiv:
      return floor_div(a, b);
    case ir::Op::kMod:
      return b == 0 ? 0 : wrap_add(a, -wrap_mul(b, floor_div(a, b)));
    case ir::Op::kBitAnd:
    case ir::Op::kBitOr:
    case ir::Op::kBitXor:
    case ir::Op::kShl:
    case ir::Op::kShr:
      return ir::bits_of(op, DType::kI64, a, b);
    case ir::Op::kMin:
      return std::min(a, b);
    case ir::Op::kMax:
      return std::max(a, b);
    case ir::Op::kEq:
      return a == b;
    case ir::Op::kNe:
      return a != b;
    case ir::Op::kLt:
      return a < b;
    case ir::Op::kLe:
      return a <= b;
    case ir::Op::kAnd:
      return (a != 0) && (b != 0);
    case ir::Op::kOr:
      return (a != 0) || (b != 0);
    default:
      return 0;
  }
}

/// The stride of each logical dim of a buffer whose axes are whole dims in some order, as the
/// caller counts elements. Empty where an axis is only a part of a dim.
std::vector<ir::Expr> logical_strides(const ir::Buffer& b) {
  const size_t rank = b.shape.size();
  std::vector<ir::Expr> strides(rank);
  ir::Expr dense = ir::make_int(1);
  for (size_t i = rank; i-- > 0;) {
    const ir::Axis axis = b.axes.empty() ? ir::Axis{static_cast<int>(i), 1, 0} : b.axes[i];
    if (axis.div != 1 || axis.mod != 0) return {};
    const size_t dim = static_cast<size_t>(axis.dim);
    strides[dim] = b.strides.empty() ? dense : b.strides[i];
    dense = dense * b.shape[dim];
  }
  // A byte holds several elements along one dim, and along the others the first of each.
  for (size_t dim = 0; b.packed && dim < rank; ++dim) {
    if (static_cast<int>(dim) == b.packed->dim) continue;
    strides[dim] = strides[dim] * ir::make_int(elements_per_byte(b.packed->type));
  }
  return strides;
}

/// Without gaps in some order of the dims: the elements of a flat tensor are those in memory.
bool is_dense(const Sizes& s) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride and extent, the widest last
  for (int i = 0; i < s.rank; ++i) {
    if (s.extents[i] != 1) dims.emplace_back(s.strides[i], s.extents[i]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t expected = 1;
  for (const auto& [stride, extent] : dims) {
    if (stride != expected && s.count > 0) return false;
    expected = wrap_mul(expected, extent);
  }
  return true;
}

std::string describe(const ir::Buffer& b) {
  std::string text = fmt::format("{}: {}[", b.name, name_of(b.element_type()));
  for (size_t i = 0; i < b.shape.size(); ++i) {
    text += (i > 0 ? "," : "") + ir::print(b.element_extent(i));
  }
  return text + "]";
}

Result<ParamPlan> plan_param(const ir::Buffer& b, std::span<const ir::Dim> dims) {
  const auto fail = [&](std::string_view why) {
    return Failure{ErrorCode::kUnsupported, fmt::format("{}: {}", describe(b), why)};
  };
  if (b.shape.size() > TensorRef::kMaxRank) return fail("a tensor has at most 12 dims");
  const std::vector<ir::Expr> strides = logical_strides(b);
  if (strides.size() != b.shape.size()) return fail("its layout cannot be told by strides");
  ParamPlan p;
  p.name = b.name;
  p.type = b.element_type();
  p.written = b.role == ir::Role::kOutput || b.role == ir::Role::kInOut;
  p.constant = b.constant;
  p.cold = b.cold;
  p.align = std::max<int64_t>(b.align, size_of(b.type));
  p.text = describe(b);
  p.sizes.rank = static_cast<int>(b.shape.size());
  p.sizes.type = p.type;
  p.sizes.packed_dim = b.packed ? b.packed->dim : -1;
  for (size_t i = 0; i < b.shape.size(); ++i) {
    p.extents.push_back(number_dims(b.element_extent(i), dims));
    p.strides.push_back(number_dims(strides[i], dims));
    const bool fixed = ir::is_const(p.extents[i], &p.sizes.extents[i]) &&
                       ir::is_const(p.strides[i], &p.sizes.strides[i]);
    p.fixed = p.fixed && fixed;
  }
  if (p.fixed) p.sizes.measure();
  p.may_be_flat = p.fixed && !b.packed ? is_dense(p.sizes) : b.strides.empty();
  if (p.constant && !p.fixed) return fail("a constant needs a shape that is known at compile");
  return p;
}

}  // namespace

void Sizes::measure() {
  count = 1;
  begin = end = 0;
  for (int i = rank - 1; i >= 0; --i) {
    count = wrap_mul(count, extents[i]);
    const int64_t reach = bytes_apart(wrap_mul(extents[i] - 1, strides[i]));
    (reach < 0 ? begin : end) += reach;
  }
  end = count == 0 ? begin = 0 : end + size_of(type);
}

int64_t evaluate(const ir::Expr& e, std::span<const int64_t> dims) {
  switch (e->op) {
    case ir::Op::kInt:
      return e->i;
    case ir::Op::kDim:
      return dims[static_cast<size_t>(e->id)];
    case ir::Op::kCast:
      return evaluate(e->args[0], dims);
    case ir::Op::kNeg:
      return static_cast<int64_t>(0 - static_cast<uint64_t>(evaluate(e->args[0], dims)));
    case ir::Op::kNot:
      return evaluate(e->args[0], dims) == 0;
    case ir::Op::kSelect:
      return evaluate(e->args[evaluate(e->args[0], dims) != 0 ? 1 : 2], dims);
    default:
      return binary(e->op, evaluate(e->args[0], dims), evaluate(e->args[1], dims));
  }
}

ir::Expr number_dims(const ir::Expr& e, std::span<const ir::Dim> dims) {
  return ir::rewrite(e, [&](const ir::Expr& x) -> ir::Expr {
    if (x->op != ir::Op::kDim) return {};
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].name == x->name) return ir::make_dim(x->name, static_cast<int>(i));
    }
    return {};
  });
}

Result<CallPlan> plan_call(const ir::Program& program) {
  CallPlan plan;
  int open = 0;
  plan.scalars = program.scalars;
  plan.dims = program.dims;
  plan.dim_is_stride.assign(plan.dims.size(), true);
  for (const ir::Buffer& b : program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    auto param = plan_param(b, plan.dims);
    if (!param) return param.failure();
    for (const ir::Expr& extent : param->extents) {
      ir::visit(extent, [&](const ir::Expr& e) {
        if (e->op == ir::Op::kDim) plan.dim_is_stride[static_cast<size_t>(e->id)] = false;
      });
    }
    if (!param->fixed) param->open = open++;
    plan.signature += (plan.signature.empty() ? "" : ", ") + param->text;
    plan.params.push_back(std::move(*param));
  }
  for (const ir::ScalarParam& s : plan.scalars) {
    plan.signature += fmt::format(", {}: {}", s.name, name_of(s.type));
  }
  for (const ir::Check& check : program.checks) {
    const bool known =
        std::find(plan.checked.begin(), plan.checked.end(), check.tensor) != plan.checked.end();
    if (!known) plan.checked.push_back(check.tensor);
  }
  // Bound buffers come on top: at most one for each constant and layout.
  const size_t slots = 2 + 2 * plan.params.size() + plan.scalars.size() + plan.dims.size();
  if (slots > kMaxSlots || open > kMaxOpen) {
    return Failure{ErrorCode::kUnsupported,
                   fmt::format("{} parameters are more than a call takes", plan.params.size())};
  }
  return plan;
}

}  // namespace hone::runtime
