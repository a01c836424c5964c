// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/model_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "jit/interp/data.h"
#include "jit/interp/scalar.h"
#include "ops/graph/extent_range.h"

namespace hone::runtime {
namespace {

/// The name of a value as calls have it.
std::string_view name_of_given(const ModelFile& file, const ops::GraphValue& v) {
  const auto at = file.names.find(v.name);
  return at == file.names.end() ? std::string_view(v.name) : std::string_view(at->second);
}

/// May a file hold this tensor?
bool takes_file(const ModelFile& file, const ops::GraphValue& v, bool output) {
  if (output) return v.output;
  const auto& own = file.weight_names;
  const bool in_model = std::find(own.begin(), own.end(), v.name) != own.end();
  return v.kind == ops::GraphValue::kInput || (v.kind == ops::GraphValue::kConstant && !in_model);
}

/// A tensor that the line names, and its file.
struct NamedFile {
  int value = 0;
  std::string path;
};

/// Reads `x=x.npy`. Names may have signs of equality in them, and so may paths: the longest name
/// of the model counts.
Result<NamedFile> find_named(const ModelFile& file, const std::string& text, bool output) {
  std::string names;
  NamedFile out{-1, ""};
  size_t longest = 0;
  for (size_t v = 0; v < file.graph.values.size(); ++v) {
    const ops::GraphValue& value = file.graph.values[v];
    if (!takes_file(file, value, output)) continue;
    const std::string_view name = name_of_given(file, value);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    const bool named =
        text.starts_with(name) && text.size() > name.size() && text[name.size()] == '=';
    if (!named || (out.value >= 0 && name.size() < longest)) continue;
    longest = name.size();
    out = {static_cast<int>(v), text.substr(name.size() + 1)};
  }
  const std::string_view option = output ? "--output" : "--input";
  if (out.value < 0) {
    return Failure{ErrorCode::kArgument,
                   fmt::format("{} {}: no such tensor; `NAME=FILE.npy` is accepted, where NAME is "
                               "one of {}",
                               option, text, names)};
  }
  if (out.path.empty()) {
    return Failure{ErrorCode::kArgument, fmt::format("{} {}: no file is named", option, text)};
  }
  return out;
}

/// The tensors of the line that have files, each once.
Result<std::map<int, std::string>> find_all(const ModelFile& file,
                                            const std::vector<std::string>& texts, bool output) {
  std::map<int, std::string> out;
  for (const std::string& text : texts) {
    auto named = find_named(file, text, output);
    if (!named) return named.failure();
    const auto [at, fresh] = out.emplace(named->value, named->path);
    if (fresh) continue;
    return Failure{
        ErrorCode::kArgument,
        fmt::format("{}: the tensor is given twice, the other file is {}", text, at->second)};
  }
  return out;
}

/// The tensors of a graph: those of files, random ones below 1, and outputs that hold nothing.
class TensorMaker {
 public:
  explicit TensorMaker(const ModelFile& file) : file_(file), graph_(file.graph) {}

  /// Reads the files of inputs, by value of the graph.
  Result<Done> read(const std::map<int, std::string>& paths) {
    paths_ = paths;
    for (const auto& [v, path] : paths) {
      auto array = read_npy(path, value(v).type);
      if (!array) return array.failure();
      const size_t rank = npy_shape_of(value(v).type, shape_of_rank(v)).size();
      if (array->shape.size() != rank) return misfit(v, array->shape);
      arrays_.emplace(v, *std::move(array));
    }
    return tell();
  }

  /// `words` with the dims behind that it does not bind and files tell.
  std::string with_told(std::string words) const {
    for (const auto& [name, at] : told_) {
      const bool bound = (" " + words).find(" " + name + "=") != std::string::npos;
      if (!bound) words += fmt::format("{}{}={}", words.empty() ? "" : " ", name, at.extent);
    }
    return words;
  }

  /// Makes all tensors. `dims` are the ranges of the graph's dims.
  Result<ModelTensors> run(const std::vector<ir::Dim>& dims) {
    for (ir::Dim dim : dims) {
      const auto at = told_.find(dim.name);
      if (at != told_.end() && (at->second.extent < dim.lo || at->second.extent > dim.hi)) {
        return Failure{ErrorCode::kArgument,
                       fmt::format("{}: dim {} is {}; {} was bound to {}{}", at->second.path,
                                   at->second.place, at->second.extent, dim.name, dim.lo,
                                   dim.lo == dim.hi ? "" : fmt::format("..{}", dim.hi))};
      }
      dim.lo = dim.hi = at == told_.end() ? dim.hi : at->second.extent;
      dims_.push_back(dim);
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (auto f = add(static_cast<int>(v)); !f) return f.failure();
    }
    jit::fill_parameters(program_, views_, {}, {}, jit::DataSet::kTimed, 1);
    for (const jit::TensorView& view : views_) keep_small(view);
    return std::move(out_);
  }

