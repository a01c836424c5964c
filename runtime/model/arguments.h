// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "runtime/model/model_state.h"

namespace hone::runtime {

/// The tensors of one call, checked against the model. Nothing of it allocates when all is well.
class ModelArguments {
 public:
  explicit ModelArguments(const ModelState& model) : model_(model) {
    for (size_t i = 0; i < model.dims.size(); ++i) dims_[i] = -1;
  }
  ModelArguments(const ModelArguments&) = delete;
  ModelArguments& operator=(const ModelArguments&) = delete;

  /// Takes dims from shapes and checks all. Fails with what is wrong. The tensors outlive this.
  Result<Done> take(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs);

  /// Whether all that is given lies where kernels on a GPU can take it.
  Result<Done> check_alignment() const;

  const ModelState& model() const { return model_; }
  /// The dims of the call, in the model's order.
  std::span<const int64_t> dims() const { return {dims_.data(), model_.dims.size()}; }
  /// Where what is given lies, in the model's order.
  std::span<void* const> data() const { return {data_.data(), model_.given.size()}; }
  /// Has tensor `i` of what is given lie elsewhere.
  void move(size_t i, void* to) { data_[i] = to; }
  /// Bytes of tensor `i` of what is given.
  int64_t bytes(size_t i) const { return bytes_of(value(model_.given[i].value)); }
  /// Sets a dim of the model that data tell.
  void tell(int dim, int64_t value) { dims_[static_cast<size_t>(dim)] = value; }
  /// Does tensor `i` of what is given hold the elements that come? All its dims are told.
  Result<Done> check_room(size_t i) const;
  /// May the call tell shapes of outputs here? They must be told where data tell them.
  Result<Done> check_shapes(std::span<const NamedTensor> outputs,
                            std::span<const TensorShape> shapes) const;
  /// The shapes of outputs as they are given; all dims are told.
  void put_shapes(std::span<const NamedTensor> outputs, std::span<TensorShape> shapes) const;
  /// A value of the model in a call whose memory begins at `block`.
  TensorRef tensor(int v, std::byte* block) const;

 private:
  const ModelValue& value(int v) const { return model_.values[static_cast<size_t>(v)]; }
  Failure no_such(std::string_view name, bool written) const;
  Result<Done> take(std::span<const NamedTensor> tensors, bool written);
  Result<Done> tell_dims(const ModelValue& v, const TensorRef& t);
  Result<Done> check_all() const;
  int64_t extent(const ModelValue& v, size_t i) const { return evaluate(v.shape[i], dims()); }
  Result<Done> check(const ModelValue& v, const TensorRef& t) const;
  Failure misfit(const ModelValue& v, const TensorRef& t) const;
  int64_t bytes_of(const ModelValue& v) const;
  int64_t room_of(size_t i) const;
  Result<Done> check_overlap() const;

  const ModelState& model_;
  std::array<const TensorRef*, kMostModelGiven> given_{};
  std::array<void*, kMostModelGiven> data_;
  std::array<int64_t, kMostModelDims> dims_;
};

/// What one step of a call takes, in the order of its kernel.
class StepArguments {
 public:
  StepArguments(const ModelArguments& call, const ModelCall& step, std::byte* block);
  StepArguments(const StepArguments&) = delete;
  StepArguments& operator=(const StepArguments&) = delete;
  std::span<const ArgRef> refs() const { return {refs_.data(), count_}; }

 private:
  /// Fixed by: the arguments that an op may have.
  static constexpr size_t kMost = 128;

  alignas(TensorRef) std::byte room_[kMost * sizeof(TensorRef)];
  std::array<ArgRef, kMost> refs_;
  size_t count_;
};

}  // namespace hone::runtime
