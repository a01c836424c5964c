// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/gradient.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "jit/ir/spelling.h"
#include "ops/gradient/gradient.h"
#include "ops/graph/gradient_draft.h"
#include "ops/host/host_function.h"

namespace hone::ops {
namespace {

class GraphGradient {
 public:
  GraphGradient(const Graph& graph, const GraphGradientRequest& request, const Library* library)
      : graph_(graph),
        request_(request),
        library_(library),
        draft_(graph, library),
        active_(graph.values.size()),
        reaching_(graph.values.size()),
        gradients_(graph.values.size()) {}

  Result<std::string> run() {
    for (const auto step : {&GraphGradient::find_asked, &GraphGradient::find_paths,
                            &GraphGradient::check_names, &GraphGradient::add_seeds}) {
      if (auto done = (this->*step)(); !done) return done.failure();
    }
    std::vector<WrittenNode> written(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!carries(graph_.nodes[n])) continue;
      if (const auto& host = graph_.nodes[n].host) {
        return at_node(n, {ErrorCode::kUnsupported,
                           fmt::format("`{}` runs on the host and has no derivative; places by "
                                       "`nonzero` and a gather have one",
                                       host->function->name)});
      }
      auto node = written_node(graph_, graph_.nodes[n], library_);
      if (!node) return at_node(n, node.failure());
      written[n] = *std::move(node);
      draft_.take_apart(static_cast<int>(n), written[n]);
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (!carries(graph_.nodes[n])) continue;
      if (auto done = go_back(n, written[n]); !done) return done.failure();
    }
    add_outputs();
    std::string text = draft_.text(graph_.name + "_grad");
    const auto checked = parse_graph(text, "", library_);
    if (checked) return text;
    return Failure{ErrorCode::kUnsupported,
                   fmt::format("the gradient of `{}` came out as a graph that is not right:\n{}",
                               graph_.name, checked.failure().message)};
  }

 private:
  const GraphValue& value(int v) const { return graph_.values[static_cast<size_t>(v)]; }
  bool is_active(int v) const { return v >= 0 && active_[static_cast<size_t>(v)]; }
  bool is_reaching(int v) const { return v >= 0 && reaching_[static_cast<size_t>(v)]; }
  std::vector<int>& gradients_of(int v) { return gradients_[static_cast<size_t>(v)]; }

  Result<int> find(const std::string& name, const char* what) const {
    const int v = graph_.find(name);
    if (v >= 0) return v;
    std::vector<std::string> known;
    for (const GraphValue& other : graph_.values) known.push_back(other.name);
    return Failure{ErrorCode::kNotFound, fmt::format("`{}` has no value `{}` for {}{}", graph_.name,
                                                     name, what, ir::did_you_mean(name, known))};
  }

