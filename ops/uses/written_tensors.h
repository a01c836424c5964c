// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/expr.h"
#include "ops/syntax.h"

namespace hone::ops {

/// An extent as an expression, in which all names are dims.
ir::Expr extent_expr(const Term& t);

/// A tensor as the text tells it, before types and ranges are resolved.
struct WrittenTensor {
  std::string name;
  std::string type;             ///< empty: its statement states none
  std::vector<ir::Expr> shape;  ///< null: nothing states this extent
};

/// The tensors that the statements of an op can read so far.
class WrittenTensors {
 public:
  explicit WrittenTensors(const Definition& d);

  /// The statements that follow can read what this one defines.
  void add(const Statement& s);
  /// The same, where the extents are known.
  void add(WrittenTensor t);
  /// The tensor of that name, or null.
  const WrittenTensor* find(std::string_view name) const;
  /// Their names.
  std::vector<std::string> names() const;
  /// The extent of a dim that `index` indexes by itself in `t`, without `else`; null: of none.
  ir::Expr used_extent(const Term& t, const std::string& index) const;

 private:
  std::vector<WrittenTensor> all_;
  std::map<std::string, size_t, std::less<>> places_;  ///< in `all_`, by name
};

/// Does `t` read an element, without `else`, that has `index` alone as an index?
bool indexes_by_itself(const Term& t, std::string_view index);

}  // namespace hone::ops
