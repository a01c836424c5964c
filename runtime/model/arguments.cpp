// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/arguments.h"

#include <fmt/format.h>

#include <new>

#include "runtime/fine.h"

namespace hone::runtime {
namespace {

std::string text_of(const ModelValue& v) {
  std::vector<std::string> extents;
  for (const ir::Expr& e : v.shape) extents.push_back(ir::print(e));
  return fmt::format("`{}: {}[{}]`", v.name, name_of(v.type), fmt::join(extents, ","));
}

bool lies_at_multiple(const void* data, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(bytes) == 0;
}

Failure misaligned(const ModelValue& v, const void* data, int64_t bytes) {
  return Failure{
      ErrorCode::kArgument,
      fmt::format("`{}` is at {}, which is no multiple of {} bytes", v.name, data, bytes)};
}

}  // namespace

Result<Done> ModelArguments::check_alignment() const {
  for (size_t i = 0; i < model_.given.size(); ++i) {
    const ModelParam& p = model_.given[i];
    if (!lies_at_multiple(data_[i], p.align)) return misaligned(value(p.value), data_[i], p.align);
  }
  return fine();
}

Result<Done> ModelArguments::take(std::span<const NamedTensor> inputs,
                                  std::span<const NamedTensor> outputs) {
  if (auto f = take(inputs, false); !f) return f.failure();
  if (auto f = take(outputs, true); !f) return f.failure();
  if (auto f = check_all(); !f) return f.failure();
  for (size_t i = 0; i < model_.given.size(); ++i) data_[i] = const_cast<void*>(given_[i]->data());
  return fine();
}

Failure ModelArguments::no_such(std::string_view name, bool written) const {
  std::string names;
  for (const ModelParam& p : model_.given) {
    if (p.written == written) names += (names.empty() ? "" : ", ") + value(p.value).name;
  }
  return Failure{ErrorCode::kArgument, fmt::format("the model has no {} `{}`; it has {}",
                                                   written ? "output" : "input", name, names)};
}

/// Finds what is given among the model's inputs or outputs.
Result<Done> ModelArguments::take(std::span<const NamedTensor> tensors, bool written) {
  for (const NamedTensor& t : tensors) {
    size_t at = 0;
    while (at < model_.given.size() &&
           (model_.given[at].written != written || value(model_.given[at].value).name != t.name)) {
      ++at;
    }
    if (at == model_.given.size()) return no_such(t.name, written);
    if (given_[at]) {
      return Failure{ErrorCode::kArgument, fmt::format("`{}` is given twice", t.name)};
    }
    given_[at] = &t.tensor;
    if (!written) {
      if (auto f = tell_dims(value(model_.given[at].value), t.tensor); !f) return f.failure();
    }
  }
  return fine();
}

/// Dims that stand by themselves in the shape of an input.
Result<Done> ModelArguments::tell_dims(const ModelValue& v, const TensorRef& t) {
  if (t.rank() != static_cast<int>(v.shape.size())) return fine();  // told later
  for (int i = 0; i < t.rank(); ++i) {
    const ir::Expr& extent = v.shape[static_cast<size_t>(i)];
    if (extent->op != ir::Op::kDim) continue;
    const auto d = static_cast<size_t>(extent->id);
    const ir::Dim& dim = model_.dims[d];
    if (dims_[d] >= 0 && dims_[d] != t.extent(i)) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("{} is {} in dim {} of `{}`, and {} in another input", dim.name,
                                 t.extent(i), i, v.name, dims_[d])};
    }
    if (t.extent(i) < dim.lo || t.extent(i) > dim.hi) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("dim {} of `{}` is {}; {} was bound to {}..{}", i, v.name,
                                 t.extent(i), dim.name, dim.lo, dim.hi)};
    }
    dims_[d] = t.extent(i);
  }
  return fine();
}

Result<Done> ModelArguments::check_all() const {
  for (size_t i = 0; i < model_.given.size(); ++i) {
    const ModelParam& p = model_.given[i];
    if (!given_[i]) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("the {} {} is missing", p.written ? "output" : "input",
                                 text_of(value(p.value)))};
    }
    if (p.written && !given_[i]->writable()) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("the output `{}` is read-only", value(p.value).name)};
    }
  }
  for (size_t d = 0; d < model_.told; ++d) {
    if (dims_[d] < 0) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("no input tells {}: give its tensors with their shapes",
                                 model_.dims[d].name)};
    }
  }
  for (size_t i = 0; i < model_.given.size(); ++i) {
    if (auto f = check(value(model_.given[i].value), *given_[i]); !f) return f.failure();
  }
  return check_overlap();
}

