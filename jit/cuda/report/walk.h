// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/cuda/report/request.h"
#include "jit/ir/nest.h"

namespace hone::jit {

/// Statistics of one load or store of a launch. Counts are of the whole launch.
struct AccessSite {
  int buffer = -1;    ///< number in the nest
  std::string place;  ///< the element, as text
  bool store = false;
  bool shared = false;                    ///< in a block's shared memory
  bool data = false;                      ///< what tensors hold decides which element
  int bytes = 0;                          ///< of one lane
  double requests = 0;                    ///< by warps
  double sectors = 0, least_sectors = 0;  ///< global memory
  double rounds = 0, least_rounds = 0;    ///< shared memory
};

/// Statistics of a launch, over all its warps.
struct Walked {
  std::vector<AccessSite> sites;  ///< in the order in which they are reached
  double operations = 0;          ///< of all lanes; a scalar function is one
  double tensor_operations = 0;   ///< of them, by tensor cores
  /// Of these, by the bytes of what is multiplied: 1, 2, 4 and 8.
  std::array<double, 9> tensor_by_bytes{};
  double instructions = 0;   ///< that warps issue for all this, by estimate: issue.h
  double branches = 0;       ///< of warps: conditions, and loops whose ends lanes might not share
  double divergent = 0;      ///< of these, on which lanes disagree
  double data_branches = 0;  ///< of these, that data decide
  double lanes_run = 0, lanes_had = 0;  ///< of statements, by warps that reach them
};

/// How much of a launch is walked.
struct WalkOptions {
  /// Sample sizes: iterations of a loop, blocks along an axis of the grid, and warps of a block. 0
  /// walks all of them.
  int most = 4;
  /// The same elements read again within unrolled loops are read once, as compilers see to it.
  bool merge = true;
};

/// Walks `launch` as its warps do, for `block` threads along x, y, z, and the grid that the values
/// `dims` of Nest::dims make. Loops over threads are lanes; integers in tensors have stand-ins
/// (see LaneState), and conditions on data hold.
Walked walk(const ir::Nest& nest, const ir::Launch& launch, const std::array<int, 3>& block,
            const std::array<int64_t, 3>& grid, const std::vector<int64_t>& dims,
            const WalkOptions& options = {});

}  // namespace hone::jit