 private:
  /// What a file says of a dim.
  struct ToldDim {
    int64_t extent = 0;
    std::string path;
    size_t place = 0;
  };

  const ops::GraphValue& value(int v) const { return graph_.values[static_cast<size_t>(v)]; }

  std::vector<int64_t> shape_of_rank(int v) const {
    return std::vector<int64_t>(value(v).shape.size(), 0);
  }

  /// The dims that stand by themselves in the shapes of inputs. The last one of elements that share
  /// bytes is not told by their bytes.
  Result<Done> tell() {
    for (const auto& [v, array] : arrays_) {
      const size_t told = value(v).shape.size() - (is_packed(value(v).type) ? 1 : 0);
      for (size_t i = 0; i < told; ++i) {
        const ir::Expr& extent = value(v).shape[i];
        if (extent->op != ir::Op::kDim) continue;
        const auto [at, fresh] =
            told_.emplace(extent->name, ToldDim{array.shape[i], paths_.at(v), i});
        if (fresh || at->second.extent == array.shape[i]) continue;
        return Failure{
            ErrorCode::kArgument,
            fmt::format("{}: dim {} is {}, which is {}; that is {} in {}", paths_.at(v), i,
                        array.shape[i], extent->name, at->second.extent, at->second.path)};
      }
    }
    return Done{};
  }

  Failure misfit(int v, const std::vector<int64_t>& given) const {
    std::vector<std::string> wanted;
    for (const ir::Expr& extent : value(v).shape) {
      wanted.push_back(ir::print(dims_.empty() ? extent : ops::with_fixed_dims(extent, dims_)));
    }
    return {ErrorCode::kArgument,
            fmt::format("{}: its shape is ({}); `{}: {}[{}]` is accepted{}", paths_.at(v),
                        fmt::join(given, ", "), name_of_given(file_, value(v)),
                        name_of(value(v).type), fmt::join(wanted, ","),
                        is_packed(value(v).type) ? ", with whole bytes for its rows" : "")};
  }

  std::vector<int64_t> shape_of(const ops::GraphValue& v) const {
    std::vector<int64_t> shape;
    for (const ir::Expr& extent : v.shape) {
      shape.push_back(ops::with_fixed_dims(extent, dims_)->i);
    }
    return shape;
  }

  Result<Done> add(int at) {
    const ops::GraphValue& v = value(at);
    if (!takes_file(file_, v, v.output)) return Done{};
    const std::vector<int64_t> shape = shape_of(v);
    const auto given = arrays_.find(at);
    if (given != arrays_.end()) {
      if (given->second.shape != npy_shape_of(v.type, shape)) {
        return misfit(at, given->second.shape);
      }
      out_.memory.push_back(std::move(given->second.memory));
    } else {
      out_.memory.emplace_back(static_cast<size_t>(dense_bytes(v.type, shape)));
    }
    void* data = out_.memory.back().data();
    auto& list = v.output                               ? out_.outputs
                 : v.kind == ops::GraphValue::kConstant ? out_.weights
                                                        : out_.inputs;
    list.push_back({name_of_given(file_, v), TensorRef(data, v.type, shape)});
    if (!v.output && given == arrays_.end()) add_random(v, data, shape);
    return Done{};
  }

  void add_random(const ops::GraphValue& v, void* data, const std::vector<int64_t>& shape) {
    // Elements that share bytes are any bytes.
    const DType type = is_packed(v.type) ? DType::kU8 : v.type;
    const std::vector<int64_t> flat{dense_bytes(v.type, shape) / size_of(v.type)};
    ir::Buffer b;
    b.name = v.name;
    b.type = type;
    b.role = ir::Role::kInput;
    b.shape.push_back(ir::make_int(flat[0]));
    program_.buffers.push_back(std::move(b));
    views_.push_back({data, type, flat, {1}});
  }

  /// Wide integers may be positions: 0 and 1 are so in nearly all tensors.
  static void keep_small(const jit::TensorView& view) {
    if (view.type != DType::kI64 && view.type != DType::kI32) return;
    for (int64_t i = 0; i < view.elements(); ++i) {
      jit::write_int(view.type, view.data, i, jit::read_int(view.type, view.data, i) & 1);
    }
  }

