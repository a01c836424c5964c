// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "hone/tensor.h"

namespace hone {

/// One argument of a call: a tensor or a scalar.
using Arg = std::variant<TensorRef, ScalarArg>;

/// A reference to an argument, for the time of a call; operator() makes them of its arguments.
class ArgRef {
 public:
  ArgRef() = default;
  ArgRef(const TensorRef& tensor) : value_(&tensor), tensor_(true) {}  // NOLINT: implicit
  ArgRef(const ScalarArg& scalar) : value_(&scalar) {}                 // NOLINT: implicit
  /// The tensor; null for a scalar.
  const TensorRef* tensor() const {
    return tensor_ ? static_cast<const TensorRef*>(value_) : nullptr;
  }
  /// The scalar, where it is one.
  const ScalarArg& scalar() const { return *static_cast<const ScalarArg*>(value_); }

 private:
  const void* value_ = nullptr;
  bool tensor_ = false;
};

/// How one call runs; all optional.
struct CallOptions {
  /// Memory of at least workspace_size() bytes, 64-byte aligned; empty: from the engine's pool.
  std::span<std::byte> workspace = {};
  /// Runs the launches on the calling thread alone.
  bool serial = false;
  /// Of a model: takes the shape of each output, in the order in which the call gives them. Empty:
  /// it is not asked for, and then data may tell no extent of an output.
  std::span<TensorShape> shapes = {};
};

/// How one call on a GPU is put into a stream; all optional. Memory is the device's.
struct EnqueueOptions {
  /// A stream of the driver (CUstream, cudaStream_t); null: the default one.
  void* stream = nullptr;
  /// Memory of at least workspace_size() bytes, 64-byte aligned, that nothing else uses until the
  /// call is done. Empty: from the engine's pool, as memory of the stream. A stream that
  /// Device::stream did not make must then be done before it is destroyed. A stream that is being
  /// captured is refused, since its graph needs memory that lives as long as the graph.
  std::span<std::byte> workspace = {};
  /// The status word of a kernel that checks data: an int64 that holds INT64_MAX before the call.
  /// Bad data leaves its lowest bad position there. Later calls with this word then do nothing
  /// until the caller sets it back; `wait` does not. Null: a word that the kernel keeps for the
  /// stream, which `wait` reads and sets back. The first 63 streams of a kernel have a word each;
  /// all other streams, and all graphs, share one. Bad data then stops all calls that share the
  /// word until a `wait`. The first `wait` takes the report for all of them; later ones say nothing
  /// of it. Call `wait` before a stream is destroyed, since a later stream may get its handle and
  /// the old report. Kernels that check data take the per-thread default stream only with a word of
  /// the caller's. That stream is another one in each thread, under one handle.
  int64_t* status = nullptr;
};

}  // namespace hone
