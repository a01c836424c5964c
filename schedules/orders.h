// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/ir/program.h"

namespace hone::schedules {

/// True of a reduction whose result depends on the order of its terms.
bool rounds(const ir::Stage& s);

/// Says in which order the terms of a definition's sums are added, and multiplied.
class Orders {
 public:
  Orders(const ir::Program& definition, const ir::Program& scheduled)
      : definition_(definition), scheduled_(scheduled) {}

  /// In which order the products of a sum of the definition multiply, `{(A*[seq{(B*C)}])}`; empty
  /// where that is the definition's.
  std::string products(const ir::Stage& defined) const;

  /// The order in which what `s` holds is summed; empty where it is no sum.
  std::string of(const ir::Stage& s) const;

  /// Which results of a recurrence are prefixes of the lanes of a vector, `scan(j%8)`, and where
  /// its borders are cut off. Empty where none are, or where no order shows.
  std::string scanned(const ir::Stage& s) const;

 private:
  /// How a recurrence that goes on in blocks adds: what each adds up to, how those go on, and how
  /// elements of a block do. Empty where `s` has none.
  std::string in_blocks(const ir::Stage& s) const;

  /// The stage that computes what `s` passes on or combines.
  const ir::Stage& computing(const ir::Stage& s) const;

  /// The stage of the schedule that makes the tensor of `load`. Null where that is one of the
  /// definition, or a copy of such a one, whose name is left in `origin`.
  const ir::Stage* partial(const ir::Expr& load, std::string& origin) const;

  /// A product as it multiplies.
  struct ProductTree;
  /// Copies stand as what they copy, partial results of the schedule with the order of their
  /// making.
  void add(const ir::Expr& e, ProductTree& out) const;

  /// True of the sum of a running reduction's parts, each times a factor that their maxima decide.
  bool is_rescaled(const ir::Stage& s) const;

  /// True of the maxima of parts, and of what passes them on or combines them.
  bool passes_maxima_on(const ir::Stage& s) const;

  /// The results that `s` passes on or combines, if it does nothing else.
  const ir::Expr& passed_on(const ir::Stage& s) const;

  /// The stage whose result `s` only passes on or combines; null where there is none.
  const ir::Stage* source(const ir::Stage& s) const;

  /// What index `position` of the tensor that `s` writes means, in variables of the definition.
  std::string meaning(const ir::Stage& s, size_t position) const;

  /// A variable of `s` in variables of the definition: those of a combining stage are indices of
  /// the partial results.
  std::string root(const ir::Stage& s, const std::string& var) const;

  /// A loop as a part of its variable: `k`, `k/8`, `k%8`, `k/64%8`; `tails` says how what does not
  /// divide is treated.
  std::string path(const ir::Stage& s, const std::string& loop, bool tails) const;

  /// The loops of `s` that reduce nothing, and such loops of the stages around it. They may turn a
  /// range that differs between elements into one known in the code.
  std::string around(const ir::Stage& s, const std::string& last) const;

  /// What `s` reads that a stage of the schedule keeps: where, how laid out, and how filled.
  /// Vectors follow the tile's, and a range of few elements is added one by one where they lie
  /// apart.
  std::string kept(const ir::Stage& s) const;

  /// Bytes of the widest element that `s` reads, or that what fills its register tiles reads. They
  /// decide how many lanes fit a vector; addresses do not count.
  int widest_element(const ir::Stage& s) const;

  /// The order of the loops that `s` itself reduces; `seq` where that is the definition's, unless
  /// their names are asked for.
  std::string own(const ir::Stage& s, bool named) const;

  const ir::Program& definition_;
  const ir::Program& scheduled_;
};

}  // namespace hone::schedules
