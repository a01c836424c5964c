// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ops/gradient/index_terms.h"
#include "ops/graph/extent_range.h"
#include "ops/graph/fuse.h"
#include "ops/graph/group.h"
#include "ops/graph/homes.h"
#include "ops/graph/host_use.h"
#include "ops/graph/passes.h"
#include "ops/graph/plan.h"
#include "runtime/model/arrange.h"
#include "runtime/model/constants.h"
#include "runtime/model/device_model.h"
#include "runtime/model/device_weights.h"
#include "runtime/model/integers.h"
#include "runtime/model/layout.h"
#include "runtime/model/model_state.h"
#include "runtime/model/plan_record.h"
#include "runtime/model/weight_binder.h"
#include "runtime/threads/at_once.h"

namespace hone::runtime {
namespace {

/// More than an address space has.
/// Fixed by: 48 bits of addresses.
constexpr int64_t kMostBytes = int64_t{1} << 48;

/// Elements between neighbours along each dim; -1 where calls tell.
std::vector<int64_t> dense_strides(DType type, const std::vector<Extent>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    int64_t extent = shape[i].value;
    // A row takes whole bytes.
    const bool row = i + 1 == shape.size() && extent >= 0 && is_packed(type);
    if (row) extent = bytes_of_row(type, extent) * elements_per_byte(type);
    step = step < 0 || extent < 0 ? -1 : step * extent;
  }
  return strides;
}

class ModelLoader {
 public:
  ModelLoader(EngineState& engine, const ops::Graph& graph, const ModelOptions& options)
      : engine_(engine), graph_(graph), options_(options) {}

  Result<std::shared_ptr<const ModelState>> run() {
    auto dims = bind_dims(graph_, options_.dims);
    if (!dims) return dims.failure();
    dims_ = std::move(*dims);
    drafts_.emplace(dims_, engine_);
    model_->services = engine_.services;
    model_->text = graph_.text;
    model_->fused = options_.fuse;
    for (const bool written : {false, true}) add_given(written);
    auto constants = Constants::take(graph_, options_);
    if (!constants) return constants.failure();
    if (auto f = check_in_host(engine_.services->gpu().get(), options_.weights); !f) {
      return f.failure();
    }
    constants_ = std::move(*constants);
    if (auto f = fold_hosts(); !f) return f.failure();
    if (auto f = take_dims(); !f) return f.failure();
    if (options_.fuse && estimates()) take_integers();
    if (auto f = check_dims(); !f) return f.failure();
    for (const ops::GraphValue& v : graph_.values) {
      if (auto f = check_extents(v); !f) return f.failure();
      add_value(v);
    }
    if (auto f = simplify(); !f) return f.failure();
    auto all = groups();
    if (!all) return all.failure();
    // Rows that begin anywhere would cost kernels on GPUs their wide accesses.
    if (options_.fuse) homes_ = ops::find_homes(graph_, *all, dims_, estimates());
    compile(*all);
    weights_.emplace(engine_, graph_, constants_);
    for (size_t i = 0; i < all->size(); ++i) {
      std::vector<int>& nodes = (*all)[i];
      if (in_memory(i)) {
        ran_.push_back(std::move(nodes));
      } else if (graph_.nodes[static_cast<size_t>(nodes[0])].host) {
        if (auto f = add_host(std::move(nodes)); !f) return f.failure();
      } else if (auto f = add_call(std::move(nodes)); !f) {
        return f.failure();
      }
    }
    arrange(*model_, graph_, ran_, problems_, engine_.target);
    settle_outputs(*model_);
    if (auto f = plan(); !f) return f.failure();
    align_given();
    model_->memory.weights = weights_->bytes() + kept_bytes_;
    model_->plan = ops::print_plan(graph_, ran_);
    model_->graph = std::move(graph_);
    if (auto f = add_device(); !f) return f.failure();
    return std::shared_ptr<const ModelState>(std::move(model_));
  }

 private:
  const ops::GraphValue& value(int v) const { return graph_.values[static_cast<size_t>(v)]; }

