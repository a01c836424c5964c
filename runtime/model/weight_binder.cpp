// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/weight_binder.h"

#include <fmt/format.h>

#include "runtime/model/device_weights.h"

namespace hone::runtime {

Result<std::shared_ptr<const BoundState>> WeightBinder::bind(
    const ops::Group& group, const std::shared_ptr<const KernelState>& kernel) {
  const auto contents = contents_of(group);
  if (contents && !contents->empty()) {
    if (auto shared = engine_.weights.find(*contents, *kernel)) return shared;
  }
  auto bound = pack(group, kernel);
  if (bound && *bound && contents) engine_.weights.add(*contents, kernel, *bound);
  return bound;
}

std::optional<ContentHash> WeightBinder::hash_of(int v) {
  const auto [at, fresh] = hashes_.try_emplace(v);
  const auto bytes = fresh ? constants_.bytes(v) : std::nullopt;
  if (bytes) at->second = content_hash(*bytes);
  return at->second;
}

std::optional<SharedWeights::Contents> WeightBinder::contents_of(const ops::Group& group) {
  SharedWeights::Contents contents;
  for (const int v : group.reads) {
    if (value(v).kind != ops::GraphValue::kConstant) continue;
    const auto hash = hash_of(v);
    if (!hash) return {};
    contents.push_back(*hash);
  }
  return contents;
}

Result<std::shared_ptr<const BoundState>> WeightBinder::pack(
    const ops::Group& group, const std::shared_ptr<const KernelState>& kernel) {
  std::shared_ptr<const BoundState> bound;
  for (size_t i = 0; i < group.reads.size(); ++i) {
    const int v = group.reads[i];
    if (value(v).kind != ops::GraphValue::kConstant) continue;
    const std::string name = kernel->plan.params[i].name;
    auto more = bind_weight(kernel, bound ? *bound : BoundState(), name, constants_.at(v));
    if (!more) {
      return Failure{more.failure().code,
                     fmt::format("weight `{}`: {}", value(v).name, more.failure().message)};
    }
    bound = std::move(*more);
  }
  if (bound) bytes_ += bound->bytes;
  return bound;
}

}  // namespace hone::runtime
