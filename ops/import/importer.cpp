// SPDX-License-Identifier: Apache-2.0
#include "ops/import/importer.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/lexer.h"

namespace hone::ops {
namespace {

/// Fixed by: the language's names.
constexpr size_t kLongestName = 48;

/// The branches of a node that may be taken.
std::vector<const onnx::Graph*> branches_of(const onnx::Node& node, const ImportBranches& taken) {
  std::vector<const onnx::Graph*> out;
  if (node.op_type != "If") return out;
  const auto at = taken.find(&node);
  for (const onnx::Attribute& a : node.attributes) {
    const bool then = a.name == "then_branch";
    if (a.graphs.size() != 1 || (!then && a.name != "else_branch")) continue;
    if (at == taken.end() || at->second == then) out.push_back(&a.graphs[0]);
  }
  return out;
}

}  // namespace

const ImportValue& ImportNode::input(size_t i) const {
  if (!has(i)) throw Unsupported{fmt::format("input {} is left out", i)};
  const ImportValue* value = importer_.find(node_.inputs[i]);
  if (!value)
    throw Unsupported{fmt::format("its input `{}` is made by no node", node_.inputs[i]), true};
  return *value;
}

bool ImportNode::wants(size_t output) const {
  return output < node_.outputs.size() && importer_.needs(node_.outputs[output]);
}

const std::vector<int64_t>& ImportNode::known(size_t i, const char* what) const {
  const ImportValue& value = input(i);
  if (!value.known) throw Unsupported{fmt::format("its {} are not known before a call", what)};
  return *value.known;
}

ImportShape ImportNode::sizes(size_t i, const char* what) const {
  auto all = sizes_of(input(i));
  if (!all) throw Unsupported{fmt::format("its {} are not known before a call", what)};
  return *std::move(all);
}

const onnx::Attribute* ImportNode::find(std::string_view name) const {
  for (const onnx::Attribute& a : node_.attributes) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

int64_t ImportNode::integer(std::string_view name, int64_t otherwise) const {
  const onnx::Attribute* a = find(name);
  return a ? std::clamp(a->i, -kMostInteger, kMostInteger) : otherwise;
}

double ImportNode::number(std::string_view name, double otherwise) const {
  const onnx::Attribute* a = find(name);
  return a ? static_cast<double>(a->f) : otherwise;
}

std::string ImportNode::text(std::string_view name, std::string_view otherwise) const {
  const onnx::Attribute* a = find(name);
  return std::string(a ? a->s : otherwise);
}

std::vector<int64_t> ImportNode::integers(std::string_view name,
                                          std::vector<int64_t> otherwise) const {
  const onnx::Attribute* a = find(name);
  if (!a) return otherwise;
  std::vector<int64_t> out = a->ints;
  for (int64_t& v : out) v = std::clamp(v, -kMostInteger, kMostInteger);
  return out;
}

std::vector<double> ImportNode::numbers(std::string_view name) const {
  const onnx::Attribute* a = find(name);
  return a ? std::vector<double>(a->floats.begin(), a->floats.end()) : std::vector<double>{};
}

std::vector<std::string> ImportNode::texts(std::string_view name) const {
  const onnx::Attribute* a = find(name);
  return a ? std::vector<std::string>(a->strings.begin(), a->strings.end())
           : std::vector<std::string>{};
}

const onnx::Tensor* ImportNode::tensor(std::string_view name) const {
  const onnx::Attribute* a = find(name);
  return a && a->tensors.size() == 1 ? &a->tensors[0] : nullptr;
}

const ImportValue* Importer::find(std::string_view name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? nullptr : &at->second;
}

std::string Importer::fresh_name(std::string_view wanted) {
  std::string name;
  for (const char c : wanted.substr(0, kLongestName)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain ? c : '_';
  }
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name = "v" + name;
  // Statements of the graph have indices of these names.
  const bool index =
      name[0] == 'i' && name.size() > 1 && name.find_first_not_of("0123456789", 1) == name.npos;
  if (index || is_reserved(name)) name += '_';
  std::string unique = name;
  for (int i = 1; !names_.insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
  return unique;
}

std::string Importer::dim_name(std::string_view wanted) {
  auto [at, fresh] = dims_.emplace(std::string(wanted), "");
  if (fresh) at->second = fresh_name(wanted);
  return at->second;
}

void Importer::add_input(const onnx::ValueInfo& info) {
  if (find(info.name)) return;  // an initializer that may be overridden: a weight here
  if (const auto known = given_.find(std::string(info.name)); known != given_.end()) {
    return add_constant(info.name, known->second);
  }
  if (info.kind != onnx::ValueInfo::kTensor || !info.has_shape) {
    throw Unsupported{"it is no tensor, or its rank is not declared"};
  }
  ImportValue value;
  value.type = import_type(info.type);
  for (size_t i = 0; i < info.shape.size(); ++i) {
    const onnx::Dim& d = info.shape[i];
    if (d.kind == onnx::Dim::kValue) {
      value.shape.push_back({d.value, ""});
    } else {
      const bool named = d.kind == onnx::Dim::kParameter && !d.parameter.empty();
      value.shape.push_back(
          {1, dim_name(named ? std::string(d.parameter) : fmt::format("{}_d{}", info.name, i))});
    }
  }
  value.name = fresh_name(info.name);
  arguments_ += fmt::format("{}{}: {}[{}]", arguments_.empty() ? "" : ", ", value.name,
                            name_of(value.type), text_of(value.shape));
  graph_.inputs.push_back({std::string(info.name), value.name});
  values_[std::string(info.name)] = std::move(value);
}

void Importer::make(const ImportNode& node, size_t output, DType type, ImportShape shape,
                    const std::vector<ImportArgument>& arguments, const std::string& result_shape,
                    const std::string& statements) {
  if (!node.wants(output)) return;
  make(node, {{output, type, std::move(shape), "Y", result_shape}}, arguments, statements);
}

void Importer::make(const ImportNode& node, const std::vector<ImportResult>& results,
                    const std::vector<ImportArgument>& arguments, const std::string& statements) {
  if (results.empty()) return;
  std::string declared, given, made, left;
  for (const ImportArgument& a : arguments) {
    declared += fmt::format("{}{}: {}[{}]", declared.empty() ? "" : ", ", a.name,
                            name_of(a.value->type), a.shape);
    given += (given.empty() ? "" : ", ") + named(*a.value);
  }
  for (const ImportResult& r : results) {
    made +=
        fmt::format("{}{}: {}[{}]", made.empty() ? "" : ", ", r.name, name_of(r.type), r.declared);
    left += (left.empty() ? "" : ", ") + add_result(node, r);
  }
  const std::string body = fmt::format("({}) -> ({}) {{ {} }}", declared, made, statements);
  auto [at, fresh] = ops_.emplace(body, "");
  if (fresh) {
    std::string name = "onnx_";
    for (const char c : node.op()) name += static_cast<char>(std::tolower(c));
    const int number = ++op_count_[name];
    at->second = number == 1 ? name : fmt::format("{}_{}", name, number);
    op_texts_ += fmt::format("op {}{}\n", at->second, body);
  }
  statements_ += fmt::format("  {} = {}({})\n", left, at->second, given);
}

std::string Importer::add_result(const ImportNode& node, const ImportResult& result) {
  ImportValue value;
  value.type = result.type;
  value.shape = result.shape;
  value.name = fresh_name(node.node().outputs[result.output]);
  std::string indices;
  for (size_t i = 0; i < result.shape.size(); ++i) {
    indices +=
        fmt::format("{}{} in 0..{}", i > 0 ? "," : "", import_index(i), result.shape[i].text());
  }
  const std::string left = fmt::format("{}[{}]", value.name, indices);
  values_[std::string(node.node().outputs[result.output])] = std::move(value);
  return left;
}

void Importer::call(const ImportNode& node, const std::string& function,
                    const std::vector<ImportResult>& results,
                    const std::vector<const ImportValue*>& arguments) {
  std::string given, left;
  for (const ImportValue* a : arguments) given += (given.empty() ? "" : ", ") + named(*a);
  for (const ImportResult& r : results) {
    left += (left.empty() ? "" : ", ") + (node.wants(r.output) ? add_result(node, r) : "_");
  }
  statements_ += fmt::format("  {} = {}({})\n", left, function, given);
}

ImportExtent Importer::data_dim(const ImportNode& node) {
  const auto& outputs = node.node().outputs;
  const auto named = std::find_if(outputs.begin(), outputs.end(),
                                  [](std::string_view name) { return !name.empty(); });
  return {1, fresh_name(fmt::format("{}_size", named == outputs.end() ? node.op() : *named))};
}

void Importer::alias(const ImportNode& node, size_t output, const ImportValue& value) {
  if (!node.wants(output)) return;
  ImportValue same = value;
  values_[std::string(node.node().outputs[output])] = std::move(same);
}

void Importer::know(const ImportNode& node, size_t output, std::vector<int64_t> values,
                    std::vector<int64_t> shape, DType type) {
  if (!node.wants(output)) return;
  ImportValue value;
  value.type = type;
  value.shape = fixed_shape(shape);
  value.known = std::move(values);
  values_[std::string(node.node().outputs[output])] = std::move(value);
}

void Importer::size(const ImportNode& node, size_t output, ImportShape values,
                    std::vector<int64_t> shape, DType type) {
  const bool open =
      std::any_of(values.begin(), values.end(), [](const ImportExtent& e) { return !e.fixed(); });
  if (!open) {
    std::vector<int64_t> all;
    for (const ImportExtent& e : values) all.push_back(e.times);
    return know(node, output, std::move(all), std::move(shape), type);
  }
  if (!node.wants(output)) return;
  ImportValue value;
  value.type = type;
  value.shape = fixed_shape(shape);
  value.sizes = std::move(values);
  values_[std::string(node.node().outputs[output])] = std::move(value);
}

void Importer::constant(const ImportNode& node, size_t output, const onnx::Tensor& tensor) {
  if (node.wants(output)) add_constant(node.node().outputs[output], tensor);
}

void Importer::add_node(const onnx::Node& node) {
  // Fixed by: ONNX's names of its sets.
  const auto usual = [](std::string_view domain) { return domain.empty() || domain == "ai.onnx"; };
  const bool trains = node.domain == "ai.onnx.preview.training";
  int64_t version = 0;
  for (const onnx::Opset& set : model_.opsets) {
    if (trains ? set.domain == node.domain : usual(set.domain)) version = set.version;
  }
  const ImportRow row = trains               ? import_training_row(node.op_type)
                        : usual(node.domain) ? import_row(node.op_type)
                                             : nullptr;
  if (!row) {
    throw Unsupported{trains || usual(node.domain) ? "there is no op for it"
                                                   : fmt::format("its domain is {}", node.domain)};
  }
  row(ImportNode(*this, node, version));
}

/// An output is a name of its own: a copy of the value.
void Importer::add_output(const onnx::ValueInfo& info) {
  const ImportValue* found = find(info.name);
  if (!found) throw Unsupported{"no node makes it", true};
  const ImportValue value = *found;
  const std::string name = fresh_name(std::string(info.name) + "_out");
  std::string dims, indices;
  for (size_t i = 0; i < value.shape.size(); ++i) {
    dims += (i > 0 ? "," : "") + import_dim(i);
    indices += (i > 0 ? "," : "") + import_index(i);
  }
  const std::string op = fmt::format("onnx_output_{}_{}", name_of(value.type), value.shape.size());
  if (op_count_[op]++ == 0) {
    op_texts_ += fmt::format("op {0}(X: {1}[{2}]) -> (Y: {1}[{2}]) {{ Y[{3}] = X[{3}] }}\n", op,
                             name_of(value.type), dims, indices);
  }
  results_ += fmt::format("{}{}: {}[{}]", results_.empty() ? "" : ", ", name, name_of(value.type),
                          text_of(value.shape));
  statements_ += fmt::format("  {} = {}({})\n", name, op, named(value));
  graph_.outputs.push_back({std::string(info.name), name});
}

/// Does `f`, or tells why `what` has no op here.
template <class F>
void Importer::attempt(const std::string& what, const F& f) {
  const auto tell = [&](const std::string& why) { wrong_ += fmt::format("\n  {}: {}", what, why); };
  try {
    f();
  } catch (const Unsupported& u) {
    // Results of a node that was told of are told once.
    if (!u.follows || wrong_.empty()) tell(u.why);
  } catch (const std::out_of_range&) {
    tell("a list that it takes has too few elements");
  }
}

void Importer::find_needed(const onnx::Graph& graph) {
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const onnx::Node& node = graph.nodes[i];
    const bool used = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [&](std::string_view name) { return needs(name); });
    if (!used) continue;
    needed_.insert(node.inputs.begin(), node.inputs.end());
    for (const onnx::Graph* branch : branches_of(node, branches_)) {
      for (size_t k = 0; k < std::min(node.outputs.size(), branch->outputs.size()); ++k) {
        if (needs(node.outputs[k])) needed_.insert(branch->outputs[k].name);
      }
      find_needed(*branch);
    }
    needed_.erase("");
  }
}

void Importer::add_nodes(const onnx::Graph& graph) {
  for (const onnx::Node& node : graph.nodes) {
    const auto made = std::find_if(node.outputs.begin(), node.outputs.end(),
                                   [&](std::string_view name) { return needs(name); });
    // What no output follows from is left out.
    if (made == node.outputs.end()) continue;
    attempt(fmt::format("{} `{}`", node.op_type, *made), [&] { add_node(node); });
  }
}

void Importer::enter(const onnx::Node& node, bool condition) {
  branches_[&node] = condition;
  const std::vector<const onnx::Graph*> taken = branches_of(node, branches_);
  if (taken.size() != 1 || taken[0]->outputs.size() != node.outputs.size()) {
    throw Unsupported{"its branch is missing, or has other outputs"};
  }
  // Names of a branch end with it.
  auto outside = values_;
  for (const onnx::Tensor& t : taken[0]->initializers) {
    attempt(fmt::format("initializer `{}`", t.name), [&] { add_constant(t.name, t); });
  }
  add_nodes(*taken[0]);
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (!needs(node.outputs[k])) continue;
    const ImportValue* made = find(taken[0]->outputs[k].name);
    if (!made) throw Unsupported{"no node makes what its branch gives", true};
    outside[std::string(node.outputs[k])] = *made;
  }
  values_ = std::move(outside);
}

