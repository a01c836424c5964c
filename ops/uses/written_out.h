// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ops/uses/fit.h"

namespace hone::ops {

/// The names of an op, to which uses add theirs.
class UsedNames {
 public:
  explicit UsedNames(const Definition& d);

  /// A name for a tensor that nothing else has.
  std::string tensor(const std::string& wanted);
  /// A name for an index, which other statements may have for theirs; not one of `also`.
  std::string index(const std::string& wanted, const std::set<std::string>& also);

 private:
  void collect(const Term& t);
  void collect(const std::vector<Range>& ranges);

  std::set<std::string> fixed_;  ///< of all but indices
  std::set<std::string> all_;
};

/// The statements of an op that is used, in the names of its user.
class WrittenOut {
 public:
  WrittenOut(Fit& fit, UsedNames& names);

  /// None where something is missing: an error says what.
  std::vector<Statement> statements();

 private:
  void name_indices(UsedNames& names);
  void collect_indices(const Term& t, std::set<std::string>& found) const;
  void name_tensors(UsedNames& names);
  void find_extras();
  size_t extra_of(const Term& t) const;
  size_t extra_of(const Statement& s) const;
  Statement statement(const Statement& s);
  std::vector<Range> left(const Statement& s, const Term& value);
  void state_range(Range& r, const Term& value, const ir::Expr& extent);
  Term term(const Term& t);
  Term name(const Term& t);
  Term access(const Term& t);
  Range range(const Range& r);
  std::string type(const std::string& name);
  std::vector<std::string> batch(size_t extra) const;

  Fit& fit_;
  WrittenTensors own_;  ///< of the op that is used
  std::map<std::string, std::string> indices_;
  std::map<std::string, std::string> tensors_;  ///< that its statements make
  std::map<std::string, size_t> extras_;        ///< of these: how many indices of the batch
  bool failed_ = false;
};

}  // namespace hone::ops
