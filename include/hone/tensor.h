// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>

#include "hone/dtype.h"
#include "hone/element.h"

namespace hone {

/// Containers of elements that lie one after the other: std::vector, std::array, std::span.
template <class R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    Element<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// What has extents and strides.
template <class V>
concept Strided = requires(const V& v) {
  v.data_handle();
  { v.extents().extent(0) } -> std::convertible_to<int64_t>;
  { v.stride(0) } -> std::convertible_to<int64_t>;
  { V::rank() } -> std::convertible_to<size_t>;
};

/// Views of elements, told by their members: std::mdspan and its forerunners.
template <class V>
concept StridedView =
    Strided<V> && Element<std::remove_pointer_t<decltype(std::declval<const V&>().data_handle())>>;

/// A tensor of the caller: pointer, dtype, shape and strides in elements. It owns nothing and lives
/// as long as a call. A flat one (from a container) fits any dense parameter that has as many
/// elements; they then lie in the parameter's storage order. A read-only one (from const data) fits
/// inputs only; the call checks this.
///
/// Of a type of less than a byte, shape and strides count elements too. Its rows, along the dim of
/// stride 1, begin at whole bytes: `TensorRef(data, DType::kU4, {3, 5})` has strides (6, 1) and 9
/// bytes. A tensor of these bytes fits too: u8 of shape {3, 3}, or a flat one of 9.
class TensorRef {
 public:
  static constexpr int kMaxRank = 12;
  /// The rank of a flat tensor.
  static constexpr int kFlat = -1;

  /// `shape` in elements, dense and row-major.
  template <Element T>
  TensorRef(T* data, std::initializer_list<int64_t> shape)
      : TensorRef(data, dtype_of<std::remove_cv_t<T>>::value, std::span(shape.begin(), shape.end()),
                  {}, !std::is_const_v<T>) {}

  /// `shape` and `strides`, both in elements and outermost first; no strides: dense.
  template <Element T>
  TensorRef(T* data, std::span<const int64_t> shape, std::span<const int64_t> strides = {})
      : TensorRef(data, dtype_of<std::remove_cv_t<T>>::value, shape, strides, !std::is_const_v<T>) {
  }

  /// Likewise, both written out: `TensorRef(data, {3, 4}, {8, 1})`.
  template <Element T>
  TensorRef(T* data, std::initializer_list<int64_t> shape, std::initializer_list<int64_t> strides)
      : TensorRef(data, std::span(shape.begin(), shape.end()),
                  std::span(strides.begin(), strides.end())) {}

  /// Likewise, for data whose C++ type says nothing of the dtype.
  TensorRef(void* data, DType type, std::span<const int64_t> shape,
            std::span<const int64_t> strides = {})
      : TensorRef(data, type, shape, strides, true) {}
  TensorRef(const void* data, DType type, std::span<const int64_t> shape,
            std::span<const int64_t> strides = {})
      : TensorRef(data, type, shape, strides, false) {}
  TensorRef(void* data, DType type, std::initializer_list<int64_t> shape,
            std::initializer_list<int64_t> strides = {})
      : TensorRef(data, type, std::span(shape.begin(), shape.end()),
                  std::span(strides.begin(), strides.end()), true) {}
  TensorRef(const void* data, DType type, std::initializer_list<int64_t> shape,
            std::initializer_list<int64_t> strides = {})
      : TensorRef(data, type, std::span(shape.begin(), shape.end()),
                  std::span(strides.begin(), strides.end()), false) {}

  /// A flat tensor: std::vector, std::array, std::span and the like.
  template <class R>
  requires ElementRange<R> &&(!std::same_as<std::remove_cvref_t<R>, TensorRef>)
      TensorRef(R&& range)  // NOLINT: implicit, so that containers are arguments of a call
      : data_(std::ranges::data(range)),
        count_(static_cast<int64_t>(std::ranges::size(range))),
        rank_(kFlat),
        type_(dtype_of<std::remove_cvref_t<std::ranges::range_reference_t<R>>>::value),
        writable_(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>) {}