  const ModelFile& file_;
  const ops::Graph& graph_;
  std::map<int, std::string> paths_;  ///< of the files, by value
  std::map<int, NpyArray> arrays_;    ///< what they hold
  std::map<std::string, ToldDim> told_;
  std::vector<ir::Dim> dims_;
  ir::Program program_;
  std::vector<jit::TensorView> views_;
  ModelTensors out_;
};

/// Has outputs the sizes that a model knows since it is loaded: data of constants tell some.
void fit_outputs(std::vector<NamedTensor>& outputs, const std::vector<Param>& params) {
  for (NamedTensor& t : outputs) {
    for (const Param& p : params) {
      if (p.name != t.name || p.role != Role::kOutput) continue;
      std::vector<int64_t> shape;
      for (int i = 0; i < t.tensor.rank(); ++i) {
        const int64_t known = p.shape[static_cast<size_t>(i)].value;
        shape.push_back(known >= 0 ? known : t.tensor.extent(i));
      }
      t.tensor = TensorRef(const_cast<void*>(t.tensor.data()), t.tensor.type(), shape);
    }
  }
}

std::vector<TensorFile> files_of(const ModelFile& file, const std::map<int, std::string>& paths) {
  std::vector<TensorFile> out;
  for (const auto& [v, path] : paths) {
    const ops::GraphValue& value = file.graph.values[static_cast<size_t>(v)];
    out.push_back({std::string(name_of_given(file, value)), path});
  }
  return out;
}

}  // namespace

void add_dims(CLI::App& app, std::vector<std::string>& dims) {
  app.add_option("--dim", dims, "Of a model: what a dim is, `batch=8`, or its range, `batch=1..64`")
      ->allow_extra_args(false);
}

Result<std::vector<std::string>> with_dims(std::vector<std::string> words,
                                           const std::vector<std::string>& dims) {
  if (!dims.empty() && (words.empty() || !is_model_file(words[0]))) {
    return Failure{ErrorCode::kArgument,
                   "--dim is of models: name a FILE.graph or FILE.onnx; of an op's dims write "
                   "`M=8` behind its name"};
  }
  words.insert(words.end(), dims.begin(), dims.end());
  return words;
}

Result<LoadedGraph> load_graph(const Common& common, const ModelLine& line) {
  LoadedGraph out;
  out.path = line.words[0];
  auto engine = open_engine(common);
  if (!engine) return engine.failure();
  out.engine = std::move(*engine);
  auto file = read_model_file(line.words[0], out.engine->library().get());
  if (!file) return file.failure();
  out.file = std::move(*file);
  const auto inputs = find_all(out.file, line.inputs, false);
  if (!inputs) return inputs.failure();
  const auto outputs = find_all(out.file, line.outputs, true);
  if (!outputs) return outputs.failure();
  out.inputs = files_of(out.file, *inputs);
  out.outputs = files_of(out.file, *outputs);
  TensorMaker maker(out.file);
  if (auto f = maker.read(*inputs); !f) return f.failure();
  std::vector<std::string> words(line.words.begin() + 1, line.words.end());
  const auto& names = out.file.graph.dims;
  for (const std::string& dim : line.maybe) {
    const bool there =
        std::find(names.begin(), names.end(), dim.substr(0, dim.find('='))) != names.end();
    if (there) words.push_back(dim);
  }
  out.dims = maker.with_told(fmt::format("{}", fmt::join(words, " ")));
  const auto dims = bind_dims(out.file.graph, out.dims);
  if (!dims) return dims.failure();
  auto tensors = maker.run(*dims);
  if (!tensors) return tensors.failure();
  out.tensors = std::move(*tensors);
  const auto begin = std::chrono::steady_clock::now();
  auto model =
      ModelState::load(*out.engine, out.file, {.dims = out.dims, .weights = out.tensors.weights});
  if (!model) return model.failure();
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  out.load_ms = spent.count();
  out.model = std::move(*model);
  fit_outputs(out.tensors.outputs, out.model->params);
  return out;
}

std::vector<NamedTensor> with_shapes(const std::vector<NamedTensor>& outputs,
                                     const std::vector<TensorShape>& shapes) {
  std::vector<NamedTensor> out;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const TensorRef& t = outputs[k].tensor;
    const std::span<const int64_t> shape(shapes[k].extents.data(),
                                         static_cast<size_t>(shapes[k].rank));
    out.push_back({outputs[k].name, TensorRef(t.data(), t.type(), shape)});
  }
  return out;
}

Result<Done> write_outputs(const LoadedGraph& g, const std::vector<NamedTensor>& outputs) {
  for (const TensorFile& file : g.outputs) {
    for (const NamedTensor& t : outputs) {
      if (t.name != file.tensor) continue;
      if (auto f = write_npy(file.path, t.tensor); !f) return f.failure();
    }
  }
  return Done{};
}

std::string text_of(const NamedTensor& t) {
  std::vector<int64_t> shape;
  for (int i = 0; i < t.tensor.rank(); ++i) shape.push_back(t.tensor.extent(i));
  return fmt::format("{} {}[{}]", t.name, name_of(t.tensor.type()), fmt::join(shape, ","));
}

std::string kernel_name(const ModelStep& step) {
  return fmt::format("{}", fmt::join(step.ops, "+"));
}

}  // namespace hone::runtime