  /// Functions of the host on constants: their dims have one value then, as those of other graphs.
  Result<Done> fold_hosts() {
    folded_.resize(graph_.values.size());
    if (graph_.data_dims.empty()) return Done();
    HostEngine host(engine_);
    std::vector<ops::GraphValue::Kind> before;
    for (const ops::GraphValue& v : graph_.values) before.push_back(v.kind);
    auto folded = constants_.fold(std::move(graph_), dims_, host);
    if (!folded) return folded.failure();
    graph_ = *std::move(folded);
    for (size_t v = 0; v < before.size(); ++v) folded_[v] = graph_.values[v].kind != before[v];
    return Done();
  }

  /// Dims that calls tell, and behind them those that their data tell.
  Result<Done> take_dims() {
    model_->key = plan_key(engine_, graph_, dims_);
    model_->bound_dims = dims_;
    for (const bool data : {false, true}) {
      for (const ir::Dim& d : dims_) {
        if (d.lo != d.hi && tells_by_data(d.name) == data) model_->dims.push_back(d);
      }
      if (!data) model_->told = model_->dims.size();
    }
    if (model_->dims.size() <= kMostModelDims && model_->given.size() <= kMostModelGiven) {
      return Done();
    }
    return Failure{ErrorCode::kUnsupported,
                   fmt::format("`{}` has {} dims of calls, and {} inputs and outputs; {} and {} "
                               "are the most",
                               graph_.name, model_->dims.size(), model_->given.size(),
                               kMostModelDims, kMostModelGiven)};
  }

  bool tells_by_data(const std::string& dim) const {
    return std::any_of(graph_.data_dims.begin(), graph_.data_dims.end(),
                       [&](const ops::DataDim& d) { return d.name == dim; });
  }

  /// Whether the cost model says which form of a graph is faster: it knows CPUs.
  bool estimates() const { return !engine_.target.is_cuda(); }

  Result<Done> add_device() {
    if (!engine_.services->gpu()) return Done();
    auto device = DeviceModel::create(*model_);
    if (!device) return device.failure();
    model_->device = *std::move(device);
    return Done();
  }

  /// As the caller says, else as tuning found, else by the rules. Sets the orders of values.
  Result<ops::GraphGroups> groups() {
    if (!options_.plan.empty()) return ops::parse_plan(options_.plan, dims_, graph_);
    if (!options_.fuse) return ops::single_groups(graph_);
    for (const std::string& kept : recorded_plans(engine_, model_->key)) {
      auto groups = ops::parse_plan(kept, dims_, graph_);
      if (groups) return groups;
      engine_.services->tell_once(Event::kNotice,
                                  "a recorded plan is left out: " + groups.failure().message);
    }
    ops::GraphGroups groups = ops::fused_groups(graph_, dims_);
    if (estimates()) graph_ = with_orders(std::move(graph_), groups, dims_, *drafts_);
    return groups;
  }

  /// Before values are counted: some are added.
  void take_integers() {
    ops::KnownBytes known = constants_.known_bytes(graph_);
    graph_ = ops::without_unread(
        with_integers(ops::without_repeats(std::move(graph_)), dims_, std::move(known), *drafts_));
  }

  Result<Done> simplify() {
    if (!options_.fuse) return Done();
    HostEngine host(engine_);
    auto folded = constants_.fold(ops::without_repeats(std::move(graph_)), dims_, host);
    if (!folded) return folded.failure();
    graph_ = ops::without_unread(*std::move(folded));
    return Done();
  }

  bool in_memory(size_t group) const { return options_.fuse && homes_.in_memory[group]; }
  int home(int v) const { return options_.fuse ? homes_.values[static_cast<size_t>(v)].of : v; }

