// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/host/host_function.h"

namespace hone::ops {
namespace {

constexpr const HostFunction* kAll[] = {&kCompress, &kNonMaxSuppression, &kNonzero, &kUnique};

}  // namespace

std::span<const HostFunction* const> host_functions() { return kAll; }

const HostFunction* find_host_function(std::string_view name) {
  const auto* const at = std::find_if(std::begin(kAll), std::end(kAll),
                                      [&](const HostFunction* f) { return f->name == name; });
  return at == std::end(kAll) ? nullptr : *at;
}

}  // namespace hone::ops
