// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cli/common.h"
#include "runtime/cli/npy.h"
#include "runtime/model/model_state.h"

namespace hone::runtime {

/// What a command line says of a model.
struct ModelLine {
  std::vector<std::string> words = {};    ///< its file and its dims, `mlp.graph B=8`
  std::vector<std::string> maybe = {};    ///< dims, which count where the model has them
  std::vector<std::string> inputs = {};   ///< `x=x.npy`: a tensor and the file that it is read from
  std::vector<std::string> outputs = {};  ///< `y=y.npy`: a tensor and the file that it goes to
};

/// Declares --dim, whose values `with_dims` puts behind the words.
void add_dims(CLI::App& app, std::vector<std::string>& dims);

/// Words of a line with those of --dim behind. Only lines of models take these.
Result<std::vector<std::string>> with_dims(std::vector<std::string> words,
                                           const std::vector<std::string>& dims);

/// A tensor of a model that has a file of its own.
struct TensorFile {
  std::string tensor;
  std::string path;
};

/// Memory for the tensors that a model is given. Names are those that calls have; they point into
/// the model's file.
struct ModelTensors {
  std::vector<TensorMemory> memory;
  std::vector<NamedTensor> weights, inputs, outputs;
};

/// A graph with all that it takes to run it.
struct LoadedGraph {
  std::string path;
  std::shared_ptr<EngineState> engine;
  ModelFile file;
  std::string dims;  ///< `B=8 S=1..128`; those that files tell are among them
  ModelTensors tensors;
  std::vector<TensorFile> inputs, outputs;  ///< tensors that have files
  std::shared_ptr<const ModelState> model;
  double load_ms = 0;
};

/// Loads a model. Inputs without a file, and weights of graphs, hold random numbers below 1. Dims
/// that calls tell are as large as in the files, else as large as they can be. Dims that the line
/// does not bind are as in the files. Fails where a file and the model do not go together.
Result<LoadedGraph> load_graph(const Common& common, const ModelLine& line);

/// Outputs with the shapes that a call told.
std::vector<NamedTensor> with_shapes(const std::vector<NamedTensor>& outputs,
                                     const std::vector<TensorShape>& shapes);

/// Writes those of the outputs of a call that have files.
Result<Done> write_outputs(const LoadedGraph& g, const std::vector<NamedTensor>& outputs);

/// A tensor as messages have it: `x f32[2,3]`.
std::string text_of(const NamedTensor& t);

/// The ops of a step, joined: `matmul+relu`.
std::string kernel_name(const ModelStep& step);

}  // namespace hone::runtime
