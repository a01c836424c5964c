// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/halide/buffers.h"
#include "jit/halide/value.h"

namespace hone::jit::halide {

/// What became of a stage: where its loops are.
struct StageFuncs {
  Halide::Func result;  ///< the Func of its buffer
  int definition = 0;   ///< of that Func: 0 is the pure one, others updates
  /// A reduction of its own, where the result is none; `result` then only stores it.
  std::optional<Halide::Func> reduction;
  bool reduces = false;  ///< loops are those of an update, of `reduction` or of `result`
  std::vector<std::pair<std::string, Halide::Var>> vars;    ///< by the stage's names
  std::vector<std::pair<std::string, Halide::RVar>> rvars;  ///< of what is left to reduce
  std::vector<std::string> taken_apart;  ///< reduction variables whose splits are in the definition
};

/// Makes Funcs of a program's stages, one after the other.
class StageMaker {
 public:
  StageMaker(const ir::Program& program, Buffers& buffers, Floats floats)
      : program_(program), buffers_(buffers), floats_(floats), ranges_(program) {}

  StageFuncs make(const ir::Stage& stage);

 private:
  /// A place along one dimension of the output.
  struct Place {
    std::string var;   ///< the variable that gives it; empty: none
    ir::Expr offset;   ///< beside the variable
    Halide::Var pure;  ///< of the Func
  };

  std::vector<Place> places_of(const ir::Stage& stage) const;
  bool covers(const ir::Stage& stage, const Place& place, const ir::Expr& size) const;
  Halide::Expr bind_places(const ir::Stage& stage, const std::vector<Place>& places,
                           Values& values);
  void define(const ir::Stage& stage, const std::vector<Place>& places, const Halide::Expr& value,
              const Halide::Expr& condition, StageFuncs& out);
  void reduce(const ir::Stage& stage, const std::vector<Place>& places, Halide::Func f,
              Values& values, StageFuncs& out);

  const ir::Program& program_;
  Buffers& buffers_;
  const Floats floats_;
  Ranges ranges_;
};

}  // namespace hone::jit::halide
