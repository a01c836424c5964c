// SPDX-License-Identifier: Apache-2.0
#include "ops/import/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/lexer.h"

namespace hone::ops {
namespace {

/// A tensor with more elements is a weight, and its values are not looked at.
/// Chosen: more than shapes and axes have (not measured).
constexpr int64_t kMostKnown = 64;

/// Elements that a node may fill with one value.
/// Chosen: the weights of the largest layers (not measured).
constexpr int64_t kMostFilled = int64_t{1} << 28;

/// Fixed by: the language's names.
constexpr size_t kLongestName = 48;

/// Types that ONNX and the language have.
struct TypePair {
  onnx::DataType onnx;
  DType own;
};

constexpr TypePair kTypes[] = {
    {onnx::DataType::kFloat, DType::kF32},
    {onnx::DataType::kDouble, DType::kF64},
    {onnx::DataType::kFloat16, DType::kF16},
    {onnx::DataType::kBfloat16, DType::kBF16},
    {onnx::DataType::kInt64, DType::kI64},
    {onnx::DataType::kInt32, DType::kI32},
    {onnx::DataType::kInt16, DType::kI16},
    {onnx::DataType::kInt8, DType::kI8},
    {onnx::DataType::kUint8, DType::kU8},
    {onnx::DataType::kBool, DType::kBool},
    {onnx::DataType::kFloat8E4M3FN, DType::kF8E4M3},
    {onnx::DataType::kFloat8E5M2, DType::kF8E5M2},
};

template <class T>
T element(const onnx::Tensor& t, int64_t i) {
  T value;
  std::memcpy(&value, t.data.data() + i * static_cast<int64_t>(sizeof(T)), sizeof value);
  return value;
}

int64_t integer(const onnx::Tensor& t, DType type, int64_t i) {
  switch (type) {
    case DType::kI64:
      return element<int64_t>(t, i);
    case DType::kI32:
      return element<int32_t>(t, i);
    case DType::kI16:
      return element<int16_t>(t, i);
    case DType::kI8:
      return element<int8_t>(t, i);
    case DType::kBool:
      return element<uint8_t>(t, i) != 0;
    default:
      return element<uint8_t>(t, i);
  }
}

std::vector<int64_t> read_integers(const onnx::Tensor& t, DType type) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < t.elements; ++i) {
    out.push_back(std::clamp(integer(t, type, i), -kMostInteger, kMostInteger));
  }
  return out;
}

ImportShape fixed_shape(const std::vector<int64_t>& dims) {
  ImportShape shape;
  for (const int64_t d : dims) shape.push_back({d, ""});
  return shape;
}