  /// A dim that calls tell stands by itself in the shape of an input.
  Result<Done> check_dims() const {
    std::string open;
    for (const ir::Dim& d : std::span(model_->dims).first(model_->told)) {
      const bool told = std::any_of(graph_.values.begin(), graph_.values.end(), [&](const auto& v) {
        const auto alone = [&](const ir::Expr& e) {
          return e->op == ir::Op::kDim && e->name == d.name;
        };
        return v.kind == ops::GraphValue::kInput &&
               std::any_of(v.shape.begin(), v.shape.end(), alone);
      });
      if (!told) open += (open.empty() ? "" : ", ") + d.name;
    }
    if (open.empty()) return Done();
    return Failure{ErrorCode::kArgument,
                   fmt::format("no input of `{}` has a dim that is {} alone, so calls cannot tell "
                               "it; bind one value, as in `{}=8`",
                               graph_.name, open, open.substr(0, open.find(',')))};
  }

  /// Extents are numbers of 64 bits for all values of the dims.
  Result<Done> check_extents(const ops::GraphValue& v) const {
    for (const ir::Expr& extent : v.shape) {
      const auto range = ops::range_of_extent(extent, dims_);
      if (range && range->hi >= 0) continue;
      return Failure{ErrorCode::kArgument,
                     fmt::format("`{}` has a dim of {}, which is no number of elements with {}",
                                 v.name, ir::print(extent), options_.dims)};
    }
    return Done();
  }

  void add_value(const ops::GraphValue& v) {
    ModelValue out;
    out.name = v.name;
    out.type = v.type;
    Param p;
    p.name = v.name;
    p.role = v.output ? Role::kOutput : Role::kInput;
    p.type = v.type;
    p.constant = v.kind == ops::GraphValue::kConstant;
    for (const ir::Expr& extent : v.shape) {
      const ir::Expr fixed = ops::with_fixed_dims(extent, dims_);
      out.shape.push_back(number_dims(fixed, model_->dims));
      const bool by_data = names_data_dim(*model_, fixed);
      out.by_data.push_back(by_data);
      out.open |= by_data;
      const auto range = ops::range_of_extent(fixed, dims_);
      p.shape.push_back({ir::print(extent), fixed->op == ir::Op::kInt ? fixed->i : int64_t{-1},
                         range ? range->hi : int64_t{-1}, by_data});
    }
    p.strides = dense_strides(v.type, p.shape);
    p.align = size_of(v.type);
    const bool made = v.kind == ops::GraphValue::kMade || folded_[model_->values.size()];
    if (v.output || !made) model_->params.push_back(std::move(p));
    model_->values.push_back(std::move(out));
  }

  void add_given(bool written) {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const ops::GraphValue& value = graph_.values[v];
      if (value.kind == ops::GraphValue::kConstant) continue;
      if (written ? value.output : value.kind == ops::GraphValue::kInput) {
        model_->given.push_back({static_cast<int>(v), written, size_of(value.type)});
      }
    }
  }

