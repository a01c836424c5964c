// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hone/call.h"
#include "hone/error.h"
#include "hone/export.h"
#include "hone/kernel.h"
#include "hone/param.h"
#include "hone/tensor.h"

namespace hone {

class Engine;

namespace runtime {
struct ModelState;
}  // namespace runtime

/// A tensor by the name that the graph has for it.
struct NamedTensor {
  std::string_view name;
  TensorRef tensor;
};

/// Options of Engine::load; all optional.
struct ModelOptions {
  /// What dims of the graph are, as in a problem: `B=8`, or `B=1..64` where each call tells it by
  /// the shapes of its inputs. A graph's dims that are not named here are an error.
  std::string dims = {};
  /// The tensors that the graph calls `const`. Load copies or packs them.
  std::vector<NamedTensor> weights = {};
  /// Inputs of a model of ONNX whose values are known now, such as shapes and axes that the file
  /// takes for inputs. Calls leave them out.
  std::vector<NamedTensor> known = {};
  /// Whether nodes may share a kernel; else each has its own, but where `plan` says otherwise.
  bool fuse = true;
  /// How the graph runs, as Model::plan has it. Empty: as tuning found, else by the rules.
  std::string plan = {};
};

/// One kernel of a model, in the order of its steps.
struct ModelStep {
  std::vector<std::string> ops;    ///< of the nodes that it computes
  std::vector<std::string> reads;  ///< tensors of the graph, in the order of the kernel's arguments
  std::vector<std::string> makes;
  Kernel kernel;
};

/// A function of the host that a model runs between its kernels. Data tell an extent of its
/// results.
struct ModelHostStep {
  std::string function;            ///< `nonzero`
  std::vector<std::string> reads;  ///< tensors of the graph
  std::vector<std::string> makes;  ///< `_` where nothing reads a result
  std::string dim;                 ///< of the graph, which it tells
  int64_t most = 0;                ///< that dim at most
  size_t before = 0;               ///< it runs before this one of Model::steps; their count: last
};

/// Bytes that a model takes, besides code.
struct ModelMemory {
  /// Copied or packed for each kernel that reads one, shared by all calls. What another model of
  /// the engine has, of the same elements and packed alike, is shared with it and not counted.
  int64_t weights = 0;
  int64_t values = 0;      ///< of a call: tensors between steps, which share memory
  int64_t values_sum = 0;  ///< of these tensors if none shared memory
  int64_t workspace = 0;   ///< of a call: the most of a kernel, or of kernels at the same time
  int64_t call = 0;        ///< of a call, all together
};

/// A graph of ops, compiled: its kernels, its weights and a plan of its memory. A cheap handle,
/// safe to copy and to call from any thread at the same time. It outlives the engine.
class HONE_API Model {
 public:
  /// Runs the model. Inputs and outputs come by name, in any order, each once; they are dense.
  /// Checks names, dtypes, shapes and overlap, and takes dims known at the call from the shapes of
  /// inputs. On a GPU each tensor lies in the host's memory or the device's; those of the host are
  /// copied there and back. Allocates nothing in the steady state. Throws Error: kArgument,
  /// kMemory, kDevice; kBounds where an index in the data is out of range, and then outputs may be
  /// written in part.
  ///
  /// Where data tell an extent of an output (Extent::by_data), its tensor has any extent there, and
  /// holds at least as many elements as come. Extent::most always suffices. What comes lies densely
  /// from its beginning on, and `options.shapes` takes its shape, so such models are called by
  /// `run`. kArgument where it holds fewer, and then nothing is written past its end.
  void operator()(std::initializer_list<NamedTensor> inputs,
                  std::initializer_list<NamedTensor> outputs) const {
    run({inputs.begin(), inputs.size()}, {outputs.begin(), outputs.size()});
  }
  /// The same for lists; `options.workspace` has memory().call bytes, on a GPU the device's.
  void run(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
           const CallOptions& options = {}) const;
  Result<Done> try_run(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
                       const CallOptions& options = {}) const;

  /// Puts a call of a model on a GPU into a stream and returns at once. From the second call with
  /// the same dims in a stream on, it is one launch of a graph. Where tensors or workspace lie
  /// elsewhere than in the call before, the arguments of that graph are changed first. Pointers are
  /// the device's and are not looked at, beyond their alignment. `options.workspace` has
  /// memory().call bytes. `options.status` takes what all kernels say that check data. Where data
  /// was bad, what later calls in the stream make is of no use until `wait`. Throws Error:
  /// kArgument, kMemory, kDevice; kUnsupported on a CPU.
  void enqueue(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
               const EnqueueOptions& options = {}) const;
  Result<Done> try_enqueue(std::span<const NamedTensor> inputs,
                           std::span<const NamedTensor> outputs,
                           const EnqueueOptions& options = {}) const;
  /// Waits until a stream is done. Throws the errors of this model's calls in it, as Kernel::wait
  /// does. kBounds tells of the first kernel whose data was bad, kDevice of a GPU that failed.
  void wait(void* stream) const;
  Result<Done> try_wait(void* stream) const;

  /// Canonical text of the graph.
  const std::string& text() const;
  /// Inputs, weights and outputs, in the order of the text. Of weights `constant` is set.
  std::span<const Param> params() const;
  /// Its kernels.
  std::span<const ModelStep> steps() const;
  /// Its functions of the host, in the order in which they run.
  std::span<const ModelHostStep> host_steps() const;
  /// Which nodes share a kernel, and in what order values lie in memory. In `a+b c | a@0,2,3,1` one
  /// kernel makes `a` and `b`, and dim 1 of `a` is innermost. ModelOptions::plan takes it.
  const std::string& plan() const;
  /// Bytes that it takes.
  ModelMemory memory() const;

 private:
  friend class Engine;
  explicit Model(std::shared_ptr<const runtime::ModelState> state) : state_(std::move(state)) {}
  std::shared_ptr<const runtime::ModelState> state_;
};

}  // namespace hone
