// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/model_dot.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace hone::runtime {
namespace {

/// A text in quotes. `\n` is a new line there.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + "\"";
}

class DotWriter {
 public:
  explicit DotWriter(const ModelState& model) : graph_(model.graph), model_(model) {
    for (size_t k = 0; k < model.calls.size(); ++k) {
      for (const int n : model.calls[k].nodes) kernel_of_[n] = k;
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const int v : graph_.nodes[n].makes) {
        if (v >= 0) maker_[v] = static_cast<int>(n);
      }
    }
  }

  std::string run() {
    line("digraph " + in_quotes(graph_.name) + " {");
    line("  node [shape=box];");
    for (size_t k = 0; k < model_.calls.size(); ++k) write_kernel(k);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!kernel_of_.contains(static_cast<int>(n))) write_view(static_cast<int>(n));
    }
    for (size_t v = 0; v < model_.values.size(); ++v) {
      if (leaves(static_cast<int>(v))) write_tensor(static_cast<int>(v));
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) write_edges(static_cast<int>(n));
    line("}");
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  const ops::GraphNode& node(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }

  /// Does one kernel compute both?
  bool together(int a, int b) const {
    const auto one = kernel_of_.find(a), other = kernel_of_.find(b);
    return one != kernel_of_.end() && other != kernel_of_.end() && one->second == other->second;
  }

  /// Is it the caller's, or read by another kernel than the one that makes it?
  bool leaves(int v) const {
    const ops::GraphValue& value = graph_.values[static_cast<size_t>(v)];
    if (value.kind != ops::GraphValue::kMade || value.output) return true;
    for (const int n : value.readers) {
      if (!together(n, maker_.at(v))) return true;
    }
    return false;
  }

  void write_kernel(size_t k) {
    const ModelCall& call = model_.calls[k];
    line(fmt::format("  subgraph cluster_{} {{", k + 1));
    line(fmt::format("    label={};",
                     in_quotes(fmt::format("kernel {}, {}", k + 1, name_of(call.kernel->source)))));
    line(fmt::format("    tooltip={};", in_quotes(call.kernel->problem)));
    for (const int n : call.nodes) {
      line(fmt::format("    n{} [label={}];", n, in_quotes(node(n).op.name())));
    }
    line("  }");
  }

  /// What takes no kernel: its result lies where its argument does.
  void write_view(int n) {
    line(fmt::format("  n{} [style=dotted, label={}];", n, in_quotes(node(n).op.name())));
  }

  void write_tensor(int v) {
    const ModelValue& value = model_.values[static_cast<size_t>(v)];
    const bool weight = graph_.values[static_cast<size_t>(v)].kind == ops::GraphValue::kConstant;
    std::string extents;
    for (const ir::Expr& e : value.shape) extents += (extents.empty() ? "" : ",") + ir::print(e);
    std::string label = fmt::format("{}\n{}[{}]", value.name, name_of(value.type), extents);
    if (value.offset >= 0) label += fmt::format("\n{} bytes at {}", value.bytes, value.offset);
    line(fmt::format("  v{} [shape=ellipse{}, label={}];", v, weight ? ", style=dashed" : "",
                     in_quotes(label)));
  }

  void write_edges(int n) {
    for (const int v : std::set<int>(node(n).reads.begin(), node(n).reads.end())) {
      const auto made = maker_.find(v);
      const bool inside = made != maker_.end() && together(made->second, n);
      if (inside) {
        const std::string& name = model_.values[static_cast<size_t>(v)].name;
        line(fmt::format("  n{} -> n{} [label={}];", made->second, n, in_quotes(name)));
      } else {
        line(fmt::format("  v{} -> n{};", v, n));
      }
    }
    for (const int v : node(n).makes) {
      if (v >= 0 && leaves(v)) line(fmt::format("  n{} -> v{};", n, v));
    }
  }

  const ops::Graph& graph_;
  const ModelState& model_;
  std::map<int, size_t> kernel_of_;  ///< of a node; views have none
  std::map<int, int> maker_;         ///< of a value: the node
  std::string text_;
};

}  // namespace

std::string dot_of(const ModelState& model) { return DotWriter(model).run(); }

}  // namespace hone::runtime
