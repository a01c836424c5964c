// SPDX-License-Identifier: Apache-2.0
// The steady state: nothing here allocates, locks or calls the system by itself.
#include <fmt/format.h>

#include <array>
#include <new>

#include "runtime/fine.h"
#include "runtime/model/model_state.h"

namespace hone::runtime {
namespace {

std::string text_of(const ModelValue& v) {
  std::vector<std::string> extents;
  for (const ir::Expr& e : v.shape) extents.push_back(ir::print(e));
  return fmt::format("`{}: {}[{}]`", v.name, name_of(v.type), fmt::join(extents, ","));
}

/// One call under way.
class ModelRun {
 public:
  explicit ModelRun(const ModelState& model) : model_(model) {
    for (size_t i = 0; i < model.dims.size(); ++i) dims_[i] = -1;
  }

  Result<Done> run(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
                   const CallOptions& options) {
    if (auto f = take(inputs, false); !f) return f.failure();
    if (auto f = take(outputs, true); !f) return f.failure();
    if (auto f = check_all(); !f) return f.failure();
    const Block block(model_, options.workspace);
    if (!block.data()) return block.failure();
    std::byte* workspace = block.data() + model_.memory.values;
    for (const ModelCall& call : model_.calls) {
      auto f = run(call, block.data(), {workspace, static_cast<size_t>(model_.memory.workspace)},
                   options.serial);
      if (!f) return f.failure();
    }
    return fine();
  }

 private:
  /// Memory of one call: the caller's, or one from the engine's pool.
  class Block {
   public:
    Block(const ModelState& model, std::span<std::byte> given) : model_(model), given_(given) {
      if (!given.empty()) {
        const bool fits = static_cast<int64_t>(given.size()) >= model.memory.call &&
                          reinterpret_cast<uintptr_t>(given.data()) % kLine == 0;
        data_ = fits ? given.data() : nullptr;
        return;
      }
      data_ = static_cast<std::byte*>(model.services->workspaces().take(bytes()));
    }
    ~Block() {
      if (given_.empty() && data_) model_.services->workspaces().give(data_, bytes());
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    std::byte* data() const { return data_; }
    Failure failure() const {
      const WorkspacePool& pool = model_.services->workspaces();
      if (given_.empty()) {
        return Failure{
            ErrorCode::kMemory,
            fmt::format("a call of the model takes {} bytes; {} of {} allowed are in use", bytes(),
                        pool.used(), pool.ceiling())};
      }
      return Failure{
          ErrorCode::kArgument,
          fmt::format("the workspace has {} bytes at {}; {} are taken, at a multiple of "
                      "{}",
                      given_.size(), static_cast<void*>(given_.data()), model_.memory.call, kLine)};
    }

   private:
    /// Fixed by: a cache line, and the alignment of tensors in a block.
    static constexpr uintptr_t kLine = 64;
    int64_t bytes() const { return std::max<int64_t>(model_.memory.call, 1); }

    const ModelState& model_;
    std::span<std::byte> given_;
    std::byte* data_ = nullptr;
  };

  const ModelValue& value(int v) const { return model_.values[static_cast<size_t>(v)]; }

  Failure no_such(std::string_view name, bool written) const {
    std::string names;
    for (const ModelParam& p : model_.given) {
      if (p.written == written) names += (names.empty() ? "" : ", ") + value(p.value).name;
    }
    return Failure{ErrorCode::kArgument, fmt::format("the model has no {} `{}`; it has {}",
                                                     written ? "output" : "input", name, names)};
  }