  /// std::mdspan and views with the same members.
  template <StridedView V>
  requires(!ElementRange<V>) TensorRef(const V& view)  // NOLINT: implicit, as above
      : data_(view.data_handle()),
        rank_(static_cast<int8_t>(V::rank())),
        type_(
            dtype_of<std::remove_cv_t<std::remove_pointer_t<decltype(view.data_handle())>>>::value),
        writable_(!std::is_const_v<std::remove_pointer_t<decltype(view.data_handle())>>) {
    static_assert(V::rank() <= kMaxRank, "tensors have at most 12 dims");
    count_ = 1;
    for (int i = 0; i < rank_; ++i) {
      shape_[i] = static_cast<int64_t>(view.extents().extent(static_cast<size_t>(i)));
      strides_[i] = static_cast<int64_t>(view.stride(static_cast<size_t>(i)));
      count_ = product(count_, shape_[i]);
    }
  }

  /// Copies what means something: calls pass tensors by value, and the arrays are long.
  TensorRef(const TensorRef& other) { *this = other; }
  TensorRef& operator=(const TensorRef& other) {
    data_ = other.data_;
    count_ = other.count_;
    rank_ = other.rank_;
    type_ = other.type_;
    writable_ = other.writable_;
    const int dims = rank_ <= kMaxRank ? rank_ : 0;  // a shape that does not fit was not kept
    for (int i = 0; i < dims; ++i) {
      shape_[i] = other.shape_[i];
      strides_[i] = other.strides_[i];
    }
    return *this;
  }

  const void* data() const { return data_; }
  DType type() const { return type_; }
  /// Number of dims; kFlat for a flat tensor, kMaxRank + 1 where more were given than there can be.
  int rank() const { return rank_; }
  /// Number of elements.
  int64_t count() const { return count_; }
  /// Extent and stride (in elements) of dim `i`; not of a flat tensor.
  int64_t extent(int i) const { return shape_[i]; }
  int64_t stride(int i) const { return strides_[i]; }
  /// False where the data was given as const.
  bool writable() const { return writable_; }

 private:
  TensorRef(const void* data, DType type, std::span<const int64_t> shape,
            std::span<const int64_t> strides, bool writable)
      : data_(data), type_(type), writable_(writable) {
    const bool fits =
        shape.size() <= kMaxRank && (strides.empty() || strides.size() == shape.size());
    rank_ = static_cast<int8_t>(fits ? shape.size() : kMaxRank + 1);
    count_ = 1;
    int64_t step = 1;
    for (int i = fits ? rank_ - 1 : -1; i >= 0; --i) {
      shape_[i] = shape[i];
      strides_[i] = strides.empty() ? step : strides[i];
      count_ = product(count_, shape[i]);
      step = product(step, i == rank_ - 1 ? whole_bytes(shape[i]) : shape[i]);
    }
  }

  /// The elements of a row, filled up to whole bytes.
  int64_t whole_bytes(int64_t extent) const {
    return is_packed(type_) ? product(bytes_of_row(type_, extent), elements_per_byte(type_))
                            : extent;
  }

  /// Wraps where it would overflow: the call then refuses the shape, which it compares.
  static int64_t product(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }

  const void* data_;
  int64_t count_;
  int8_t rank_;
  DType type_;
  bool writable_;
  // Only the first rank() entries mean anything: the rest is left as it is, to keep calls cheap.
  int64_t shape_[kMaxRank];
  int64_t strides_[kMaxRank];
};

/// The shape of a tensor: its first `rank` extents, in elements, outermost first.
struct TensorShape {
  int rank = 0;
  std::array<int64_t, TensorRef::kMaxRank> extents{};
};

/// The value of a scalar parameter, converted to the parameter's dtype by the call.
struct ScalarArg {
  template <class T>
  requires std::is_arithmetic_v<T> ScalarArg(
      T value) {  // NOLINT: implicit, so that numbers are arguments of a call
    if constexpr (std::is_floating_point_v<T>) {
      real = static_cast<double>(value);
      is_real = true;
    } else {
      integer = static_cast<int64_t>(value);
    }
  }

  double real = 0;
  int64_t integer = 0;
  bool is_real = false;
};

}  // namespace hone
