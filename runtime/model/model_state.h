// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "include/hone/model.h"
#include "ops/graph/graph.h"
#include "runtime/engine/engine_state.h"
#include "runtime/engine/kernel_state.h"
#include "runtime/model/host_steps.h"
#include "runtime/model/memory_plan.h"
#include "runtime/model/model_file.h"

namespace hone::runtime {

class DeviceModel;

/// The most dims that calls or their data tell, and the most tensors that they give: a call has
/// them on its stack. Chosen: a few KB (not measured).
inline constexpr size_t kMostModelDims = 64, kMostModelGiven = 256;

/// A tensor of a model.
struct ModelValue {
  std::string name;
  DType type = DType::kF32;
  std::vector<ir::Expr> shape;   ///< over numbered dims
  std::vector<bool> by_data;     ///< per dim: data tell it in the course of a call
  bool open = false;             ///< they tell one of them
  std::vector<int> order;        ///< of dims in memory, the outermost first; empty: as they stand
  std::vector<int64_t> strides;  ///< per dim, in elements, where it is not dense; else none
  int home = -1;                 ///< the value in whose memory it lies, itself or another
  ir::Expr at;  ///< the element of that memory where it begins, over numbered dims; null: 0
  /// Of a home: where it lies in a call's block; -1: given by the caller, or inside a kernel.
  int64_t offset = -1;
  int64_t bytes = 0;          ///< there, at most
  int first = -1, last = -1;  ///< steps that make it and read it last
};

/// A tensor that calls give.
struct ModelParam {
  int value = 0;
  bool written = false;
  int64_t align = 1;  ///< bytes, of its address where kernels read or write it
};

/// One kernel of a model.
struct ModelCall {
  std::shared_ptr<const KernelState> kernel;
  std::shared_ptr<const BoundState> bound;  ///< null: it takes no constants
  std::vector<int> args;                    ///< values, in the kernel's order, without constants
  std::vector<int> nodes;                   ///< of the graph, in their order
};

/// Neighbouring calls that run at the same time, each on one thread; or one call over all threads.
struct ModelWave {
  int first = 0, count = 1;
  ThreadPool* pool = nullptr;  ///< of several calls
  int workers = 1;             ///< of the pool
  int64_t workspace = 0;       ///< of a call in it, in bytes; several have one each
};

/// A loaded model: immutable.
struct ModelState {
  std::string text;
  Key key;                          ///< of records of its plan
  std::string plan;                 ///< how `graph` runs; see ops/graph/plan.h
  bool fused = true;                ///< as ModelOptions::fuse
  ops::Graph graph;                 ///< as it runs: without what was computed at load
  std::vector<ir::Dim> bound_dims;  ///< all of the graph's
  std::vector<ir::Dim> dims;        ///< those that calls tell, then those that their data tell
  size_t told = 0;                  ///< of these, the ones that calls tell
  std::vector<ModelValue> values;
  std::vector<ModelParam> given;  ///< inputs, then outputs
  std::vector<ModelCall> calls;
  std::vector<ModelWave> waves;  ///< of all calls, in their order
  std::vector<ModelHost> hosts;  ///< in their order
  std::vector<Param> params;
  std::vector<ModelStep> steps;
  std::vector<ModelHostStep> host_steps;
  ModelMemory memory;
  std::shared_ptr<Services> services;
  std::shared_ptr<const DeviceModel> device;  ///< where it runs on a GPU

  /// Compiles a graph. Fails with what is wrong with its dims and weights, all at once.
  static Result<std::shared_ptr<const ModelState>> load(EngineState& engine,
                                                        const ops::Graph& graph,
                                                        const ModelOptions& options);
  /// The same for a file; its own weights count where the options have none of the name.
  static Result<std::shared_ptr<const ModelState>> load(EngineState& engine, const ModelFile& file,
                                                        ModelOptions options);
  Result<Done> run(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
                   const CallOptions& options) const;
  /// Puts a call into a stream of the GPU; see Model::enqueue.
  Result<Done> enqueue(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
                       const EnqueueOptions& options) const;
  /// Waits for a stream; what became of the calls in it.
  Result<Done> wait(void* stream) const;
};

/// The ranges of a graph's dims by `words`: `B=8 S=1..128`. Every dim has one; those that data tell
/// have all values that they may have, where the words say nothing of them.
Result<std::vector<ir::Dim>> bind_dims(const ops::Graph& graph, const std::string& words);

/// Bytes of a dense tensor.
int64_t dense_bytes(DType type, std::span<const int64_t> extents);

}  // namespace hone::runtime