Failure ModelArguments::misfit(const ModelValue& v, const TensorRef& t) const {
  std::vector<std::string> wanted;
  for (size_t i = 0; i < v.shape.size(); ++i) {
    wanted.push_back(v.by_data[i] ? ir::print(v.shape[i]) : std::to_string(extent(v, i)));
  }
  std::vector<int64_t> shape;
  for (int i = 0; i < t.rank(); ++i) shape.push_back(t.extent(i));
  return Failure{
      ErrorCode::kArgument,
      fmt::format("`{}` is {}[{}] here, and {} is given", v.name, name_of(v.type),
                  fmt::join(wanted, ","),
                  t.rank() == TensorRef::kFlat
                      ? fmt::format("{} elements of {}", t.count(), name_of(t.type()))
                      : fmt::format("{}[{}]", name_of(t.type()), fmt::join(shape, ",")))};
}

/// Of dims that data tell, what is given counts: whether that suffices shows later.
Result<Done> ModelArguments::check(const ModelValue& v, const TensorRef& t) const {
  std::array<int64_t, TensorRef::kMaxRank> extents;
  const bool shaped = t.rank() == static_cast<int>(v.shape.size());
  int64_t count = 1;
  for (size_t i = v.shape.size(); i-- > 0;) {
    extents[i] = !v.by_data[i] ? extent(v, i) : shaped ? t.extent(static_cast<int>(i)) : 0;
    count *= extents[i];
  }
  bool fits = t.type() == v.type;
  const std::span<const int64_t> wanted(extents.data(), v.shape.size());
  if (t.rank() == TensorRef::kFlat && v.open) {
    count = t.count();
  } else if (t.rank() == TensorRef::kFlat) {
    // The bytes of elements that share them fit as well.
    const bool bytes = is_packed(v.type) && t.type() == DType::kU8;
    fits = bytes ? t.count() == dense_bytes(v.type, wanted) : fits && t.count() == count;
  } else {
    fits = fits && shaped;
    for (int i = 0; fits && i < t.rank(); ++i) {
      fits = t.extent(i) == extents[static_cast<size_t>(i)] && t.extent(i) >= 0;
    }
  }
  if (!fits) return misfit(v, t);
  if (count > 0 && !t.data()) {
    return Failure{ErrorCode::kArgument, fmt::format("`{}` is null", v.name)};
  }
  if (!lies_at_multiple(t.data(), size_of(v.type))) {
    return misaligned(v, t.data(), size_of(v.type));
  }
  const TensorRef dense(t.data(), v.type, wanted);
  for (int i = 0; t.rank() != TensorRef::kFlat && i < t.rank(); ++i) {
    if (t.extent(i) <= 1 || count == 0 || t.stride(i) == dense.stride(i)) continue;
    return Failure{ErrorCode::kArgument,
                   fmt::format("`{}` is not dense: its stride along dim {} is {}, and {} is "
                               "wanted",
                               v.name, i, t.stride(i), dense.stride(i))};
  }
  return fine();
}

int64_t ModelArguments::bytes_of(const ModelValue& v) const {
  std::array<int64_t, TensorRef::kMaxRank> extents;
  for (size_t i = 0; i < v.shape.size(); ++i) extents[i] = extent(v, i);
  return dense_bytes(v.type, {extents.data(), v.shape.size()});
}

/// Bytes of tensor `i` of what is given. Where data tell its shape, all that it holds.
int64_t ModelArguments::room_of(size_t i) const {
  const ModelValue& v = value(model_.given[i].value);
  if (!v.open) return bytes_of(v);
  const TensorRef& t = *given_[i];
  if (t.rank() == TensorRef::kFlat) return bytes_of_row(v.type, t.count());
  std::array<int64_t, TensorRef::kMaxRank> extents;
  for (size_t d = 0; d < v.shape.size(); ++d) extents[d] = t.extent(static_cast<int>(d));
  return dense_bytes(v.type, {extents.data(), v.shape.size()});
}

