// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/source.h"
#include "ops/uses/known_ops.h"

namespace hone::ops {

/// The `case` lines of one file. They are checked when all its ops are read, since a case may stand
/// before its op.
class CaseLines {
 public:
  /// Reads the line whose word `case` begins at `at` into `library`; returns where it ends.
  int read(int at, Library& library, Diagnostics& diagnostics);
  /// Nothing is said of cases of this op, which has errors itself.
  void leave_out(const std::string& op) { left_out_.insert(op); }
  /// Tells of cases that name no op, or give one bindings that do not fit.
  void check(const Library& library, KnownOps& ops, Diagnostics& diagnostics);

 private:
  struct Place {
    int begin;  ///< of the problem
    std::string problem;
  };
  std::vector<Place> places_;
  std::set<std::string> left_out_;
};

}  // namespace hone::ops
