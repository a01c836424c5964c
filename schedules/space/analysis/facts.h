// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/program.h"

namespace hone::schedules {

/// Where counts of points and bytes end, so that sums and small multiples of them fit.
/// Fixed by: no memory is larger.
constexpr int64_t kMostCount = int64_t{1} << 48;

/// a * b of counts, none of them negative; kMostCount where the product exceeds it.
inline int64_t saturating_product(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? kMostCount : std::min(out, kMostCount);
}

/// An index as constant + sum of coefficient * variable.
struct Affine {
  int64_t constant = 0;  ///< dims of the call left out
  bool open = false;     ///< dims of the call add to the constant
  std::map<std::string, int64_t> terms;
};

/// `e` as an affine index; nothing where it is not one (gathers, products of variables,
/// remainders).
std::optional<Affine> affine_of(const ir::Expr& e);

/// True of an affine index and of the least or greatest of such: a border clamps or reflects it.
bool is_clamped(const ir::Expr& e);

/// The variable that `e` is, or "".
std::string plain_var(const ir::Expr& e);

/// A size to reckon with: constants as they are, dims of the call at the value they should be good
/// at, anything else 64.
int64_t typical(const ir::Program& program, const ir::Expr& e);

/// A size that no call exceeds; typical() where data decide.
int64_t at_most(const ir::Program& program, const ir::Expr& e);

/// One tensor access of a stage, by the variables that move it.
struct Access {
  std::string buffer;
  std::vector<ir::Expr> indices;
  bool guarded = false;
  bool gathers = false;   ///< some index is not affine
  int element_bytes = 0;  ///< a byte of sub-byte types
  /// Elements in memory that one step of a variable moves; variables that do not are left out.
  std::map<std::string, int64_t> strides;
  /// Those whose steps move it by distances that differ: data or a division chooses. Along others
  /// an access that gathers still goes by its stride.
  std::set<std::string> chosen;
  /// Of these, those whose steps leave it near, as in X[j/2] and X[j ^ 1]. A vector of steps is one
  /// load and a shuffle.
  std::set<std::string> slow;
  /// Variables along which elements lie a few apart, and what lies between them is read as well.
  /// That is by a short loop of the reduction, whose variable this is, or by other loads ("").
  std::map<std::string, std::string> structures;
  int64_t stride(const std::string& var) const;
};

/// True of an access whose place data choose.
bool chosen_by_data(const Access& access);

/// What rules know of a stage: sizes, accesses and the work of one point. No names of ops.
struct StageFacts {
  std::map<std::string, int64_t> extents;  ///< of index and reduction variables, typical
  std::vector<Access> loads;               ///< of the value, in text order, each once
  Access store;
  /// Variables that bounds of reduction variables depend on: their loops stay outside those.
  std::set<std::string> bounds;
  int operations = 0;  ///< arithmetic instructions of one point, scalar functions at their length
  bool calls = false;  ///< has a scalar function
  int64_t extent(const std::string& var) const;

  /// Points that variables take together: the product of their extents, empty ones counted as 1.
  /// `vars`: IndexVars, names, or a map by names, such as `extents` or the strides of an access.
  template <class Vars>
  int64_t points(const Vars& vars) const {
    int64_t out = 1;
    for (const auto& v : vars) {
      out = saturating_product(out, std::max<int64_t>(extent(name_of(v)), 1));
    }
    return out;
  }

 private:
  static const std::string& name_of(const std::string& name) { return name; }
  static const std::string& name_of(const ir::IndexVar& v) { return v.name; }
  static const std::string& name_of(const std::pair<const std::string, int64_t>& entry) {
    return entry.first;
  }
};

/// `device`: what scalar functions take on a GPU counts.
StageFacts facts_of(const ir::Program& program, const ir::Stage& stage, bool device = false);

/// The operations among the facts of a stage of this value, on a CPU.
int operations_of_point(ir::Reduce reduce, const ir::Expr& value);

/// The loads of `buffer` in a stage's value.
std::vector<ir::Expr> loads_of(const ir::Stage& stage, std::string_view buffer);

/// True of a stage at the root that is computed once, when constants are bound. It reads constants
/// alone, and nothing of the call decides its values.
bool made_at_bind(const ir::Program& program, const ir::Stage& stage);

/// True of a constant, and of what is made of constants at bind: a copy of it costs calls nothing.
bool is_bound(const ir::Program& program, const ir::Buffer& buffer);

/// Indices of the stages that read `buffer`.
std::vector<size_t> readers_of(const ir::Program& program, std::string_view buffer);

/// Elements of a buffer's axis order that one step along each dim moves.
std::vector<int64_t> dim_strides(const ir::Program& program, const ir::Buffer& buffer);

/// Typical bytes of a buffer.
int64_t bytes_of(const ir::Program& program, const ir::Buffer& buffer);

}  // namespace hone::schedules