std::string text_of(const ImportShape& shape) {
  std::string out;
  for (size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? "," : "") + shape[i].text();
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

std::vector<double> ImportNode::numbers(size_t i, const char* what) const {
  const ImportValue& value = input(i);
  if (value.known) return {value.known->begin(), value.known->end()};
  const onnx::Tensor* t = value.tensor;
  const bool wide = value.type == DType::kF64;
  if (!t || t->elements > kMostKnown || (!wide && value.type != DType::kF32)) {
    throw Unsupported{fmt::format("its {} are not known before a call", what)};
  }
  std::vector<double> out;
  for (int64_t n = 0; n < t->elements; ++n) {
    out.push_back(wide ? element<double>(*t, n) : static_cast<double>(element<float>(*t, n)));
  }
  return out;
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
  if (is_reserved(name)) name += '_';
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

void Importer::add_constant(std::string_view name, const onnx::Tensor& tensor) {
  ImportValue value;
  value.type = import_type(tensor.type);
  value.shape = fixed_shape(tensor.dims);
  value.tensor = &tensor;
  if (tensor.elements <= kMostKnown && !is_float(value.type)) {
    value.known = read_integers(tensor, value.type);
  }
  if (tensor.elements == 1 && value.type == DType::kF32) value.number = element<float>(tensor, 0);
  if (tensor.elements == 1 && value.type == DType::kF64) value.number = element<double>(tensor, 0);
  values_[std::string(name)] = std::move(value);
}

std::string Importer::named(const ImportValue& value) {
  if (!value.name.empty()) return value.name;
  if (value.sizes) throw Unsupported{"it takes sizes that calls tell for elements"};
  if (!value.tensor) return computed(value);
  auto [at, fresh] = weights_.emplace(value.tensor, "");
  if (!fresh) return at->second;
  const onnx::Tensor& t = *value.tensor;
  at->second = fresh_name(t.name.empty() ? "c" : t.name);
  arguments_ += fmt::format("{}const {}: {}[{}]", arguments_.empty() ? "" : ", ", at->second,
                            name_of(value.type), text_of(value.shape));
  graph_.weights.push_back({at->second, value.type, t.dims, t.data, t.owner});
  return at->second;
}

/// A weight of integers that were computed here.
std::string Importer::computed(const ImportValue& value) {
  const auto bytes = std::make_shared<std::string>();
  for (const int64_t v : *value.known) {
    // Such a number may be another one of the file, cut where it was read.
    if (std::abs(v) >= kMostInteger) throw Unsupported{"integers beyond 2^40 are computed with"};
    // Little-endian, as files have them.
    bytes->append(reinterpret_cast<const char*>(&v), static_cast<size_t>(size_of(value.type)));
  }
  std::vector<int64_t> shape;
  for (const ImportExtent& e : value.shape) shape.push_back(e.times);
  const std::string name = fresh_name("known");
  arguments_ += fmt::format("{}const {}: {}[{}]", arguments_.empty() ? "" : ", ", name,
                            name_of(value.type), text_of(value.shape));
  graph_.weights.push_back({name, value.type, shape, *bytes, bytes});
  return name;
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
    ImportValue value;
    value.type = r.type;
    value.shape = r.shape;
    value.name = fresh_name(node.node().outputs[r.output]);
    std::string indices;
    for (size_t i = 0; i < r.shape.size(); ++i) {
      indices += fmt::format("{}{} in 0..{}", i > 0 ? "," : "", import_index(i), r.shape[i].text());
    }
    left += fmt::format("{}{}[{}]", left.empty() ? "" : ", ", value.name, indices);
    values_[std::string(node.node().outputs[r.output])] = std::move(value);
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

const onnx::Tensor& Importer::fill(const onnx::Tensor& element, const std::vector<int64_t>& dims) {
  onnx::Tensor& t = filled_.emplace_back();
  t.type = element.type;
  t.dims = dims;
  for (const int64_t d : dims) {
    if (d < 0 || (d > 0 && t.elements > kMostFilled / d)) {
      throw Unsupported{"it fills more elements than a weight has"};
    }
    t.elements *= d;
  }
  const auto bytes = std::make_shared<std::string>();
  for (int64_t i = 0; i < t.elements; ++i) bytes->append(element.data);
  t.data = *bytes;
  t.owner = bytes;
  return t;
}

const onnx::Tensor& Importer::tensor_of(DType type, const std::vector<int64_t>& dims,
                                        const std::vector<double>& values) {
  if (is_float(type) && size_of(type) < 4) {
    throw Unsupported{fmt::format("constants of {} are not computed", name_of(type))};
  }
  onnx::Tensor& t = filled_.emplace_back();
  t.type = onnx_type(type);
  t.dims = dims;
  t.elements = static_cast<int64_t>(values.size());
  const auto bytes = std::make_shared<std::string>();
  for (const double v : values) {
    // Little-endian, as files have them.
    const auto single = static_cast<float>(v);
    const auto whole = is_float(type) ? 0 : static_cast<int64_t>(v);
    const void* from = type == DType::kF64   ? static_cast<const void*>(&v)
                       : type == DType::kF32 ? static_cast<const void*>(&single)
                                             : static_cast<const void*>(&whole);
    bytes->append(static_cast<const char*>(from), static_cast<size_t>(size_of(type)));
  }
  t.data = *bytes;
  t.owner = bytes;
  return t;
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

void Importer::find_needed() {
  const onnx::Graph& g = model_.graph;
  for (const onnx::ValueInfo& info : g.outputs) needed_.insert(info.name);
  for (size_t i = g.nodes.size(); i-- > 0;) {
    const onnx::Node& node = g.nodes[i];
    const bool used = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [&](std::string_view name) { return needs(name); });
    if (used) needed_.insert(node.inputs.begin(), node.inputs.end());
    needed_.erase("");
  }
}

Result<ImportedGraph> Importer::run() {
  const onnx::Graph& g = model_.graph;
  find_needed();
  for (const onnx::Tensor& t : g.initializers) {
    attempt(fmt::format("initializer `{}`", t.name), [&] { add_constant(t.name, t); });
  }
  for (const onnx::ValueInfo& info : g.inputs) {
    attempt(fmt::format("input `{}`", info.name), [&] { add_input(info); });
  }
  for (const onnx::Node& node : g.nodes) {
    const auto made = std::find_if(node.outputs.begin(), node.outputs.end(),
                                   [&](std::string_view name) { return needs(name); });
    // What no output follows from is left out.
    if (made == node.outputs.end()) continue;
    attempt(fmt::format("{} `{}`", node.op_type, *made), [&] { add_node(node); });
  }
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
  return Importer(model, given).run();
}

DType import_type(onnx::DataType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.onnx == type) return pair.own;
  }
  throw Unsupported{fmt::format("the language has no type for {}", onnx::name_of(type))};
}

onnx::DataType onnx_type(DType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.own == type) return pair.onnx;
  }
  return onnx::DataType::kUndefined;
}

size_t import_axis(int64_t axis, size_t rank) {
  const auto dims = static_cast<int64_t>(rank);
  if (axis < -dims || axis >= dims) {
    throw Unsupported{fmt::format("there is no axis {} of {}", axis, rank)};
  }
  return static_cast<size_t>(axis < 0 ? axis + dims : axis);
}

}  // namespace hone::ops