Result<Done> ModelArguments::check_room(size_t i) const {
  const ModelValue& v = value(model_.given[i].value);
  if (bytes_of(v) <= room_of(i)) return fine();
  std::vector<int64_t> extents;
  for (size_t d = 0; d < v.shape.size(); ++d) extents.push_back(extent(v, d));
  return Failure{ErrorCode::kArgument,
                 fmt::format("`{}` is {}[{}] in this call, and the tensor given holds {} elements",
                             v.name, name_of(v.type), fmt::join(extents, ","), given_[i]->count())};
}

Result<Done> ModelArguments::check_shapes(std::span<const NamedTensor> outputs,
                                          std::span<const TensorShape> shapes) const {
  if (!shapes.empty() && shapes.size() != outputs.size()) {
    return Failure{ErrorCode::kArgument,
                   fmt::format("there is room for the shapes of {} outputs, and {} are given",
                               shapes.size(), outputs.size())};
  }
  for (const ModelParam& p : model_.given) {
    if (!shapes.empty() || !p.written || !value(p.value).open) continue;
    return Failure{ErrorCode::kArgument,
                   fmt::format("data tell a dim of the output {}; give CallOptions::shapes room "
                               "for the shape of each output",
                               text_of(value(p.value)))};
  }
  return fine();
}

void ModelArguments::put_shapes(std::span<const NamedTensor> outputs,
                                std::span<TensorShape> shapes) const {
  for (size_t k = 0; k < shapes.size(); ++k) {
    size_t i = 0;
    while (given_[i] != &outputs[k].tensor) ++i;
    const ModelValue& v = value(model_.given[i].value);
    shapes[k].rank = static_cast<int>(v.shape.size());
    for (size_t d = 0; d < v.shape.size(); ++d) shapes[k].extents[d] = extent(v, d);
  }
}

/// Outputs lie apart from all else, since a step may write one before another reads.
Result<Done> ModelArguments::check_overlap() const {
  for (size_t i = 0; i < model_.given.size(); ++i) {
    if (!model_.given[i].written) continue;
    const auto* begin = static_cast<const std::byte*>(given_[i]->data());
    const auto* end = begin + room_of(i);
    for (size_t j = 0; j < model_.given.size(); ++j) {
      const auto* other = static_cast<const std::byte*>(given_[j]->data());
      const auto* other_end = other + room_of(j);
      if (i == j || begin == end || other == other_end) continue;
      if (begin >= other_end || other >= end) continue;
      return Failure{ErrorCode::kArgument, fmt::format("the output `{}` overlaps with `{}`",
                                                       value(model_.given[i].value).name,
                                                       value(model_.given[j].value).name)};
    }
  }
  return fine();
}

TensorRef ModelArguments::tensor(int v, std::byte* block) const {
  const ModelValue& at = value(v);
  std::array<int64_t, TensorRef::kMaxRank> extents;
  for (size_t i = 0; i < at.shape.size(); ++i) extents[i] = extent(at, i);
  const ModelValue& home = value(at.home);
  void* data = home.offset < 0 ? nullptr : block + home.offset;
  bool written = true;
  for (size_t i = 0; home.offset < 0 && i < model_.given.size(); ++i) {
    if (model_.given[i].value != at.home) continue;
    data = data_[i];
    written = model_.given[i].written;
  }
  if (at.at) data = static_cast<std::byte*>(data) + evaluate(at.at, dims()) * size_of(at.type);
  const std::span<const int64_t> shape(extents.data(), at.shape.size());
  if (!at.strides.empty()) return TensorRef(data, at.type, shape, at.strides);
  if (!written) return TensorRef(static_cast<const void*>(data), at.type, shape);
  if (at.order.empty()) return TensorRef(data, at.type, shape);
  std::array<int64_t, TensorRef::kMaxRank> strides;
  int64_t stride = 1;
  for (size_t i = at.order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(at.order[i]);
    strides[d] = stride;
    stride *= extents[d];
  }
  return TensorRef(data, at.type, shape, {strides.data(), shape.size()});
}

StepArguments::StepArguments(const ModelArguments& call, const ModelCall& step, std::byte* block)
    : count_(step.args.size()) {
  for (size_t i = 0; i < count_; ++i) {
    const auto* made =
        new (room_ + i * sizeof(TensorRef)) TensorRef(call.tensor(step.args[i], block));
    refs_[i] = ArgRef(*made);
  }
}

}  // namespace hone::runtime
