// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "ops/op.h"
#include "ops/source.h"

namespace hone::ops {

/// The ops that a text may name: those before it in its file, those known besides, the stock ones.
class KnownOps {
 public:
  /// `here` grows as the text is read; `besides` may be null.
  KnownOps(const Library& here, const Library* besides) : here_(here), besides_(besides) {}

  /// The op of that name, or null; good until `here` grows.
  const Op* find(const std::string& name);
  /// Tells of ops before the last one of a text that no statement uses.
  void tell_unused(Diagnostics& diagnostics) const;
  /// A statement uses the op of that name.
  void used(const std::string& name) { used_.insert(name); }

 private:
  const Library& here_;
  const Library* besides_;
  std::map<std::string, std::optional<Op>> stock_;  ///< those asked for
  std::set<std::string> used_;
};

}  // namespace hone::ops