  /// What the names of the request are, and whether they can be that.
  Result<Done> find_asked() {
    if (!request_.loss.empty()) {
      const auto loss = find(request_.loss, "the loss");
      if (!loss) return loss.failure();
      loss_ = *loss;
      if (auto done = check_loss(); !done) return done.failure();
    } else if (!request_.scale.empty()) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("`{}` scales a loss, and none is named", request_.scale)};
    }
    for (const std::string& name : request_.wrt) {
      const auto v = find(name, "a gradient");
      if (!v) return v.failure();
      if (!is_float(value(*v).type)) {
        return Failure{ErrorCode::kUnsupported,
                       fmt::format("`{}` is of {}, and there are gradients by floats alone", name,
                                   name_of(value(*v).type))};
      }
      if (std::find(wrt_.begin(), wrt_.end(), *v) == wrt_.end()) wrt_.push_back(*v);
    }
    for (const std::string& name : request_.outputs) {
      const auto v = find(name, "an output");
      if (!v) return v.failure();
      if (value(*v).kind != GraphValue::kMade) {
        return Failure{ErrorCode::kArgument,
                       fmt::format("`{}` is given by the caller, and no output", name)};
      }
      if (std::find(outputs_.begin(), outputs_.end(), *v) == outputs_.end()) {
        outputs_.push_back(*v);
      }
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const GraphValue& given = graph_.values[v];
      const bool output = request_.outputs.empty() && given.output;
      if (output) outputs_.push_back(static_cast<int>(v));
      const bool weight = given.kind == GraphValue::kConstant && is_float(given.type);
      if (request_.wrt.empty() && weight) wrt_.push_back(static_cast<int>(v));
    }
    if (!wrt_.empty()) return Done();
    return Failure{ErrorCode::kArgument,
                   fmt::format("`{}` has no weights of floats, which are `const`; name the values "
                               "that the gradients are by",
                               graph_.name)};
  }

  Result<Done> check_loss() const {
    const GraphValue& v = value(loss_);
    const bool one = std::all_of(v.shape.begin(), v.shape.end(), [](const ir::Expr& e) {
      int64_t n = 0;
      return ir::is_const(e, &n) && n == 1;
    });
    if (!one) {
      std::vector<std::string> shape;
      for (const ir::Expr& e : v.shape) shape.push_back(ir::print(e));
      return Failure{ErrorCode::kArgument,
                     fmt::format("`{}` has the shape [{}], and a loss has one element; sum it up, "
                                 "or name no loss and give the gradients of outputs",
                                 v.name, fmt::join(shape, ","))};
    }
    if (is_float(v.type) && v.kind == GraphValue::kMade) return Done();
    return Failure{ErrorCode::kArgument,
                   fmt::format("`{}` is {}; a loss is a float that nodes make", v.name,
                               is_float(v.type) ? "given by the caller"
                                                : fmt::format("of {}", name_of(v.type)))};
  }

  /// Which values are made of what is asked for, and which lead to the loss.
  Result<Done> find_paths() {
    for (const int v : wrt_) active_[static_cast<size_t>(v)] = true;
    for (const GraphNode& node : graph_.nodes) {
      const bool any =
          std::any_of(node.reads.begin(), node.reads.end(), [&](int v) { return is_active(v); });
      for (const int v : node.makes) {
        if (any && v >= 0 && is_float(value(v).type)) active_[static_cast<size_t>(v)] = true;
      }
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const bool seed = loss_ >= 0 ? static_cast<int>(v) == loss_ : graph_.values[v].output;
      if (seed && active_[v]) seeds_.push_back(static_cast<int>(v));
    }
    for (const int v : seeds_) reaching_[static_cast<size_t>(v)] = true;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const GraphNode& node = graph_.nodes[n];
      const bool any = std::any_of(node.makes.begin(), node.makes.end(),
                                   [&](int v) { return is_reaching(v) && is_active(v); });
      for (const int v : node.reads) {
        if (any && is_active(v)) reaching_[static_cast<size_t>(v)] = true;
      }
    }
    const std::string to = loss_ >= 0 ? fmt::format("`{}`", value(loss_).name) : "an output";
    const auto lost = [&](int v) { return !is_reaching(v); };
    if (request_.wrt.empty()) {
      std::erase_if(wrt_, lost);
      if (!wrt_.empty()) return Done();
      return Failure{ErrorCode::kArgument,
                     fmt::format("no path leads from a weight of `{}` to {}", graph_.name, to)};
    }
    const auto at = std::find_if(wrt_.begin(), wrt_.end(), lost);
    if (at == wrt_.end()) return Done();
    return Failure{ErrorCode::kArgument,
                   fmt::format("no path of floats leads from `{}` to {}", value(*at).name, to)};
  }

  /// Names that the text gives.
  Result<Done> check_names() {
    std::vector<std::pair<std::string, int>> made;
    for (const int v : wrt_) made.emplace_back("d" + value(v).name, v);
    for (const int v : seeds_) {
      if (loss_ < 0) made.emplace_back("d" + value(v).name, v);
    }
    std::set<std::string> seen;
    for (const auto& [name, v] : made) {
      if (!draft_.has_name(name) && seen.insert(name).second) continue;
      return Failure{
          ErrorCode::kArgument,
          fmt::format("the gradient of `{0}` is `{1}`, and `{1}` already names something "
                      "in `{2}`; give one of both another name",
                      value(v).name, name, graph_.name)};
    }
    return Done();
  }

  /// What gradients begin with.
  Result<Done> add_seeds() {
    for (const int v : seeds_) {
      if (loss_ < 0) {
        gradients_of(v).push_back(draft_.add_input("d" + value(v).name, v));
        continue;
      }
      if (request_.scale.empty()) {
        gradients_of(v).push_back(
            draft_.add_node(seed_op(value(v)), {}, v, value(v).name + "_seed"));
        continue;
      }
      const int scale = graph_.find(request_.scale);
      if (scale < 0) {
        gradients_of(v).push_back(draft_.add_input(request_.scale, v));
        continue;
      }
      const GraphValue& s = value(scale);
      if (s.type != value(v).type || s.shape.size() != value(v).shape.size()) {
        return Failure{ErrorCode::kArgument,
                       fmt::format("`{}` is to scale `{}`, and differs from it in type or shape",
                                   s.name, value(v).name)};
      }
      gradients_of(v).push_back(scale);
    }
    return Done();
  }

  /// The op that makes the gradient of a loss by itself: 1.
  static Op seed_op(const GraphValue& loss) {
    std::vector<std::string> shape, at;
    for (size_t i = 0; i < loss.shape.size(); ++i) {
      shape.emplace_back("1");
      at.push_back(fmt::format("i{}", i));
    }
    return parsed(fmt::format("op seed() -> (Y: {}[{}]) {{ Y[{}] = 1 }}", name_of(loss.type),
                              fmt::join(shape, ","), fmt::join(at, ",")));
  }

  /// An op that makes a tensor of `count` others of one shape.
  static Op sum_op(const GradientDraft::Value& like, size_t count) {
    std::vector<std::string> shape, at, args, terms;
    for (size_t i = 0; i < like.shape.size(); ++i) {
      shape.push_back(fmt::format("D{}", i + 1));
      at.push_back(fmt::format("i{}", i + 1));
    }
    for (size_t i = 0; i < count; ++i) {
      args.push_back(fmt::format("A{}: {}[{}]", i + 1, name_of(like.type), fmt::join(shape, ",")));
      terms.push_back(fmt::format("A{}[{}]", i + 1, fmt::join(at, ",")));
    }
    return parsed(fmt::format("op {}({}) -> (Y: {}[{}]) {{ Y[{}] = {} }}",
                              count > 1 ? "gradient_sum" : "gradient_copy", fmt::join(args, ", "),
                              name_of(like.type), fmt::join(shape, ","), fmt::join(at, ","),
                              fmt::join(terms, " + ")));
  }

  static Op parsed(const std::string& text) {
    auto op = Op::parse(text);
    return op ? *std::move(op) : Op();
  }

  /// Does a node lie between what is asked for and the loss?
  bool carries(const GraphNode& node) const {
    return std::any_of(node.reads.begin(), node.reads.end(), [&](int v) { return is_active(v); }) &&
           std::any_of(node.makes.begin(), node.makes.end(),
                       [&](int v) { return is_active(v) && is_reaching(v); });
  }

  Failure at_node(size_t n, const Failure& why) const {
    return Failure{why.code, fmt::format("in `{}`: {}", print(graph_.nodes[n].use), why.message)};
  }

  /// All that was found of the gradient of a value, added up.
  int total(int v) {
    std::vector<int>& found = gradients_of(v);
    if (found.size() > 1) {
      const int sum =
          draft_.add_node(sum_op(draft_.value(v), found.size()), found, v, "d" + value(v).name);
      found = {sum};
    }
    return found[0];
  }

  /// From the gradients of a node's results to those of its arguments.
  Result<Done> go_back(size_t n, const WrittenNode& node) {
    const Definition& all = *node.op.definition;
    std::set<std::string> without;
    GradientDraft::Names names{node.values, &node, ""};
    std::vector<std::string> results;
    for (const Argument& a : all.args) {
      if (a.role != ir::Role::kOutput) continue;
      const int v = node.values.at(a.name);
      if (v >= 0 && names.prefix.empty()) names.prefix = value(v).name + "_";
      if (v >= 0 && is_float(value(v).type) && !gradients_of(v).empty()) {
        results.push_back(a.name);
      } else {
        without.insert(a.name);
      }
    }
    if (results.empty()) return Done();
    const auto op = without_results(node.op, without);
    if (!op) {
      return at_node(n, {ErrorCode::kUnsupported, "its results cannot be told from one another"});
    }
    GradientRequest request;
    request.take = results;
    for (const Argument& a : op->definition->args) {
      const auto at = node.values.find(a.name);
      const bool in = a.role != ir::Role::kOutput && at != node.values.end();
      if (in && is_active(at->second)) request.wrt.push_back(a.name);
    }
    if (request.wrt.empty()) return Done();
    const auto adjoint = adjoint_of(*op, request);
    if (!adjoint) return at_node(n, adjoint.failure());
    for (const std::string& result : results) {
      names.values[adjoint->given.at(result)] = total(node.values.at(result));
    }
    for (const Argument& a : adjoint->op.definition->args) {
      const std::string base = a.name.substr(0, a.name.rfind("_like"));
      const bool like = !names.values.contains(a.name) && names.values.contains(base);
      if (like && a.role != ir::Role::kOutput) names.values[a.name] = names.values[base];
    }
    draft_.add(adjoint->op, names);
    for (const std::string& by : request.wrt) {
      const int made = names.values.at(adjoint->made.at(by)), of = node.values.at(by);
      draft_.want(made, "d" + value(of).name);
      gradients_of(of).push_back(made);
    }
    return Done();
  }

  void add_outputs() {
    for (const int v : outputs_) draft_.keep_output(v);
    std::set<int> taken;
    for (const int v : wrt_) {
      if (value(v).kind == GraphValue::kConstant) draft_.as_input(v);
      const std::string name = "d" + value(v).name;
      int made = total(v);
      // Callers have a tensor of their own for each.
      const bool own = static_cast<size_t>(made) >= graph_.values.size() &&
                       !draft_.value(made).given && taken.insert(made).second;
      if (!own) made = draft_.add_node(sum_op(draft_.value(v), 1), {made}, v, name);
      draft_.add_output(made, name);
    }
  }

  const Graph& graph_;
  const GraphGradientRequest& request_;
  const Library* library_;
  GradientDraft draft_;
  int loss_ = -1;
  std::vector<int> wrt_, outputs_, seeds_;
  std::vector<bool> active_;                 ///< made of what is asked for
  std::vector<bool> reaching_;               ///< the loss is made of it
  std::vector<std::vector<int>> gradients_;  ///< per value: what adds up to its gradient
};

}  // namespace

Result<std::string> graph_gradient(const Graph& graph, const GraphGradientRequest& request,
                                   const Library* library) {
  return GraphGradient(graph, request, library).run();
}

}  // namespace hone::ops