  /// Kernels that differ, over the engine's threads; the engine keeps them, and what fails fails
  /// again where it is called for.
  void compile(const std::vector<std::vector<int>>& groups) {
    std::map<std::string_view, const ops::Problem*> problems;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (in_memory(i)) continue;
      const Result<ops::Group>& group = drafts_->group(graph_, groups[i]);
      if (group) problems.emplace(group->problem.text, &group->problem);
    }
    std::vector<const ops::Problem*> all;
    for (const auto& [text, problem] : problems) all.push_back(problem);
    kernels_.resize(all.size());
    at_once(all.size(), engine_.target.threads, [&](size_t i) {
      auto kernel = engine_.compile(*all[i], CompileOptions(), drafts_->known(*all[i]));
      if (kernel) kernels_[i] = *std::move(kernel);
    });
  }

  Result<Done> add_call(std::vector<int> nodes) {
    const Result<ops::Group>& group = drafts_->group(graph_, nodes);
    if (!group && nodes.size() > 1) return add_apart(nodes);
    if (!group) return in_node(group.failure(), nodes[0]);
    auto kernel = engine_.compile(group->problem, CompileOptions(), drafts_->known(group->problem));
    if (!kernel && nodes.size() > 1) return add_apart(nodes);
    if (!kernel) return in_node(kernel.failure(), nodes[0]);
    ModelCall call;
    call.kernel = *kernel;
    auto bound = weights_->bind(*group, call.kernel);
    if (!bound) return in_node(bound.failure(), nodes[0]);
    call.bound = *std::move(bound);
    for (const auto* side : {&group->reads, &group->makes}) {
      for (const int v : *side) {
        if (value(v).kind != ops::GraphValue::kConstant) call.args.push_back(v);
      }
    }
    add_step(*group, call);
    call.nodes = group->nodes;
    problems_.push_back(&group->problem);
    model_->calls.push_back(std::move(call));
    ran_.push_back(std::move(nodes));
    return Done();
  }

  /// A function of the host runs between kernels. Its dim is known then, and with it shapes of
  /// outputs.
  Result<Done> add_host(std::vector<int> nodes) {
    const ops::GraphNode& node = graph_.nodes[static_cast<size_t>(nodes[0])];
    if (engine_.services->gpu()) {
      return in_node({ErrorCode::kUnsupported,
                      fmt::format("data tell the dim {}; this runs on CPUs, and not on a GPU",
                                  node.host->dim)},
                     nodes[0]);
    }
    auto host = make_host(graph_, node, dims_, model_->calls.size());
    if (!host) return host.failure();
    for (size_t i = 0; i < node.reads.size(); ++i) {
      if (value(node.reads[i]).kind != ops::GraphValue::kConstant) continue;
      const auto weight = constants_.dense(graph_, node.reads[i], dims_);
      if (!weight) return in_node(weight.failure(), nodes[0]);
      kept_bytes_ += keep_weight(*host, i, *weight);
    }
    const auto at = std::find_if(model_->dims.begin(), model_->dims.end(),
                                 [&](const ir::Dim& d) { return d.name == node.host->dim; });
    if (at != model_->dims.end()) host->dim = static_cast<int>(at - model_->dims.begin());
    model_->host_steps.push_back(host_step_of(graph_, node, *host));
    model_->hosts.push_back(*std::move(host));
    ran_.push_back(std::move(nodes));
    return Done();
  }

  /// What the language does not have together is computed in halves.
  Result<Done> add_apart(const std::vector<int>& nodes) {
    const auto half = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
    if (auto f = add_call({nodes.begin(), half}); !f) return f.failure();
    return add_call({half, nodes.end()});
  }

  Result<Done> in_node(Failure failure, int n) const {
    const ops::GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    failure.message = fmt::format("in `{}`: {}", print(node.use), failure.message);
    return failure;
  }

  void add_step(const ops::Group& group, const ModelCall& call) {
    std::vector<std::string> ops, reads, makes;
    for (const int n : group.nodes) ops.push_back(graph_.nodes[static_cast<size_t>(n)].op.name());
    for (const int v : group.reads) reads.push_back(value(v).name);
    for (const int v : group.makes) makes.push_back(value(v).name);
    model_->steps.push_back(
        {std::move(ops), std::move(reads), std::move(makes), KernelState::handle(call.kernel)});
  }

  /// No fewer bytes than a value has in any call; none where that is past all memory.
  std::optional<int64_t> most_bytes(int v) const {
    std::vector<int64_t> extents;
    double bytes = size_of(value(v).type);
    for (const ir::Expr& extent : value(v).shape) {
      const auto range = ops::range_of_extent(ops::with_fixed_dims(extent, dims_), dims_);
      if (!range) return {};
      extents.push_back(std::max<int64_t>(range->hi, 0));
      bytes *= static_cast<double>(extents.back());
      if (bytes > static_cast<double>(kMostBytes)) return {};
    }
    return dense_bytes(value(v).type, extents);
  }

  /// What kernels ask of the addresses of tensors that calls give.
  void align_given() {
    for (ModelParam& given : model_->given) {
      for (const ModelCall& call : model_->calls) {
        auto arg = call.args.begin();
        for (const ParamPlan& p : call.kernel->plan.params) {
          if (p.constant) continue;
          if (home(*arg++) == given.value) given.align = std::max(given.align, p.align);
        }
      }
      for (Param& p : model_->params) {
        if (p.name == value(given.value).name) p.align = given.align;
      }
    }
  }

  /// Where values between steps lie. Those that the caller gives have their memory.
  Result<Done> plan() {
    std::map<int, size_t> place;
    std::vector<Lifetime> lifetimes;
    for (const TouchedValues& t : touched_values(*model_)) {
      for (const int arg : t.values) {
        const int v = home(arg);
        if (value(v).output || value(v).kind != ops::GraphValue::kMade) continue;
        const auto bytes = most_bytes(v);
        if (!bytes) {
          return Failure{
              ErrorCode::kMemory,
              fmt::format("`{}` is larger than all memory, or of no known size", value(v).name)};
        }
        const auto [at, fresh] = place.emplace(v, lifetimes.size());
        if (fresh) lifetimes.push_back({*bytes, t.first, 0});
        lifetimes[at->second].last = t.last;
      }
    }
    for (size_t v = 0; v < model_->values.size(); ++v) {
      ModelValue& value = model_->values[v];
      value.home = home(static_cast<int>(v));
      value.order = graph_.values[v].order;
      value.strides = graph_.values[v].strides;
      if (!options_.fuse || !homes_.values[v].at) continue;
      const ir::Expr at = ops::with_fixed_dims(homes_.values[v].at, dims_);
      value.at = number_dims(at, model_->dims);
    }
    const MemoryPlan plan = plan_memory(lifetimes);
    for (const auto& [v, i] : place) {
      ModelValue& placed = model_->values[static_cast<size_t>(v)];
      placed.offset = plan.offsets[i];
      placed.bytes = lifetimes[i].bytes;
      placed.first = lifetimes[i].first;
      placed.last = lifetimes[i].last;
      model_->memory.values_sum += lifetimes[i].bytes;
    }
    model_->memory.values = plan.bytes;
    model_->memory.workspace = most_workspace(*model_);
    model_->memory.call = plan.bytes + model_->memory.workspace;
    return Done();
  }

  EngineState& engine_;
  ops::Graph graph_;
  const ModelOptions& options_;
  std::vector<ir::Dim> dims_;
  std::optional<KernelDrafts> drafts_;
  Constants constants_;
  std::optional<WeightBinder> weights_;
  ops::Homes homes_;                           ///< where nodes may share kernels
  int64_t kept_bytes_ = 0;                     ///< of weights that functions of the host take
  std::vector<bool> folded_;                   ///< per value: it is a constant since `fold_hosts`
  ops::GraphGroups ran_;                       ///< groups that came to be, in their order
  std::vector<const ops::Problem*> problems_;  ///< of calls, as they were added
  /// Held until calls have them, as the engine keeps what somebody holds.
  std::vector<std::shared_ptr<const KernelState>> kernels_;
  std::shared_ptr<ModelState> model_ = std::make_shared<ModelState>();
};

}  // namespace

