// SPDX-License-Identifier: Apache-2.0
#include "ops/uses/known_ops.h"

#include <fmt/format.h>

#include "ops/definition.h"
#include "ops/stock.h"

namespace hone::ops {

const Op* KnownOps::find(const std::string& name) {
  if (const Op* op = here_.find(name)) return op;
  if (const Op* op = besides_ ? besides_->find(name) : nullptr) return op;
  const auto [at, is_new] = stock_.try_emplace(name);
  if (is_new) at->second = find_stock(name);
  return at->second ? &*at->second : nullptr;
}

void KnownOps::tell_unused(Diagnostics& diagnostics) const {
  for (const Op& op : here_.ops) {
    if (used_.contains(op.name())) continue;
    diagnostics.consequence(op.definition->span,
                            fmt::format("no statement uses the op `{}`; the last op of a text is "
                                        "what it is about, and those before are there to be used",
                                        op.name()));
  }
}

}  // namespace hone::ops
