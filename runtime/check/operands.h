// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/check/fixture.h"
#include "runtime/check/site.h"

namespace hone::runtime {

/// The tensors of a fixture at a site. On the host they are the fixture's own; a device has one or
/// several copies. Timing takes copies in turns, so that they do not stay in the device's cache.
class Operands {
 public:
  /// Allocates and fills all copies: as many as asked for, or as there is memory for. Site and
  /// fixture must outlive them.
  static Result<Operands> create(Site& site, const Fixture& fixture, int copies = 1);
  /// As many copies as together exceed the site's cache twice, up to 64.
  static int copies_past_cache(const Site& site, const Fixture& fixture);

  Site& site() const { return *site_; }
  const Fixture& fixture() const { return *fixture_; }
  int copies() const { return copies_.empty() ? 1 : static_cast<int>(copies_.size()); }
  /// Where parameter `param` begins in a copy.
  void* address(int copy, size_t param) const;
  /// Parameter `param` in the first copy of a device.
  const Block& block(size_t param) const { return *copies_[0][param]; }
  Block& block(size_t param) { return *copies_[0][param]; }
  /// Outputs as the fixture has them now, to the first copy.
  Result<Done> upload() const;
  /// What the first copy's outputs hold, to the fixture.
  Result<Done> download() const;
  /// The first parameter around which memory was written in the first copy, or the first input that
  /// is not what the fixture has, or "".
  Result<std::string> overwritten() const;
  /// The same where `changed(param)` says whether an input has.
  Result<std::string> overwritten(const std::function<Result<bool>(size_t)>& changed) const;

 private:
  using Copy = std::vector<std::unique_ptr<Block>>;  ///< per parameter

  Operands(Site& site, const Fixture& fixture) : site_(&site), fixture_(&fixture) {}
  Result<Copy> make_copy() const;
  Result<bool> differs(size_t param) const;

  Site* site_;
  const Fixture* fixture_;
  std::vector<Copy> copies_;  ///< none on the host
};

}  // namespace hone::runtime
