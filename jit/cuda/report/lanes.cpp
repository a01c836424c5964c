// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/report/lanes.h"

#include "jit/ir/integers.h"

namespace hone::jit {

using namespace ir;

namespace {

LaneValue same(int64_t value) {
  LaneValue out;
  out.lane.fill(value);
  return out;
}

}  // namespace

LaneState::LaneState(const Nest& nest, std::vector<int64_t> dims)
    : dims_(std::move(dims)), loops_(nest.loops.size()) {}

void LaneState::set(int loop, int64_t value) { set(loop, same(value)); }

LaneValue LaneState::binary(const Expr& e) const {
  LaneValue a = value(e->args[0]);
  const LaneValue b = value(e->args[1]);
  for (size_t l = 0; l < kLanes; ++l) a.lane[l] = combined(e->op, a.lane[l], b.lane[l]);
  a.data |= b.data;
  return a;
}

LaneValue LaneState::value(const Expr& e) const {
  switch (e->op) {
    case Op::kInt:
      return same(e->i);
    case Op::kVar:
      return get(e->id);
    case Op::kDim:
      return same(dims_[static_cast<size_t>(e->id)]);
    case Op::kLoad: {
      LaneValue at = value(e->args[0]);
      for (int64_t& v : at.lane) v *= 8;
      at.data = true;
      return at;
    }
    case Op::kCast:
      return value(e->args[0]);
    case Op::kNeg:
    case Op::kNot: {
      LaneValue x = value(e->args[0]);
      for (int64_t& v : x.lane) v = e->op == Op::kNeg ? -v : v == 0;
      return x;
    }
    case Op::kSelect: {
      const LaneValue c = value(e->args[0]);
      LaneValue a = value(e->args[1]);
      const LaneValue b = value(e->args[2]);
      for (size_t l = 0; l < kLanes; ++l) a.lane[l] = c.lane[l] ? a.lane[l] : b.lane[l];
      a.data |= b.data || c.data;
      return a;
    }
    case Op::kFloat:
    case Op::kScalar:
    case Op::kCall: {
      LaneValue x = same(1);
      x.data = true;
      return x;
    }
    default:
      return binary(e);
  }
}

}  // namespace hone::jit
