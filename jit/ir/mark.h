// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

namespace hone::ir {

/// How a loop runs. Marks are carried out by lowering and the back ends.
enum class Mark : uint8_t {
  kSerial,
  kUnroll,
  kVector,
  kParallel,
  kScatter,  ///< an index that terms tell: the loop runs where results begin, see scatter.h
  kTensor,   ///< all iterations, with those of tensor loops inside, are one Loop::instruction
  kBlockX,
  kBlockY,
  kBlockZ,
  kThreadX,
  kThreadY,
  kThreadZ,
};

/// What a mark is, in one place.
struct MarkRow {
  /// What of a GPU the loop's iterations are bound to.
  enum Axes : uint8_t { kNone, kGrid, kBlock };

  std::string_view name;  ///< as printed
  Axes axes = kNone;
  int axis = 0;         ///< 0, 1, 2 for x, y, z
  bool in_nest = true;  ///< loops of a nest have it; else lowering carries it out
};

/// By Mark.
inline constexpr MarkRow kMarkRows[] = {
    {"serial"},
    {"unroll"},
    {"vec"},
    {.name = "parallel", .in_nest = false},
    {.name = "scatter", .in_nest = false},
    {"tensor"},
    {"block.x", MarkRow::kGrid, 0},
    {"block.y", MarkRow::kGrid, 1},
    {"block.z", MarkRow::kGrid, 2},
    {"thread.x", MarkRow::kBlock, 0},
    {"thread.y", MarkRow::kBlock, 1},
    {"thread.z", MarkRow::kBlock, 2},
};

constexpr const MarkRow& row_of(Mark m) { return kMarkRows[static_cast<int>(m)]; }
constexpr std::string_view name_of(Mark m) { return row_of(m).name; }
/// The loop's iterations are blocks of a grid.
constexpr bool is_block(Mark m) { return row_of(m).axes == MarkRow::kGrid; }
/// The loop's iterations are threads of a block.
constexpr bool is_thread(Mark m) { return row_of(m).axes == MarkRow::kBlock; }
/// 0, 1, 2 for x, y, z of a bound loop.
constexpr int axis_of(Mark m) { return row_of(m).axis; }

static_assert(kMarkRows[static_cast<int>(Mark::kTensor)].name == "tensor" &&
              std::size(kMarkRows) == static_cast<int>(Mark::kThreadZ) + 1);

}  // namespace hone::ir
