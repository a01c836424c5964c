// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/quick.h"

#include <algorithm>

namespace hone::runtime {

QuickChecks::QuickChecks(const CallPlan& plan, const ir::ArgsLayout& layout) {
  if (!plan.dims.empty() || !plan.scalars.empty()) return;
  for (size_t i = 0; i < plan.params.size(); ++i) {
    const ParamPlan& p = plan.params[i];
    if (p.constant) continue;
    if (!p.fixed) return;
    Param quick{};
    quick.count = p.sizes.count;
    quick.begin = p.sizes.begin;
    quick.end = p.sizes.end;
    quick.odd = static_cast<uint64_t>(p.align - 1);
    quick.slot = layout.tensor_slots[i];
    quick.type = p.type;
    quick.rank = static_cast<int8_t>(p.sizes.rank);
    quick.written = p.written;
    quick.may_be_flat = p.may_be_flat;
    std::copy_n(p.sizes.extents, p.sizes.rank, quick.extents);
    std::copy_n(p.sizes.strides, p.sizes.rank, quick.strides);
    params_.push_back(quick);
  }
  usable_ = params_.size() <= kMost;
}

bool QuickChecks::fits(const Param& p, const TensorRef& t) {
  const auto address = reinterpret_cast<uint64_t>(t.data());
  if (t.type() != p.type || (p.written && !t.writable()) || (address & p.odd) != 0) return false;
  if (address == 0) return false;
  if (t.rank() == TensorRef::kFlat) return p.may_be_flat && t.count() == p.count;
  if (t.rank() != p.rank) return false;
  for (int i = 0; i < p.rank; ++i) {
    if (t.extent(i) != p.extents[i] || t.stride(i) != p.strides[i]) return false;
  }
  return true;
}

bool QuickChecks::fill(std::span<const ArgRef> args, int64_t* slots) const {
  if (!usable_ || args.size() != params_.size()) return false;
  int64_t begins[kMost], ends[kMost];
  for (size_t i = 0; i < args.size(); ++i) {
    const Param& p = params_[i];
    const TensorRef* t = args[i].tensor();
    if (!t || !fits(p, *t)) return false;
    const auto address = reinterpret_cast<int64_t>(t->data());
    begins[i] = address + p.begin;
    ends[i] = address + p.end;
    slots[p.slot] = address;
  }
  for (size_t w = 0; w < args.size(); ++w) {
    if (!params_[w].written) continue;
    for (size_t i = 0; i < args.size(); ++i) {
      if (i != w && begins[w] < ends[i] && begins[i] < ends[w]) return false;
    }
  }
  return true;
}

}  // namespace hone::runtime
