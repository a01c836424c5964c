// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ops/source.h"
#include "ops/syntax.h"
#include "ops/uses/written_tensors.h"

namespace hone::ops {

/// How the arguments of a use fit the op that it names, in the words of the user's op.
class Fit {
 public:
  /// A tensor argument, and how many dims it has before those that the op takes.
  struct Operand {
    std::string tensor;
    size_t extra = 0;
  };

  /// A result of the op, and the left side that takes it; null: the statement leaves it out.
  struct Made {
    const Argument* result;
    const Left* left;
  };

  /// `s` is `Y[b,i,j] = used(...)`, a statement of `user`.
  Fit(const Definition& used, const Definition& user, const Statement& s,
      const WrittenTensors& tensors, Diagnostics& diagnostics)
      : used_(used), user_(user), s_(s), tensors_(tensors), diagnostics_(diagnostics) {}

  /// False where something does not fit: an error says what.
  bool solve();

  const Definition& used() const { return used_; }
  const Statement& statement() const { return s_; }
  /// The results of the op, in its order.
  const std::vector<Made>& results() const { return results_; }
  /// The extents of one in the words of the user's op, those of the batch first; null where nothing
  /// tells them.
  std::vector<ir::Expr> shape_of(const Made& made) const;
  /// The first left side that takes one.
  const Left& first() const { return *first_; }
  /// Whether a left side is an output of the user's op.
  bool is_output(const Left& left) const { return user_.arg(left.name) != nullptr; }
  /// Indices of left sides that results have not: every use of the op is repeated over them.
  const std::vector<std::string>& batch() const { return batch_; }
  /// The extents of these; null where nothing tells.
  const std::vector<ir::Expr>& batch_extents() const { return batch_extents_; }
  /// What stands for a tensor argument.
  const Operand& operand(const std::string& name) const { return operands_.at(name); }
  bool is_operand(const std::string& name) const { return operands_.contains(name); }
  /// What stands for a dim, an integer parameter or a scalar; null where nothing tells, and then
  /// an error says so.
  const Term* number(const std::string& name);
  /// What stands for a dtype; empty where nothing names it.
  std::string type(const std::string& name) const;
  /// The same where it is needed: an error where nothing names it.
  std::string needed_type(const std::string& name);

 private:
  /// An extent of an argument or of a result, and the same in the user's op.
  struct Extent {
    const Argument* of;
    const Left* left;  ///< of a result
    std::string tensor;
    size_t declared;  ///< the dim in the op that is used
    size_t dim;       ///< the dim in the user's
    ir::Expr actual;  ///< null: unknown
  };

  template <class... Args>
  bool error(Span span, fmt::format_string<Args...> format, Args&&... args) {
    diagnostics_.error(span, fmt::format(format, std::forward<Args>(args)...));
    return false;
  }
  bool find_results();
  bool check_statement();
  bool check_left(const Made& made);
  bool is_left(const std::string& tensor) const;
  bool take_params();
  bool take_param(const Given& given);
  bool take_arguments();
  bool take_tensor(const Argument& a, const Term& t);
  bool take_scalar(const Argument& a, const Term& t);
  bool fill_batch();
  bool solve_dims();
  bool solve_dim(const Extent& e);
  ir::Expr in_users_dims(const Term& extent) const;
  bool compare(const Extent& e);
  bool name_type(const std::string& declared, const std::string& actual, const std::string& what);
  bool name_types();
  bool convert_scalars();
  std::string signature() const;

  const Definition& used_;
  const Definition& user_;
  const Statement& s_;
  const WrittenTensors& tensors_;
  Diagnostics& diagnostics_;
  std::vector<Made> results_;
  const Left* first_ = nullptr;
  std::vector<std::string> batch_;
  std::vector<ir::Expr> batch_extents_;
  std::map<std::string, Operand> operands_;
  std::map<std::string, Term> numbers_;
  std::map<std::string, ir::Expr> solved_;  ///< dims and integer parameters
  std::vector<Extent> extents_;
  std::map<std::string, std::string> types_;
  std::map<std::string, std::string> named_by_;  ///< what gave a dtype its name
};

}  // namespace hone::ops
