// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jit/halide/stage.h"
#include "jit/halide/value.h"

namespace hone::jit::halide {

/// The domain that a stage reduces over. A bound that data or other variables give becomes a
/// condition within the least box around it. A split with one loop factored out is made here.
class Reduction {
 public:
  Reduction(const ir::Stage& stage, const Ranges& ranges, Values& values, StageFuncs& out)
      : stage_(stage), ranges_(ranges), values_(values), out_(out) {}

  /// Binds the stage's reduction variables; the domain is left undefined where there is none.
  Halide::RDom bind();

 private:
  /// A variable of the domain.
  struct Leaf {
    std::string name;
    Halide::Expr lo, extent;
  };
  /// A variable that is put together of the halves of a split.
  struct Whole {
    std::string name;
    Halide::Expr end;
    std::string outer, inner;
    int64_t factor;
  };

  bool is_factored(const std::string& loop) const;
  const ir::Relation* split_of(const std::string& loop) const;
  bool leads_to_factored(const std::string& loop) const;
  void take(const ir::IndexVar& v);
  void take_apart(const std::string& loop, const Halide::Expr& extent);
  void make_domain();
  void put_together(const Whole& w);

  const ir::Stage& stage_;
  const Ranges& ranges_;
  Values& values_;
  StageFuncs& out_;
  std::vector<Leaf> leaves_;
  std::vector<Whole> apart_;
  std::vector<const ir::IndexVar*> ragged_;
  Halide::RDom dom_;
};

}  // namespace hone::jit::halide