  /// Finds what is given among the model's inputs or outputs.
  Result<Done> take(std::span<const NamedTensor> tensors, bool written) {
    for (const NamedTensor& t : tensors) {
      size_t at = 0;
      while (at < model_.given.size() && (model_.given[at].written != written ||
                                          value(model_.given[at].value).name != t.name)) {
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
  Result<Done> tell_dims(const ModelValue& v, const TensorRef& t) {
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

  Result<Done> check_all() const {
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
    for (size_t d = 0; d < model_.dims.size(); ++d) {
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

  int64_t extent(const ModelValue& v, size_t i) const {
    return evaluate(v.shape[i], {dims_.data(), model_.dims.size()});
  }

  Result<Done> check(const ModelValue& v, const TensorRef& t) const {
    std::array<int64_t, TensorRef::kMaxRank> extents;
    int64_t count = 1;
    for (size_t i = v.shape.size(); i-- > 0;) {
      extents[i] = extent(v, i);
      count *= extents[i];
    }
    bool fits = t.type() == v.type;
    const std::span<const int64_t> wanted(extents.data(), v.shape.size());
    if (t.rank() == TensorRef::kFlat) {
      // The bytes of elements that share them fit as well.
      const bool bytes = is_packed(v.type) && t.type() == DType::kU8;
      fits = bytes ? t.count() == dense_bytes(v.type, wanted) : fits && t.count() == count;
    } else {
      fits = fits && t.rank() == static_cast<int>(v.shape.size());
      for (int i = 0; fits && i < t.rank(); ++i) {
        fits = t.extent(i) == extents[static_cast<size_t>(i)];
      }
    }
    if (!fits) {
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
    if (count > 0 && !t.data()) {
      return Failure{ErrorCode::kArgument, fmt::format("`{}` is null", v.name)};
    }
    if (reinterpret_cast<uintptr_t>(t.data()) % static_cast<uintptr_t>(size_of(v.type)) != 0) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("`{}` is at {}, which is no multiple of {} bytes", v.name,
                                 t.data(), size_of(v.type))};
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

  int64_t bytes_of(const ModelValue& v) const {
    std::array<int64_t, TensorRef::kMaxRank> extents;
    for (size_t i = 0; i < v.shape.size(); ++i) extents[i] = extent(v, i);
    return dense_bytes(v.type, {extents.data(), v.shape.size()});
  }

  /// Outputs lie apart from all else, since a step may write one before another reads.
  Result<Done> check_overlap() const {
    for (size_t i = 0; i < model_.given.size(); ++i) {
      if (!model_.given[i].written) continue;
      const auto* begin = static_cast<const std::byte*>(given_[i]->data());
      const auto* end = begin + bytes_of(value(model_.given[i].value));
      for (size_t j = 0; j < model_.given.size(); ++j) {
        const auto* other = static_cast<const std::byte*>(given_[j]->data());
        const auto* other_end = other + bytes_of(value(model_.given[j].value));
        if (i == j || begin == end || other == other_end) continue;
        if (begin >= other_end || other >= end) continue;
        return Failure{ErrorCode::kArgument, fmt::format("the output `{}` overlaps with `{}`",
                                                         value(model_.given[i].value).name,
                                                         value(model_.given[j].value).name)};
      }
    }
    return fine();
  }

  TensorRef tensor(int v, std::byte* block) const {
    const ModelValue& at = value(v);
    std::array<int64_t, TensorRef::kMaxRank> extents;
    for (size_t i = 0; i < at.shape.size(); ++i) extents[i] = extent(at, i);
    const ModelValue& home = value(at.home);
    void* data = block + home.offset;
    bool written = true;
    for (size_t i = 0; home.offset < 0 && i < model_.given.size(); ++i) {
      if (model_.given[i].value != at.home) continue;
      data = const_cast<void*>(given_[i]->data());
      written = model_.given[i].written;
    }
    const std::span<const int64_t> shape(extents.data(), at.shape.size());
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

  Result<Done> run(const ModelCall& call, std::byte* block, std::span<std::byte> workspace,
                   bool serial) const {
    alignas(TensorRef) std::byte room[kMostArgs * sizeof(TensorRef)];
    std::array<ArgRef, kMostArgs> refs;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const auto* made = new (room + i * sizeof(TensorRef)) TensorRef(tensor(call.args[i], block));
      refs[i] = ArgRef(*made);
    }
    const int64_t bytes = call.kernel->workspace_bytes();
    CallOptions options;
    options.serial = serial;
    if (bytes > 0) options.workspace = workspace;
    return call.kernel->call({refs.data(), call.args.size()}, options, call.bound.get());
  }

  /// Fixed by: the arguments that an op may have.
  static constexpr size_t kMostArgs = 128;

  const ModelState& model_;
  std::array<const TensorRef*, kMostModelGiven> given_{};
  std::array<int64_t, kMostModelDims> dims_;
};

}  // namespace

Result<Done> ModelState::run(std::span<const NamedTensor> inputs,
                             std::span<const NamedTensor> outputs,
                             const CallOptions& options) const {
  return ModelRun(*this).run(inputs, outputs, options);
}

}  // namespace hone::runtime
