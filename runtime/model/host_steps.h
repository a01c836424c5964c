// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "include/hone/model.h"
#include "ops/graph/graph.h"
#include "ops/host/host_function.h"
#include "runtime/fine.h"

namespace hone::runtime {

class ModelArguments;
struct ModelState;

/// A function of the host between the kernels of a model.
struct ModelHost {
  const ops::HostFunction* function = nullptr;
  std::vector<int64_t> numbers;   ///< its parameters
  std::vector<int> reads, makes;  ///< values; -1: nobody reads it
  /// Per argument: a weight, which the model keeps; none: a tensor of the call.
  std::vector<std::optional<TensorRef>> weights = {};
  std::vector<std::shared_ptr<const std::byte[]>> kept = {};
  int dim = -1;                      ///< of the model: the one that it tells; -1: it has one value
  int64_t least = 0, most = 0;       ///< the values of that dim
  int64_t scratch = 0;               ///< bytes
  size_t before = 0;                 ///< it runs before this kernel; their count: behind all
  std::vector<size_t> settles = {};  ///< places in ModelState::given whose shapes are known then
  std::string use = {};              ///< the statement, for messages
};

/// The step of a node that is a function of the host, behind `before` kernels. Its dim and the
/// outputs that it settles are left out. `dims` says what the graph's dims are. Fails where it
/// takes too much memory.
Result<ModelHost> make_host(const ops::Graph& graph, const ops::GraphNode& node,
                            const std::vector<ir::Dim>& dims, size_t before);

/// Keeps a copy of argument `read`, a dense weight. Its bytes.
int64_t keep_weight(ModelHost& host, size_t read, const TensorRef& weight);

/// What callers are told of it.
ModelHostStep host_step_of(const ops::Graph& graph, const ops::GraphNode& node,
                           const ModelHost& host);

/// Does an extent name a dim of the model that data tell?
bool names_data_dim(const ModelState& model, const ir::Expr& extent);

/// Has each output whose shape data tell settled by the last function that tells a dim of it.
void settle_outputs(ModelState& model);

/// Values that are read or made from one step to another.
struct TouchedValues {
  std::vector<int> values;
  int first = 0, last = 0;  ///< steps; a function of the host belongs to the one behind it
};

/// The values of each wave and of each function of the host, in the order in which they run.
std::vector<TouchedValues> touched_values(const ModelState& model);

/// Bytes of workspace of the step that takes most.
int64_t most_workspace(const ModelState& model);

/// A failure of a host function, with the statement that uses it.
Failure in_host(const std::string& use, Failure failure);

/// The extent that a function tells, if it is in the range of its dim.
Result<int64_t> count_of(const ops::HostFunction& function, const ops::HostCall& call,
                         int64_t least, int64_t most);

/// Runs a function in a call whose memory begins at `block`. `scratch` has the bytes that it takes.
Result<Done> run_host(ModelArguments& call, const ModelHost& host, std::byte* block,
                      std::span<std::byte> scratch);

}  // namespace hone::runtime
