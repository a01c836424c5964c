// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "schedules/steps/edit.h"

namespace hone::schedules {

/// How far readers reach beyond a tensor, and what they find there.
struct Padding {
  std::vector<int64_t> before;  ///< elements in front of index 0, per dim
  std::vector<int64_t> after;   ///< elements behind the last, per dim
  std::vector<int64_t> wraps;   ///< per dim: its extent, where the tensor begins anew; 0: not there
  ir::Expr fill;                ///< elsewhere: a constant; null where all inside
};

/// The padding that spares the readers of `tensor` their guards: all guarded loads of it fill with
/// one constant, and their indices have constant bounds. With `wrap`, remainders by a dim's extent
/// are spared, too, where they go beyond it by no more elements than it has. Nothing where there is
/// nothing to spare, or that is not so.
std::optional<Padding> padding_for(const ir::Program& p, const std::vector<size_t>& readers,
                                   const ir::Buffer& tensor, bool wrap);

/// `e` with the loads of `from` made loads of `to`, a copy that begins `padding.before` earlier.
ir::Expr read_padded(const ir::Expr& e, const std::string& from, const std::string& to,
                     const Padding& padding);

}  // namespace hone::schedules
