// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/halide/stage.h"

namespace hone::jit::halide {

/// Which loops the marks for vectors and unrolling are carried out on. Halide takes whole loops of
/// constant extent for both; of others a split makes one for vectors, and they are not unrolled.
enum class Marks : uint8_t {
  kWhole,  ///< whole loops wherever a constant extent is thinkable
  kSplit,  ///< whole loops where the steps alone make the extent constant
};

/// Carries a program's schedule over to the Funcs made of its stages.
class Scheduler {
 public:
  Scheduler(const ir::Program& program, Buffers& buffers, int vector_bytes, Marks marks)
      : program_(program), buffers_(buffers), vector_bytes_(vector_bytes), marks_(marks) {}

  /// Loops of a stage, then where it is computed. Consumers come before producers.
  void apply(const ir::Stage& stage, StageFuncs& made);

 private:
  /// A loop as Halide knows it.
  struct Known {
    Halide::Func func;
    Halide::VarOrRVar loop;
  };
  /// One definition of a Func, as its loops are being made.
  struct Definition {
    Halide::Func func;
    int number;                                      ///< 0: the pure one
    std::map<std::string, Halide::VarOrRVar> loops;  ///< by the stage's names
    Halide::Stage stage() { return number == 0 ? Halide::Stage(func) : func.update(number - 1); }
  };

  void root_loops(const ir::Stage& s, const StageFuncs& made, bool reduces,
                  Definition& definition) const;
  void derive(const ir::Stage& s, bool pure_only, Definition& definition);
  void order(const ir::Stage& s, const std::vector<const ir::Loop*>& loops, Definition& definition);
  void mark(const ir::Stage& s, const std::vector<const ir::Loop*>& loops, Definition& definition);
  int64_t extent_of(const ir::Stage& s, const std::string& loop) const;
  void vectorize(const ir::Stage& s, const ir::Loop& l, Definition& definition);
  void split_off(const ir::Stage& s, StageFuncs& made);
  void place(const ir::Stage& s, StageFuncs& made);
  void prefetch(const ir::Stage& s, Definition& definition);
  void remember(const ir::Stage& s, const Definition& definition);
  Halide::TailStrategy tail_of(const ir::Stage& s, const ir::Relation& r,
                               const Definition& definition) const;
  const Known& known(const ir::Place& place) const;

  const ir::Program& program_;
  Buffers& buffers_;
  const int vector_bytes_;
  const Marks marks_;
  std::map<std::string, Known> known_;  ///< by `stage/loop`
};

}  // namespace hone::jit::halide
