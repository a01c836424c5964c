// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/syntax.h"

namespace hone::ops {

/// Terms that no text was parsed for.
Term whole_term(int64_t value);
/// A number, written as an integer where it is one.
Term number_term(double value);
Term name_term(std::string name);
Term access_term(std::string tensor, std::vector<Term> at);
Term call_term(std::string function, std::vector<Term> args);
Term infix_term(Infix op, Term a, Term b);
Term prefix_term(Term::Kind kind, Term a);
Term cast_term(std::string type, Term a);
/// `a` where `condition` holds, else 0.
Term select_term(Term condition, Term a);
/// What `old = value`, `old += value` and the like leave in an element.
Term updated_term(Assign assign, const Term& old, const Term& value);
/// `access`, which reads `otherwise` outside of its tensor.
Term with_else(Term access, Term otherwise);
/// All of `conditions`, one or more.
Term all_of_terms(const std::vector<Term>& conditions);

/// Have both the same text?
bool same(const Term& a, const Term& b);
/// Is it this number?
bool is_number(const Term& t, double value);

/// True where `f(part)` holds for `t` or a part of it; ranges of reductions count.
template <class F>
bool any_part(const Term& t, const F& f) {
  if (f(t)) return true;
  for (const Term& a : t.args) {
    if (any_part(a, f)) return true;
  }
  for (const Range& r : t.ranges) {
    for (const Term& b : r.bounds) {
      if (any_part(b, f)) return true;
    }
  }
  return false;
}

/// `t` with parts replaced: `f(part)` gives what stands for a part, whole, or nothing.
template <class F>
Term replaced(const Term& t, const F& f) {
  if (std::optional<Term> other = f(t)) return *std::move(other);
  Term out = t;
  for (Term& a : out.args) a = replaced(a, f);
  for (Range& r : out.ranges) {
    for (Term& b : r.bounds) b = replaced(b, f);
  }
  return out;
}

/// Does `t` mention the index `name`?
bool mentions(const Term& t, std::string_view name);
/// Does `t` read the tensor `name`?
bool reads(const Term& t, std::string_view name);
/// Nothing but numbers, dims, parameters and indices, so that `/` is of integers.
bool is_whole(const Term& t);

}  // namespace hone::ops