int64_t dense_bytes(DType type, std::span<const int64_t> extents) {
  if (extents.empty()) return bytes_of_row(type, 1);
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < extents.size(); ++i) rows *= extents[i];
  return rows * bytes_of_row(type, extents.back());
}

Result<std::shared_ptr<const ModelState>> ModelState::load(EngineState& engine,
                                                           const ops::Graph& graph,
                                                           const ModelOptions& options) {
  return ModelLoader(engine, graph, options).run();
}

Result<std::shared_ptr<const ModelState>> ModelState::load(EngineState& engine,
                                                           const ModelFile& file,
                                                           ModelOptions options) {
  const auto given = options.weights;
  for (const NamedTensor& own : file.weights) {
    const bool replaced = std::any_of(given.begin(), given.end(),
                                      [&](const NamedTensor& w) { return w.name == own.name; });
    if (!replaced) options.weights.push_back(own);
  }
  auto model = ModelLoader(engine, file.graph, options).run();
  if (!model || file.names.empty()) return model;
  auto named = std::make_shared<ModelState>(**model);
  const auto rename = [&](std::string& name) {
    if (const auto at = file.names.find(name); at != file.names.end()) name = at->second;
  };
  for (ModelValue& v : named->values) rename(v.name);
  for (Param& p : named->params) rename(p.name);
  return std::shared_ptr<const ModelState>(std::move(named));
}

}  // namespace hone::runtime
