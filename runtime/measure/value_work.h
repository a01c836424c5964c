// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "jit/ir/program.h"
#include "jit/ir/target.h"
#include "runtime/measure/domain.h"
#include "runtime/measure/work.h"

namespace hone::runtime {

/// What a stage's value takes. Equal parts count once, indices of loads not at all, nor do
/// conditions on indices.
class ValueWork {
 public:
  /// `share`: of the domain, where the value is needed. All but the share must outlive it.
  ValueWork(const ir::Program& program, const ir::Target& target, const Domain& domain,
            double share);

  /// `summed`: the value goes into a sum, which takes a product in the same instruction.
  void add(const ir::Expr& e, bool summed) { add(e, summed, 1); }
  /// One addition, comparison or product for each value that a reduction takes.
  void add_reduction(const ir::Stage& stage);
  /// How often the value is needed.
  double points(const ir::Expr& e) const;

  double operations = 0;
  Work::Slots singles, doubles;

 private:
  double distinct_terms(const ir::Stage& stage) const;
  /// A part and in which share of the points it is needed.
  void add(const ir::Expr& e, bool added, double needed);
  /// Counts `n` instructions; `adds` of them are additions and the like without a product.
  void count(const ir::Expr& e, DType type, double n, double adds);
  /// Lanes of 32 bits that an element takes.
  double lanes_of(const ir::Expr& e, DType type) const;
  /// How many products of halves make the product of 64-bit integers that `e` is; 1 for others.
  double halves_of(const ir::Expr& e) const;
  /// The variables whose steps change `e`: along a stride of 0 a tensor does not.
  Vars moving(const ir::Expr& e) const;
  void move(const ir::Expr& e, Vars& names) const;
  /// The part that counts of the points of a value, and of the elements that it reads.
  struct Shares {
    double points = 1, elements = 1;
  };
  /// `points` of `e`, or of `e` with each value of a choice in it where those are fewer together:
  /// f(select(c,a,b)) is select(c,f(a),f(b)). So is f of a read with an `else`. Of `most` choices
  /// at most.
  template <class F>
  double apart(const ir::Expr& e, int most, Shares of, const F& points) const;
  /// By what the values of `e` differ. A condition on indices is one of two, whatever they are.
  struct Told {
    Vars beside;          ///< variables that stand beside the elements read
    Vars outside;         ///< those, and those that choose elements
    double elements = 1;  ///< that are read, of all loads together
    double choices = 1;   ///< of the conditions on indices
  };
  Told told(const ir::Expr& e) const;
  /// The choices of what a value depends on: of its indices, or of the elements that it reads and
  /// the indices beside them.
  double times(const ir::Expr& e) const;
  ir::Expr with_values_of_temporaries(const ir::Expr& e) const;
  double varying(const ir::Expr& e, const Vars& names) const;
  double times_together(const ir::Expr& e, Shares of) const;

  const ir::Program& program_;
  const Domain& domain_;
  double share_;
  bool has_wide_product_;
  double widest_;                       ///< bytes that an integer needs at most
  std::map<std::string, double> seen_;  ///< shares counted, by the text
};

}  // namespace hone::runtime
