// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Halide.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace hone::jit::halide {

/// Statements of C++ that make expressions. What an expression needs more than once has a name.
class Writer {
 public:
  /// `left = value;`, after its requirements: new RDoms, and shared parts.
  void define(const std::string& left, const Halide::Expr& value);
  void line(const std::string& text) { lines_.push_back(text); }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void count(const Halide::Expr& e);
  void declare(const Halide::Domain& domain);
  std::string text(const Halide::Expr& e);

  std::vector<std::string> lines_;
  std::set<std::string> declared_;           ///< RDoms
  std::map<const Halide::Node*, int> uses_;  ///< in the statement
  std::map<const Halide::Node*, std::string> names_;
  std::vector<Halide::Expr> kept_;  ///< keeps nodes with names alive
  int number_ = 0;
};

}  // namespace hone::jit::halide
