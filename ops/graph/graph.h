// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "include/hone/dtype.h"
#include "include/hone/error.h"
#include "ops/op.h"
#include "ops/syntax.h"

namespace hone::ops {

/// A tensor of a graph.
struct GraphValue {
  enum Kind : uint8_t {
    kInput,     ///< given at each call
    kConstant,  ///< `const`: given once, a weight
    kMade,      ///< a result of a node
  };
  std::string name;
  Span span;
  Kind kind = kInput;
  bool output = false;  ///< asked for by the caller
  DType type = DType::kF32;
  std::vector<ir::Expr> shape;  ///< over dims of the graph
  std::vector<int> order;       ///< of dims in memory, the outermost first; empty: as they stand
  /// Elements between neighbours along each dim, where it lies in rows of another value; else none.
  std::vector<int64_t> strides;
  std::vector<int> readers;  ///< nodes, in their order
};

struct HostFunction;

/// The use of a function of the host in the place of an op; see ops/host/host_function.h.
struct HostUse {
  const HostFunction* function = nullptr;
  std::vector<int64_t> numbers;  ///< its parameters
  std::string dim;               ///< of the graph: the one that its data tell
};

/// A dim of a graph that data tell when a node has run.
struct DataDim {
  std::string name;
  ir::Expr most;  ///< it is no larger, over dims of the graph before it
};

/// The use of an op.
struct GraphNode {
  Op op;
  Statement use;           ///< with an index for each dim of each result
  std::vector<int> reads;  ///< values, one for each tensor that the op takes
  std::vector<int> makes;  ///< values, one for each result of the op; -1: nobody reads it
  /// What dims and integer parameters of the op are, over dims of the graph.
  std::vector<std::pair<std::string, ir::Expr>> numbers;
  /// Its dtype parameters.
  std::vector<std::pair<std::string, DType>> types;
  bool plain = true;  ///< no scalars, no repetition over other indices: the op and no more
  /// A function of the host. Then `op` has arguments and no statements.
  std::optional<HostUse> host;
};

/// Ops wired together, free of schedules. Nodes stand in an order in which they can run.
struct Graph {
  std::string name;
  std::vector<std::string> dims;   ///< that shapes name
  std::vector<DataDim> data_dims;  ///< of these, in the order in which they are told
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;
  std::map<std::string, int, std::less<>> places;  ///< of values, by their names
  Library own;                                     ///< ops that its text defines
  std::string text;  ///< canonical: `op`s of its own, then `graph name(...) -> (...) { ... }`

  /// The value of that name, or -1.
  int find(std::string_view name) const;
};

/// Parses `fn`s, `op`s, and one graph; infers what its nodes make. Ops are looked up among those
/// before the graph, in `library` (may be null), then in the stock library. `origin` names the text
/// in errors, which underline it and are told all at once.
Result<Graph> parse_graph(std::string_view text, std::string_view origin = "",
                          const Library* library = nullptr);

class Diagnostics;
class KnownOps;

/// The graph of a definition whose statements use ops, all of them in `ops`.
Graph graph_of(const Definition& d, KnownOps& ops, Diagnostics& diagnostics);

}  // namespace hone::ops
