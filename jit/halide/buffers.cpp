// SPDX-License-Identifier: Apache-2.0
#include "jit/halide/buffers.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "jit/interp/reference.h"

namespace hone::jit::halide {
namespace {

using ir::Op;
using ir::Role;

bool read_by_caller(const ir::Buffer& b) {
  return b.role == Role::kInput || b.role == Role::kInOut;
}
bool written_for_caller(const ir::Buffer& b) {
  return b.role == Role::kOutput || b.role == Role::kInOut;
}

}  // namespace

std::string plain_name(std::string_view name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

Buffers::Buffers(const ir::Program& program) : program_(program) {
  for (const ir::Dim& d : program.dims) {
    if (d.hi > INT32_MAX) refuse("dim " + d.name + ": Halide counts elements with 32 bits");
    dims_.emplace(d.name, Halide::Param<int32_t>("dim_" + plain_name(d.name)));
    dims_.at(d.name).set_min_value(static_cast<int32_t>(d.lo));
    dims_.at(d.name).set_max_value(static_cast<int32_t>(d.hi));
  }
  for (const ir::ScalarParam& s : program.scalars) {
    scalars_.emplace(s.name, Halide::Param<int64_t>("scalar_" + plain_name(s.name)));
  }
  int number = 0;
  for (const ir::Buffer& b : program.buffers) {
    if (b.role == Role::kTemp) continue;
    if (read_by_caller(b)) {
      Halide::ImageParam image(stored_type(b.type), static_cast<int>(b.shape.size()),
                               "in_" + plain_name(b.name));
      bound(b, true, [&](int d) { return image.dim(d); });
      images_.emplace(b.name, std::move(image));
      input_params_.push_back(number);
    }
    ++number;
  }
}

/// Says what is known of sizes and strides. Halide's innermost dimension is the first.
void Buffers::bound(const ir::Buffer& b, bool read,
                    const std::function<Halide::Internal::Dimension(int)>& dim_of) {
  const size_t rank = b.shape.size();
  std::vector<TensorView> views;
  size_t number = 0;
  if (program_.dims.empty()) {
    views = parameter_views(program_, {});
    for (const ir::Buffer& other : program_.buffers) {
      if (&other == &b || other.name == b.name) break;
      number += other.role != Role::kTemp;
    }
  }
  const size_t innermost = b.axes.empty() ? rank - 1 : static_cast<size_t>(b.axes.back().dim);
  for (size_t d = 0; d < rank; ++d) {
    auto halide_dim = dim_of(static_cast<int>(rank - 1 - d));
    halide_dim.set_bounds(0, read ? some(b.shape[d]) : size(b.shape[d]));
    if (!views.empty()) {
      const int64_t stride = views[number].strides[d];
      if (stride > INT32_MAX) refuse("tensor " + b.name + ": Halide has strides of 32 bits");
      halide_dim.set_stride(static_cast<int32_t>(stride));
    } else if (b.strides.empty() && d == innermost) {
      halide_dim.set_stride(1);
    } else {
      halide_dim.set_stride(Halide::Expr());
    }
  }
}

Halide::Expr Buffers::dim(const std::string& name) const { return dims_.at(name); }

Halide::Expr Buffers::scalar(const std::string& name, DType type) const {
  const Halide::Type t = stored_type(type);
  const Halide::Expr low = Halide::cast(Halide::UInt(t.bits()), scalars_.at(name));
  return from_stored(Halide::reinterpret(t, low), type);
}

Halide::Expr Buffers::size(const ir::Expr& e) const {
  switch (e->op) {
    case Op::kInt:
      if (e->i > INT32_MAX || e->i < INT32_MIN) refuse("Halide counts elements with 32 bits");
      return static_cast<int32_t>(e->i);
    case Op::kDim:
      return dim(e->name);
    case Op::kCast:
      return size(e->args[0]);
    default:
      break;
  }
  if (e->args.size() != 2) refuse("size " + print(e) + ": Halide cannot be told of it");
  const Halide::Expr a = size(e->args[0]), b = size(e->args[1]);
  switch (e->op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kDiv:
      return a / b;
    case Op::kMod:
      return a % b;
    case Op::kMin:
      return Halide::min(a, b);
    case Op::kMax:
      return Halide::max(a, b);
    default:
      refuse("size " + print(e) + ": Halide cannot be told of it");
  }
}

Halide::Expr Buffers::some(const ir::Expr& e) const {
  return Halide::Internal::simplify(Halide::max(size(e), 1));
}

Halide::Expr Buffers::last(const ir::Expr& e) const {
  return Halide::Internal::simplify(some(e) - 1);
}

Halide::Expr Buffers::load(const std::string& buffer, const std::vector<Halide::Expr>& indices) {
  const std::vector<Halide::Expr> inner(indices.rbegin(), indices.rend());
  const auto made = funcs_.find(buffer);
  if (made != funcs_.end()) return made->second(inner);
  const auto given = images_.find(buffer);
  if (given == images_.end()) refuse("tensor " + buffer + " is read before a stage writes it");
  return given->second(inner);
}

Halide::Func& Buffers::func(const std::string& buffer) {
  const auto found = funcs_.find(buffer);
  if (found != funcs_.end()) return found->second;
  return funcs_.emplace(buffer, Halide::Func(plain_name(buffer))).first->second;
}

Halide::ImageParam* Buffers::image(const std::string& buffer) {
  const auto found = images_.find(buffer);
  return found == images_.end() ? nullptr : &found->second;
}

std::vector<Halide::Argument> Buffers::arguments() const {
  std::vector<Halide::Argument> out;
  for (const ir::Buffer& b : program_.buffers) {
    if (b.role != Role::kTemp && read_by_caller(b)) out.emplace_back(images_.at(b.name));
  }
  for (const ir::Dim& d : program_.dims) out.emplace_back(dims_.at(d.name));
  for (const ir::ScalarParam& s : program_.scalars) out.emplace_back(scalars_.at(s.name));
  return out;
}

std::vector<Halide::Func> Buffers::outputs() {
  std::vector<Halide::Func> out;
  for (const ir::Buffer& b : program_.buffers) {
    if (!written_for_caller(b) || !written(b.name)) continue;
    Halide::Func& f = func(b.name);
    bound(b, false, [&](int d) { return f.output_buffer().dim(d); });
    out.push_back(f);
  }
  return out;
}

std::vector<int> Buffers::output_params() const {
  std::vector<int> out;
  int number = 0;
  for (const ir::Buffer& b : program_.buffers) {
    if (b.role == Role::kTemp) continue;
    if (written_for_caller(b) && written(b.name)) out.push_back(number);
    ++number;
  }
  return out;
}

void Buffers::estimate() {
  std::vector<int64_t> dims;
  for (const ir::Dim& d : program_.dims) {
    dims.push_back(d.at.empty() ? d.hi : d.at.front());
    dims_.at(d.name).set_estimate(static_cast<int32_t>(dims.back()));
  }
  for (auto& [name, param] : scalars_) param.set_estimate(0);
  size_t number = 0;
  const std::vector<TensorView> views = parameter_views(program_, dims);
  for (const ir::Buffer& b : program_.buffers) {
    if (b.role == Role::kTemp) continue;
    const std::vector<int64_t>& shape = views[number++].shape;
    const int rank = static_cast<int>(shape.size());
    for (int d = 0; d < rank; ++d) {
      const auto extent = static_cast<int32_t>(shape[static_cast<size_t>(rank - 1 - d)]);
      if (read_by_caller(b)) images_.at(b.name).dim(d).set_estimate(0, extent);
      if (!written_for_caller(b) || !written(b.name)) continue;
      func(b.name).output_buffer().dim(d).set_estimate(0, extent);
    }
  }
}

}  // namespace hone::jit::halide
