// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/interp/tape.h"
#include "jit/ir/nest.h"

namespace hone::jit {

/// Expressions of one statement as a tape; `results` are the registers they end in.
struct StmtTape {
  Tape tape;
  std::vector<int> results;
  bool lanes = false;  ///< evaluated for all lanes of the loop around
};

/// What a statement does. All here is one thread, for which the others are sequences: it waits for
/// nobody, and copies land at once.
enum class ExecKind : uint8_t { kSequence, kFor, kIf, kStore, kCheck };

/// A statement with its expressions made tapes (numbers into NestProgram::tapes, -1: none).
struct ExecNode {
  ExecKind kind = ExecKind::kSequence;
  int id = -1;               ///< loop or buffer
  bool opens_lanes = false;  ///< a loop whose iterations are the lanes of its body
  ir::Reduce reduce = ir::Reduce::kNone;
  int tape = -1;  ///< kFor: begin, end; kIf: condition; kStore: offset, value; kCheck: condition,
                  ///< position
  bool copies = false;  ///< kStore of an element as it was loaded
  std::vector<ExecNode> body;
};

/// A launch ready to run.
struct NestProgram {
  std::vector<StmtTape> tapes;
  ExecNode root;
};

/// Environment slots of a nest: loops, then dims, then integer scalars; floats have their own.
struct EnvLayout {
  int loops = 0;
  int dims = 0;
  int dim(int id) const { return loops + id; }
  int scalar(int id) const { return loops + dims + id; }
};

/// The statements of a launch as tapes.
NestProgram build_launch(const ir::Nest& nest, const ir::Launch& launch);
/// An expression in dims alone (sizes of buffers).
StmtTape build_size(const ir::Nest& nest, const ir::Expr& size);

}  // namespace hone::jit
