// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ops/import/extent.h"
#include "ops/import/import.h"

namespace hone::ops {

/// Numbers of files are cut to this: `end` of a slice may be the largest there is.
/// Chosen: sums of some stay far within 64 bits, and no tensor is as long (not measured).
constexpr int64_t kMostInteger = int64_t{1} << 40;

/// A tensor of the model under import.
struct ImportValue {
  std::string name;  ///< in the graph's text
  DType type = DType::kF32;
  ImportShape shape;
  /// Its elements where they are integers that are known: shapes, axes, and what is made of them.
  std::optional<std::vector<int64_t>> known;
  /// The same where calls tell some of them.
  std::optional<ImportShape> sizes;
  /// Its element, where it is one float that is known.
  std::optional<double> number;
  const onnx::Tensor* tensor = nullptr;  ///< of a constant that no statement has named yet
};

/// Why a node has no op here.
struct Unsupported {
  std::string why;
  bool follows = false;  ///< perhaps from another node that has none
};

class Importer;

/// A node of the file, and what its attributes say. Its members throw Unsupported.
class ImportNode {
 public:
  ImportNode(Importer& importer, const onnx::Node& node, int64_t version)
      : importer_(importer), node_(node), version_(version) {}

  std::string_view op() const { return node_.op_type; }
  /// Of the set of operators.
  int64_t version() const { return version_; }
  size_t inputs() const { return node_.inputs.size(); }
  size_t outputs() const { return node_.outputs.size(); }
  bool has(size_t input) const {
    return input < node_.inputs.size() && !node_.inputs[input].empty();
  }
  /// Whether an output of the model follows from it.
  bool wants(size_t output) const;
  const ImportValue& input(size_t i) const;
  /// The elements of an input that are known.
  const std::vector<int64_t>& known(size_t i, const char* what) const;
  /// The same where calls may tell some: sizes of other tensors.
  ImportShape sizes(size_t i, const char* what) const;
  /// The same of floats, of at most 64.
  std::vector<double> numbers(size_t i, const char* what) const;

  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> otherwise) const;
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  const onnx::Tensor* tensor(std::string_view name) const;

  const onnx::Node& node() const { return node_; }
  Importer& importer() const { return importer_; }

 private:
  const onnx::Attribute* find(std::string_view name) const;

  Importer& importer_;
  const onnx::Node& node_;
  int64_t version_;
};

/// A tensor that an op of the text takes: the value, and its declaration in the op.
struct ImportArgument {
  const ImportValue* value;
  std::string name;   ///< in the op
  std::string shape;  ///< `D0,D1`
};

/// A tensor that an op of the text makes: the node's output of that number, and its declaration.
struct ImportResult {
  size_t output;
  DType type;
  ImportShape shape;
  std::string name, declared;
};

/// Which branch is taken of nodes whose condition is known: the one for true, or the other.
using ImportBranches = std::map<const onnx::Node*, bool>;

/// The text of a graph under way.
class Importer {
 public:
  /// What only branches need that `taken` leaves out is not made.
  Importer(const onnx::Model& model, const ImportedConstants& given, ImportBranches taken = {})
      : model_(model), given_(given), branches_(std::move(taken)) {}

  Result<ImportedGraph> run();

  /// A node that is an op of its own: its arguments, result and statements. The same text is one
  /// op. `output` is the node's result of that number.
  void make(const ImportNode& node, size_t output, DType type, ImportShape shape,
            const std::vector<ImportArgument>& arguments, const std::string& result_shape,
            const std::string& statements);
  /// The same of several results, which are all wanted.
  void make(const ImportNode& node, const std::vector<ImportResult>& results,
            const std::vector<ImportArgument>& arguments, const std::string& statements);
  /// A node that is a function of the host, `compress<axis=1>`. Results come in its order, those
  /// that nothing wants as well, and declare nothing.
  void call(const ImportNode& node, const std::string& function,
            const std::vector<ImportResult>& results,
            const std::vector<const ImportValue*>& arguments);
  /// A dim of its own, which the data of `node` tell.
  ImportExtent data_dim(const ImportNode& node);
  /// An output that is a value there is already.
  void alias(const ImportNode& node, size_t output, const ImportValue& value);
  /// An output whose integers are sizes; calls may tell some of them.
  void size(const ImportNode& node, size_t output, ImportShape values, std::vector<int64_t> shape,
            DType type);
  /// An output whose integers are known.
  void know(const ImportNode& node, size_t output, std::vector<int64_t> values,
            std::vector<int64_t> shape, DType type);
  /// An output that is a constant tensor, which the file or `fill` has made.
  void constant(const ImportNode& node, size_t output, const onnx::Tensor& tensor);
  /// A tensor all of whose elements are the one of `element`.
  const onnx::Tensor& fill(const onnx::Tensor& element, const std::vector<int64_t>& dims);
  /// A tensor of numbers that are computed here. Throws Unsupported for types of less than f32.
  const onnx::Tensor& tensor_of(DType type, const std::vector<int64_t>& dims,
                                const std::vector<double>& values);
  /// The nodes of a branch in the place of `node`, whose outputs are those of the branch.
  void enter(const onnx::Node& node, bool condition);
  const ImportBranches& branches() const { return branches_; }
  const ImportValue* find(std::string_view name) const;
  /// Whether an output of the model follows from a value.
  bool needs(std::string_view name) const { return needed_.contains(name); }

