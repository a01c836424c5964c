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
  void find_needed();
  const Fit::Made* made_by(const Statement& s) const;
  const Left* left_of(const Statement& s) const;
  void name_indices(UsedNames& names);
  void name_own_indices(const Statement& s, UsedNames& names);
  void collect_indices(const Statement& s, std::set<std::string>& found) const;
  void name_tensors(UsedNames& names);
  void find_extras();
  size_t extra_of(const Term& t) const;
  size_t extra_of(const Statement& s) const;
  Statement statement(const Statement& s);
  std::vector<Range> indices(const Statement& s, const Term& value);
  Term term(const Term& t);
  const std::string& index(const std::string& own) const;
  Term name(const Term& t);
  Term access(const Term& t);
  Range range(const Range& r);
  std::string type(const std::string& name);
  std::vector<std::string> batch(size_t extra) const;

  Fit& fit_;
  WrittenTensors own_;                    ///< of the op that is used
  std::vector<const Statement*> needed_;  ///< for what the user names
  std::set<std::string> lefts_;           ///< indices that the user names
  std::map<std::string, std::string> indices_;
  std::map<std::string, std::map<std::string, std::string>>
      own_indices_;                                           ///< of results, other ones
  const std::map<std::string, std::string>* here_ = nullptr;  ///< of the statement under way
  std::map<std::string, std::string> tensors_;                ///< that its statements make
  std::map<std::string, size_t> extras_;  ///< of these: how many indices of the batch
  bool failed_ = false;
};

}  // namespace hone::ops
