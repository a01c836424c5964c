// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "include/hone/error.h"
#include "include/hone/model.h"

namespace hone::bench {

/// A model that a peer has loaded.
class PeerModel {
 public:
  virtual ~PeerModel() = default;
  /// Calls are on these tensors from now on, which must stay where they are: dense ones, by the
  /// names that the file has. Fails on types that the peer lacks. A tensor that the model has not,
  /// or of another shape, fails the call.
  virtual Result<Done> bind(std::span<const NamedTensor> inputs,
                            std::span<const NamedTensor> outputs) = 0;
  /// One call on the tensors that are bound. Fails with the peer's own words.
  virtual Result<Done> run() = 0;
};

/// How a peer is to load a model.
struct PeerLoad {
  std::string path;
  int threads = 1;
  std::vector<std::pair<std::string, int64_t>> dims;  ///< that the suite has fixed, by their names
};

/// A library that runs whole models: one row a file. Rows exist where the library was found at
/// build time.
struct ModelPeer {
  const char* name;
  /// Loads a file. Fails where the peer cannot, with its own words.
  Result<std::unique_ptr<PeerModel>> (*load)(const PeerLoad& how);
  /// The most bytes that a call takes, its inputs, its outputs and what lives between calls apart,
  /// of a model that is loaded and called for this alone; null: the peer does not tell.
  Result<int64_t> (*call_bytes)(const PeerLoad& how, std::span<const NamedTensor> inputs,
                                std::span<const NamedTensor> outputs);
  /// Version, and how it was built. Fails where the library cannot be opened.
  Result<std::string> (*about)();
};

std::span<const ModelPeer* const> model_peers();

}  // namespace hone::bench