 private:
  template <class F>
  void attempt(const std::string& what, const F& f);
  /// What the outputs of `graph` that are needed follow from.
  void find_needed(const onnx::Graph& graph);
  void add_nodes(const onnx::Graph& graph);
  void add_input(const onnx::ValueInfo& info);
  void add_constant(std::string_view name, const onnx::Tensor& tensor);
  void add_node(const onnx::Node& node);
  void add_output(const onnx::ValueInfo& info);
  std::string fresh_name(std::string_view wanted);
  /// Declares a result of a node. The left side of the statement that makes it.
  std::string add_result(const ImportNode& node, const ImportResult& result);
  /// The name of a value in a statement; of a constant a weight is declared.
  std::string named(const ImportValue& value);
  std::string computed(const ImportValue& value);
  std::string dim_name(std::string_view wanted);

  const onnx::Model& model_;
  const ImportedConstants& given_;
  ImportBranches branches_;
  std::map<std::string, ImportValue, std::less<>> values_;
  std::set<std::string_view> needed_;
  std::set<std::string> names_;
  std::map<std::string, std::string> dims_;  ///< names of dims by those of the file
  std::map<std::string, std::string> ops_;   ///< names of ops by their texts
  std::map<std::string, int> op_count_;
  std::map<const onnx::Tensor*, std::string> weights_;
  std::deque<onnx::Tensor> filled_;
  std::string op_texts_, arguments_, results_, statements_, wrong_;
  ImportedGraph graph_;
};

/// What makes of a node ops of the language. Throws Unsupported.
using ImportRow = void (*)(const ImportNode&);

/// The row of an operator, or null.
ImportRow import_row(std::string_view op_type);
/// The same of ONNX's set for training.
ImportRow import_training_row(std::string_view op_type);

/// hone's type for one of ONNX's. Throws Unsupported.
DType import_type(onnx::DataType type);

/// `axis` from the front, of `rank` dims. Throws Unsupported where there is none such.
size_t import_axis(int64_t axis, size_t rank);

/// a * b. Throws Unsupported where 64 bits do not hold it.
int64_t import_product(int64_t a, int64_t b);

/// The letters of an op's dims and indices: `D0,D1`, `i0,i1`.
std::string import_dim(size_t axis);
std::string import_index(size_t axis);
std::string joined(const std::vector<std::string>& parts);
/// Those of all dims of a shape.
std::vector<std::string> import_dims(const ImportShape& shape);
std::vector<std::string> import_indices(const ImportShape& shape);
/// `text` with what stands for letters that are words by themselves.
std::string with_letters(const std::string& text, const std::map<char, std::string>& letters);

/// A shape of extents that are known, and a shape as the text of a declaration.
ImportShape fixed_shape(const std::vector<int64_t>& dims);
std::string text_of(const ImportShape& shape);
/// An extent that is known before a call. Throws Unsupported for others.
int64_t import_fixed(const ImportExtent& e);
/// The elements that dims `begin` to `end` have, with at most one dim in it that calls tell.
ImportExtent import_elements(const ImportShape& shape, size_t begin, size_t end);
/// The elements of a value that is known, or made of sizes.
std::optional<ImportShape> sizes_of(const ImportValue& value);

/// A float as the language has it.
std::string import_number(double value);

}  // namespace hone::ops
