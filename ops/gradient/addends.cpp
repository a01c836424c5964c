// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/addends.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ops/gradient/terms.h"

namespace hone::ops {
namespace {

bool same_conditions(const std::vector<Condition>& a, const std::vector<Condition>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const Condition& x, const Condition& y) {
           return x.holds == y.holds && same(x.term, y.term);
         });
}

/// `addend` as a factor of 1, to compare.
std::string text_of(const Addend& addend) {
  Addend one = addend;
  one.outer.coefficient = 1;
  return print(one.term());
}

/// Equal terms become one.
void count_equal(std::vector<Addend>& addends) {
  std::vector<Addend> out;
  for (Addend& a : addends) {
    const auto at = std::find_if(out.begin(), out.end(), [&](const Addend& b) {
      return same_conditions(a.outside, b.outside) && text_of(a) == text_of(b);
    });
    if (at == out.end()) {
      out.push_back(std::move(a));
    } else {
      at->outer.coefficient += a.outer.coefficient;
    }
  }
  std::erase_if(out, [](const Addend& a) { return a.outer.coefficient == 0; });
  addends = std::move(out);
}

/// Does the sum go over all of some tensor once for the whole target, so that reading is its cost?
bool reads_all(const Addend& a, const Target& target) {
  return std::any_of(a.inner.factors.begin(), a.inner.factors.end(), [&](const Term& f) {
    return any_part(f, [&](const Term& p) {
      const auto here = [&](const Bound& b) { return mentions(p, b.name); };
      return p.kind == Term::kAccess && std::all_of(a.reduced.begin(), a.reduced.end(), here) &&
             std::all_of(target.indices.begin(), target.indices.end(), here);
    });
  });
}

bool same_ranges(const Addend& a, const Addend& b) {
  return a.reduced.size() == b.reduced.size() &&
         std::equal(a.reduced.begin(), a.reduced.end(), b.reduced.begin(),
                    [](const Bound& x, const Bound& y) {
                      return x.name == y.name && equal_index(x.lo, y.lo) && equal_index(x.hi, y.hi);
                    });
}

/// Do reads leave the same terms of both sums out?
bool same_limits(const Addend& a, const Addend& b) {
  return a.limits.size() == b.limits.size() &&
         std::equal(a.limits.begin(), a.limits.end(), b.limits.begin(),
                    [](const Term& x, const Term& y) { return same(x, y); });
}

Term plain_sum(const std::vector<Addend>& addends);

/// Sums along the same elements are one sum, which passes over them once.
void join_passes(std::vector<Addend>& addends, const Target& target) {
  std::vector<Addend> out;
  while (!addends.empty()) {
    std::vector<Addend> same, others;
    const Addend first = addends[0];
    const bool streams = !first.reduced.empty() && reads_all(first, target);
    for (Addend& a : addends) {
      const bool joins = streams && a.inside.empty() && same_ranges(a, first) &&
                         same_limits(a, first) && reads_all(a, target);
      (joins || (same.empty() && others.empty()) ? same : others).push_back(std::move(a));
    }
    addends = std::move(others);
    if (same.size() == 1 || !first.inside.empty()) {
      out.insert(out.end(), same.begin(), same.end());
      continue;
    }
    for (Addend& a : same) {
      a.outer.multiply(a.inner);
      a.reduced.clear();
    }
    Addend joined;
    joined.reduced = first.reduced;
    joined.limits = first.limits;
    joined.inner.factors.push_back(plain_sum(same));
    out.push_back(std::move(joined));
  }
  addends = std::move(out);
}

Term plain_sum(const std::vector<Addend>& addends) {
  if (addends.empty()) return whole_term(0);
  Term out = addends[0].term();
  for (size_t i = 1; i < addends.size(); ++i) {
    const bool minus = addends[i].outer.coefficient < 0;
    out = infix_term(minus ? Infix::kSub : Infix::kAdd, std::move(out), addends[i].term(minus));
  }
  return out;
}

/// The index and the number of a condition `q == 2`.
struct Choice {
  std::string index;
  int64_t value = 0;
};

bool is_choice(const Condition& c, const Target& target, Choice* found) {
  const Term& t = c.term;
  if (!c.holds || t.kind != Term::kInfix || t.infix != Infix::kEq) return false;
  if (t.args[0].kind != Term::kName || t.args[1].kind != Term::kInt) return false;
  *found = {t.args[0].name, t.args[1].i};
  return std::any_of(target.indices.begin(), target.indices.end(),
                     [&](const Bound& b) { return b.name == found->index; });
}

Term summed(std::vector<Addend> addends, const Target& target);

/// Terms for single values of one index: a chain of choices.
Term by_choices(std::vector<Addend>& addends, const Target& target) {
  std::string index;
  std::map<int64_t, std::vector<Addend>> cases;
  std::vector<Addend> others;
  for (Addend& a : addends) {
    Choice here;
    const auto at = std::find_if(a.outside.begin(), a.outside.end(), [&](const Condition& c) {
      return is_choice(c, target, &here) && (index.empty() || index == here.index);
    });
    if (at == a.outside.end()) {
      others.push_back(std::move(a));
      continue;
    }
    index = here.index;
    a.outside.erase(at);
    cases[here.value].push_back(std::move(a));
  }
  addends = std::move(others);
  if (cases.empty()) return {};
  int64_t extent = -1;
  for (const Bound& b : target.indices) {
    if (b.name == index) ir::is_const(b.hi, &extent);
  }
  const bool all = extent == static_cast<int64_t>(cases.size());
  Term out = whole_term(0);
  for (auto at = cases.rbegin(); at != cases.rend(); ++at) {
    Term value = summed(at->second, target);
    if (all && at == cases.rbegin()) {
      out = std::move(value);
      continue;
    }
    const Term here = infix_term(Infix::kEq, name_term(index), whole_term(at->first));
    out = call_term("select", {here, std::move(value), std::move(out)});
  }
  return out;
}

/// Terms under one condition and under its contrary are the sides of one choice.
Term by_condition(std::vector<Addend>& addends, const Target& target) {
  const Condition c = addends[0].outside[0];
  std::vector<Addend> sides[2], others;
  for (Addend& a : addends) {
    const auto at = std::find_if(a.outside.begin(), a.outside.end(),
                                 [&](const Condition& k) { return same(k.term, c.term); });
    if (at == a.outside.end()) {
      others.push_back(std::move(a));
      continue;
    }
    const size_t side = at->holds ? 0 : 1;
    a.outside.erase(at);
    sides[side].push_back(std::move(a));
  }
  addends = std::move(others);
  return call_term("select", {c.term, summed(sides[0], target), summed(sides[1], target)});
}

Term summed(std::vector<Addend> addends, const Target& target) {
  count_equal(addends);
  std::vector<Term> choices;
  const Term cases = by_choices(addends, target);
  if (cases.kind != Term::kInt) choices.push_back(cases);
  std::vector<Addend> plain, chosen;
  for (Addend& a : addends) (a.outside.empty() ? plain : chosen).push_back(std::move(a));
  while (!chosen.empty()) choices.push_back(by_condition(chosen, target));
  join_passes(plain, target);
  if (choices.empty()) return plain_sum(plain);
  if (!plain.empty()) choices.insert(choices.begin(), plain_sum(plain));
  Term out = choices[0];
  for (size_t i = 1; i < choices.size(); ++i) {
    out = infix_term(Infix::kAdd, std::move(out), choices[i]);
  }
  return out;
}

}  // namespace

Term sum_of_addends(std::vector<Addend> addends, const Target& target) {
  return summed(std::move(addends), target);
}

}  // namespace hone::ops
