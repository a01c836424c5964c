// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/expr.h"
#include "ops/bounds.h"
#include "ops/syntax.h"

namespace hone::ops {

/// An index with its half-open range.
struct Bound {
  std::string name;
  ir::Expr lo;
  ir::Expr hi;
  ir::Expr extent = {};  ///< where data ends the range: of a dim that the index runs over
};

/// Is it a dim, a parameter or an argument of `d`, and so no index?
bool is_number(const Definition& d, std::string_view name);
/// An index, an extent or a condition on them as an expression, in which names that `d` does not
/// have are variables. Null where it is made of something else.
ir::Expr index_expr(const Definition& d, const Term& t);
/// The way back.
Term index_term(const ir::Expr& e);
/// The place among all that `ranges` go through, the first outermost, counted from 0.
ir::Expr place_among(const std::vector<Bound>& ranges);
/// The first of `ranges` whose ends vary with other indices or with data, or null.
const Bound* varying_range(const std::vector<Bound>& ranges);
/// The same number or condition in its shortest form.
ir::Expr tidy(const ir::Expr& e);
/// `e` with the variable `name` replaced.
ir::Expr with_value(const ir::Expr& e, std::string_view name, const ir::Expr& value);
/// Are both surely equal?
bool equal_index(const ir::Expr& a, const ir::Expr& b);

}  // namespace hone::ops