Result<ImportedGraph> Importer::run() {
  const onnx::Graph& g = model_.graph;
  for (const onnx::ValueInfo& info : g.outputs) needed_.insert(info.name);
  find_needed(g);
  for (const onnx::Tensor& t : g.initializers) {
    attempt(fmt::format("initializer `{}`", t.name), [&] { add_constant(t.name, t); });
  }
  for (const onnx::ValueInfo& info : g.inputs) {
    attempt(fmt::format("input `{}`", info.name), [&] { add_input(info); });
  }
  add_nodes(g);
  for (const onnx::ValueInfo& info : g.outputs) {
    attempt(fmt::format("output `{}`", info.name), [&] { add_output(info); });
  }
  if (!wrong_.empty()) {
    return Failure{ErrorCode::kUnsupported, "the model has what no op here is for:" + wrong_};
  }
  graph_.text = fmt::format("{}graph {}({}) -> ({}) {{\n{}}}\n", op_texts_, fresh_name("onnx"),
                            arguments_, results_, statements_);
  return std::move(graph_);
}

Result<ImportedGraph> import_onnx(const onnx::Model& model, const ImportedConstants& given) {
  Importer first(model, given);
  auto graph = first.run();
  if (first.branches().empty()) return graph;
  // Which branches are taken is known now, and so is what the others alone need.
  return Importer(model, given, first.branches()).run();
}

size_t import_axis(int64_t axis, size_t rank) {
  const auto dims = static_cast<int64_t>(rank);
  if (axis < -dims || axis >= dims) {
    throw Unsupported{fmt::format("there is no axis {} of {}", axis, rank)};
  }
  return static_cast<size_t>(axis < 0 ? axis + dims : axis);
}

}  // namespace hone::ops
