// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/shifts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "ops/gradient/terms.h"

namespace hone::ops {
namespace {

/// What a shift by d at the element `at` makes of a value v: v*exp(scale*d) + add*d.
struct Effect {
  double scale = 0;
  double add = 0;
  std::vector<Term> at = {};

  bool none() const { return scale == 0 && add == 0; }
};

using Outcome = std::optional<Effect>;  // none: another change

bool same_place(const Effect& a, const Effect& b) {
  return a.at.size() == b.at.size() && std::equal(a.at.begin(), a.at.end(), b.at.begin(), same);
}

bool equal_effects(const Effect& a, const Effect& b) {
  return a.scale == b.scale && a.add == b.add && (a.none() || same_place(a, b));
}

class Shift {
 public:
  Shift(const Equations& equations, const std::string& name) : e_(equations), name_(name) {}

  bool changes_nothing() {
    bool past = false;
    for (const Equation& e : e_.all()) {
      if (e.name == name_) {
        past = true;
        known_[name_] = Effect{0, 1, e.element().args};
        continue;
      }
      known_[e.name] = past ? effect_of(e) : Outcome(Effect{});
    }
    for (const Equation& e : e_.all()) {
      const bool output = !e.part && e_.op().arg(e_.op().statements[e.statement].name);
      if (output && (!known_[e.name] || !known_[e.name]->none())) return false;
    }
    return true;
  }

 private:
  Outcome effect_of(const Equation& e) {
    const Outcome value = effect_of(e.value);
    if (!value || value->none() || e.reduction.empty()) return value;
    if (e.scatter) return effect_of_terms(e, *value);
    for (const Term& t : value->at) {
      for (const Bound& b : e.reduced) {
        if (mentions(t, b.name)) return {};
      }
    }
    if (e.reduction == "max" || e.reduction == "min") return value;
    if (e.reduction == "argmax" || e.reduction == "argmin") return Effect{};
    return e.reduction == "sum" && value->add == 0 ? value : Outcome();
  }

  /// Of a scatter whose terms change where they go.
  static Outcome effect_of_terms(const Equation& e, Effect value) {
    const std::vector<Term>& at = e.scatter->at;
    const bool here =
        value.at.size() == at.size() && std::equal(at.begin(), at.end(), value.at.begin(), same);
    const bool extreme = e.reduction == "max" || e.reduction == "min";
    const bool sum = e.reduction == "sum" && value.add == 0;
    if (!here || e.scatter->skip || !(extreme || sum)) return {};
    value.at = e.element().args;
    return value;
  }

  Outcome effect_of(const Term& t) {
    switch (t.kind) {
      case Term::kAccess:
        return effect_of_read(t);
      case Term::kNeg: {
        Outcome a = effect_of(t.args[0]);
        if (a) a->add = -a->add;
        return a;
      }
      case Term::kInfix:
        return effect_of_infix(t);
      case Term::kCall:
        return effect_of_call(t);
      case Term::kCast:
        return e_.is_real_type(t.name) ? effect_of(t.args[0]) : unchanged(t);
      default:
        return unchanged(t);
    }
  }

  /// No effect where no part has one.
  Outcome unchanged(const Term& t) {
    for (const Term& a : t.args) {
      const Outcome part = effect_of(a);
      if (!part || !part->none()) return {};
    }
    return Effect{};
  }

  Outcome effect_of_read(const Term& t) {
    for (const Term& a : t.args) {
      const Outcome part = effect_of(a);
      if (!part || !part->none()) return {};
    }
    const auto at = known_.find(t.name);
    if (at == known_.end()) {
      return e_.find(t.name) ? Outcome() : Outcome(Effect{});  // one to come, or an input
    }
    Outcome out = at->second;
    if (!out || out->none()) return out;
    if (t.guarded) return {};
    const Equation& from = *e_.find(t.name);
    for (Term& place : out->at) {
      place = replaced(place, [&](const Term& n) -> std::optional<Term> {
        for (size_t k = 0; n.kind == Term::kName && k < from.indices.size(); ++k) {
          if (from.indices[k].name == n.name) return t.args[k];
        }
        return {};
      });
    }
    return out;
  }

  Outcome effect_of_infix(const Term& t) {
    const Outcome a = effect_of(t.args[0]), b = effect_of(t.args[1]);
    if (!a || !b) return {};
    if (a->none() && b->none()) return a;
    const bool one_place = a->none() || b->none() || same_place(*a, *b);
    if (!one_place) return {};
    Effect out = a->none() ? *b : *a;
    switch (t.infix) {
      case Infix::kAdd:
      case Infix::kSub: {
        const double sign = t.infix == Infix::kAdd ? 1 : -1;
        if (a->scale != b->scale || (a->scale != 0 && (a->add != 0 || b->add != 0))) return {};
        out.add = a->add + sign * b->add;
        return out;
      }
      case Infix::kMul:
      case Infix::kDiv: {
        if (a->add != 0 || b->add != 0) return {};
        out.scale = a->scale + (t.infix == Infix::kMul ? 1 : -1) * b->scale;
        return out;
      }
      default:
        // Both sides of a comparison may move together.
        if (t.infix >= Infix::kEq && t.infix <= Infix::kGe && equal_effects(*a, *b)) {
          return Effect{};
        }
        return {};
    }
  }

  Outcome effect_of_call(const Term& t) {
    if (t.name == "select") return effect_of_select(t);
    const Outcome a = effect_of(t.args[0]);
    if (!a || t.args.size() != 1 || a->none()) return a && t.args.size() == 1 ? a : unchanged(t);
    Effect out = *a;
    if (t.name == "exp" && a->scale == 0) {
      std::swap(out.scale, out.add);
      return out;
    }
    if (a->add != 0) return {};
    if (t.name == "log") {
      std::swap(out.scale, out.add);
      return out;
    }
    if (t.name == "sqrt" || t.name == "rsqrt") {
      out.scale *= t.name == "sqrt" ? 0.5 : -0.5;
      return out;
    }
    return t.name == "abs" ? Outcome(out) : Outcome();
  }

  Outcome effect_of_select(const Term& t) {
    const Outcome c = effect_of(t.args[0]), a = effect_of(t.args[1]), b = effect_of(t.args[2]);
    if (!c || !a || !b || !c->none()) return {};
    if (equal_effects(*a, *b)) return a;
    // However scaled, 0 is 0.
    if (is_number(t.args[2], 0) && a->add == 0) return a;
    if (is_number(t.args[1], 0) && b->add == 0) return b;
    return {};
  }

  const Equations& e_;
  const std::string& name_;
  std::map<std::string, Outcome, std::less<>> known_;
};

}  // namespace

bool shift_changes_nothing(const Equations& equations, const std::string& name) {
  return Shift(equations, name).changes_nothing();
}

}  // namespace hone::ops
