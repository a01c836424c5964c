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
  ir::Expr fill;                ///< a constant
};

/// The padding that spares the readers of `tensor` their guards: all guarded loads of it fill with
/// one constant, and their indices have constant bounds. Nothing where that is not so, or where no
/// load is guarded.
std::optional<Padding> padding_for(const ir::Program& p, const std::vector<size_t>& readers,
                                   const ir::Buffer& tensor);

/// `e` with the loads of `from` made loads of `to`, a copy that begins `padding.before` earlier.
ir::Expr read_padded(const ir::Expr& e, const std::string& from, const std::string& to,
                     const Padding& padding);

}  // namespace hone::schedules
