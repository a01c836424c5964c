// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "include/hone/model.h"
#include "ops/graph/graph.h"
#include "ops/onnx/model.h"

namespace hone::runtime {

/// A model's file: its graph, and weights where the file has them.
struct ModelFile {
  ops::Graph graph;
  /// By the names in the graph's text; they point into what `kept` holds.
  std::vector<NamedTensor> weights;
  std::vector<std::string> weight_names;
  std::vector<std::shared_ptr<const void>> kept;
  /// What the file calls inputs and outputs, by their names in the graph's text.
  std::map<std::string, std::string> names;
};

/// Reads `.graph` texts and `.onnx` files, by the name's end. `library` may be null; `known` are
/// inputs of the latter that become constants.
Result<ModelFile> read_model_file(const std::string& path, const ops::Library* library,
                                  std::span<const NamedTensor> known = {});

/// The same of a model of ONNX at hand; `origin` names it in errors.
Result<ModelFile> model_of_onnx(std::shared_ptr<const onnx::Model> model, const std::string& origin,
                                const ops::Library* library,
                                std::span<const NamedTensor> known = {});

/// Whether the name ends as such a file's does.
bool is_model_file(std::string_view path);

}  // namespace hone::runtime
