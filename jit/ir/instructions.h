// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "include/hone/dtype.h"
#include "jit/ir/program.h"
#include "jit/ir/target.h"

namespace hone::ir {

/// An instruction with a meaning, for the step `tensorize`. In each lane it does `acc += sum of
/// a[i]*b[i], i in 0..group`, with a and b widened to acc's type first. A group lies together in
/// memory and takes the place of one lane's element.
///
/// With `lanes` it works on tiles: `acc[m,n] += sum of a[m,i]*b[i,n]` for m in 0..rows, n in
/// 0..columns, i in 0..group. That many lanes hold the tiles together, as tile_axes() says. With
/// `most_columns` it is asynchronous (wgmma): it runs on until the threads wait for it. Tiles of
/// results that stand side by side are then one. Its factors lie in shared memory; `a` may be in
/// registers.
struct Instruction {
  const char* name;
  int group;         ///< iterations of the reduction that one instruction takes
  DType a;           ///< of one factor
  DType b;           ///< of the other; they may stand in either order
  DType accumulate;  ///< of the running value
  uint32_t isa;      ///< the target has all of these extensions,
  uint32_t or_isa;   ///< or all of these; 0: no other way
  int operations;    ///< arithmetic instructions it comes to,
  /// And those that bring a factor into shape, once for all that it meets, where they compete with
  /// the products.
  int prepared;
  int sums;  ///< running values of its own, one for each vector of a factor
  /// How it rounds, as numerics classes say it; null: it is exact.
  const char* numerics;
  const char* doc;
  int rows = 1;          ///< of the tile of results
  int columns = 1;       ///< of the tile of results
  int lanes = 0;         ///< that hold a tile together; 0: a vector's, each on its own
  int sm = 0;            ///< least compute capability that has it, ten times; 0: of a CPU
  bool narrows = false;  ///< drops bits of the factors: only where asked for by name
  int most_columns = 0;  ///< of tiles side by side; 0: it takes one tile, at once

  bool operator==(const Instruction&) const = delete;  // rows are compared by address
};

/// All rows, the ones to prefer first.
std::span<const Instruction> instructions();

/// The row of that name, or null.
const Instruction* instruction_named(std::string_view name);

/// True when the target can run it.
bool available(const Instruction& instruction, const Target& target);

/// `isa=avx512,vnni or isa=avx2,avxvnni`: what available() asks for.
std::string needs(const Instruction& instruction);

/// Whether one instruction can take this number of columns of results.
bool takes_columns(const Instruction& instruction, int64_t columns);
/// Columns of results that instructions with `most_columns` take, in all.
std::span<const int> side_by_side();

/// The three tiles of an instruction on tiles.
enum class Operand : uint8_t { kA, kB, kResult };

/// Layout of a buffer made of an operand's tiles in the registers of a warp. The last axes, `lanes`
/// elements in all, are the lanes; the others number the registers of each. `row` is the dim along
/// m (of b: along n), `column` the one along the sum (of results: along n).
std::vector<Axis> tile_axes(const Instruction& instruction, Operand operand, int row, int column);
/// Rows and columns of an operand's tile, as tile_axes() takes them.
int tile_rows(const Instruction& instruction, Operand operand);
int tile_columns(const Instruction& instruction, Operand operand);

}  // namespace hone::ir
