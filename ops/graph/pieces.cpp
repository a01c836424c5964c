// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/pieces.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ops/definition.h"
#include "ops/gradient/equations.h"
#include "ops/gradient/index_terms.h"
#include "ops/gradient/terms.h"
#include "ops/graph/reading.h"

namespace hone::ops {
namespace {

/// Is one statement of an op light, as `is_light` has it?
bool is_light_statement(const Definition& d, const Statement& s) {
  Definition one;
  one.args = d.args;
  one.dims = d.dims;
  one.statements = {s};
  return is_light(one);
}

/// The type of arithmetic on a type.
std::string arithmetic_type(const std::string& type) {
  const auto named = dtype_named(type);
  if (!named || *named == DType::kF64 || *named == DType::kI64 || *named == DType::kBool) {
    return type;
  }
  return is_float(*named) ? "f32" : "i32";
}

/// Calls `f` with each whole term of a statement.
template <class F>
void each_whole(const Statement& s, const F& f) {
  f(s.value);
  for (const auto* ranges : {&s.indices, &s.loops}) {
    for (const Range& r : *ranges) {
      std::for_each(r.bounds.begin(), r.bounds.end(), f);
      std::for_each(r.at.begin(), r.at.end(), f);
    }
  }
  for (const auto* terms : {&s.where, &s.otherwise}) std::for_each(terms->begin(), terms->end(), f);
}

/// Calls `f` with each part of a statement.
template <class F>
void each_term_of(const Statement& s, const F& f) {
  each_whole(s, [&](const Term& whole) {
    any_part(whole, [&](const Term& t) {
      f(t);
      return false;
    });
  });
}

bool says_name(const Statement& s, const std::string& name) {
  bool found = false;
  each_whole(s, [&](const Term& t) { found = found || mentions(t, name); });
  return found;
}

bool reads_named(const Statement& s, const std::string& name) {
  bool found = false;
  each_whole(s, [&](const Term& t) { found = found || reads(t, name); });
  return found;
}

/// Has an argument a dim by itself, so that its shape tells how long that is?
bool tells_dim(const Argument& a, const std::string& dim) {
  return std::any_of(a.shape.begin(), a.shape.end(),
                     [&](const Term& t) { return t.kind == Term::kName && t.name == dim; });
}

/// Does a statement or a shape have the parameter?
bool has_param(const Definition& d, const std::string& name) {
  return std::any_of(d.statements.begin(), d.statements.end(),
                     [&](const Statement& s) { return says_name(s, name); }) ||
         std::any_of(d.args.begin(), d.args.end(), [&](const Argument& a) {
           return std::any_of(a.shape.begin(), a.shape.end(),
                              [&](const Term& extent) { return mentions(extent, name); });
         });
}

class Cutter {
 public:
  explicit Cutter(const Op& op) : op_(op), d_(*op.definition), equations_(d_) {}

  std::vector<Piece> run() {
    std::vector<Piece> out = cut();
    for (Piece& p : out) name_extents(p);
    return out;
  }

 private:
  std::vector<Piece> cut() {
    if (!is_plain() || !equations_.build()) return {whole()};
    const std::vector<Statement> kept = d_.statements;
    const bool light = std::all_of(kept.begin(), kept.end(),
                                   [&](const Statement& s) { return is_light_statement(d_, s); });
    std::vector<std::vector<Statement>> sets = light ? apart_from_copies() : one_by_one();
    if (sets.size() == 1 && (light || kept.size() == 1)) return {whole()};
    std::vector<Piece> out;
    for (size_t i = 0; i < sets.size(); ++i) {
      auto made = piece(sets, i);
      if (!made) return {whole()};
      out.push_back(*std::move(made));
    }
    return out;
  }

  /// Where an argument is `(H + 1)/2` long and nothing tells H, the piece has a dim for all of it.
  static void name_extents(Piece& piece) {
    Definition d = *piece.op.definition;
    std::set<std::string> used(d.dims.begin(), d.dims.end());
    for (const Argument& a : d.args) used.insert(a.name);
    const auto is_open = [&](const Term& extent) {
      return extent.kind != Term::kName && any_part(extent, [&](const Term& t) {
               return t.kind == Term::kName && !d.param(t.name) &&
                      std::none_of(d.args.begin(), d.args.end(),
                                   [&](const Argument& a) { return tells_dim(a, t.name); });
             });
    };
    for (const Argument& a : piece.op.definition->args) {
      if (a.role != ir::Role::kInput) continue;
      for (const Term& extent : a.shape) {
        if (!is_open(extent)) continue;
        std::string name = "EXTENT";
        for (int i = 2; !used.insert(name).second; ++i) name = "EXTENT" + std::to_string(i);
        const std::string text = print(extent);
        const auto named = [&](Term& whole) {
          whole = replaced(whole, [&](const Term& t) -> std::optional<Term> {
            if (t.kind != extent.kind || print(t) != text) return {};
            return name_term(name);
          });
        };
        for (Argument& other : d.args) std::for_each(other.shape.begin(), other.shape.end(), named);
        for (Statement& s : d.statements) named(s.value);
        piece.extents.emplace(name, extent);
      }
    }
    if (piece.extents.empty()) return;
    std::erase_if(d.params, [&](const Param& p) { return !has_param(d, p.name); });
    auto op = Op::parse(print(d));
    if (op) {
      piece.op = *std::move(op);
    } else {
      piece.extents.clear();
    }
  }

  Piece whole() const {
    Piece out{op_, {}, {}, {}};
    for (const Argument& a : d_.args) {
      (a.role == ir::Role::kOutput ? out.makes : out.takes).push_back(a.name);
    }
    return out;
  }

  /// Each statement defines all of its tensor, of what stands before it.
  bool is_plain() const {
    for (const Argument& a : d_.args) {
      if (a.role == ir::Role::kInOut) return false;
    }
    for (size_t i = 0; i < d_.statements.size(); ++i) {
      const Statement& s = d_.statements[i];
      if (!s.scatters() && !s.where.empty() && s.otherwise.empty()) return false;
      for (size_t k = i; k < d_.statements.size(); ++k) {
        if (reads_named(s, d_.statements[k].name)) return false;
      }
    }
    return true;
  }

  bool is_copy(const Statement& s) const {
    const Argument* to = d_.arg(s.name);
    const Argument* from = s.value.kind == Term::kAccess ? d_.arg(s.value.name) : nullptr;
    if (!to || !from || to->type != from->type || s.scatters() || !s.where.empty()) return false;
    if (s.value.guarded || s.value.args.size() != s.indices.size()) return false;
    for (size_t i = 0; i < s.indices.size(); ++i) {
      const Term& at = s.value.args[i];
      if (at.kind != Term::kName || at.name != s.indices[i].name) return false;
      if (!same(to->shape[i], from->shape[i])) return false;
    }
    return true;
  }

  /// Results that are an argument stand alone, and the rest together.
  std::vector<std::vector<Statement>> apart_from_copies() const {
    std::vector<std::vector<Statement>> out;
    std::vector<Statement> rest;
    for (const Statement& s : d_.statements) {
      const bool read = std::any_of(d_.statements.begin(), d_.statements.end(),
                                    [&](const Statement& o) { return reads_named(o, s.name); });
      if (is_copy(s) && !read) {
        out.push_back({s});
      } else {
        rest.push_back(s);
      }
    }
    if (!rest.empty()) out.push_back(std::move(rest));
    return out;
  }

  /// A statement for each equation, but for reductions that are no contractions: these stay where
  /// they are read.
  std::vector<std::vector<Statement>> one_by_one() {
    std::vector<std::vector<Statement>> out;
    for (const Equation& e : equations_.all()) {
      Statement s = e.scatter ? d_.statements[e.statement] : statement_of(e);
      if (e.part && is_light_statement(d_, s)) {
        inside_.emplace(e.name, std::make_pair(&e, s.value));
        continue;
      }
      if (!is_light_statement(d_, s)) contractions_.insert(e.name);
      types_[e.name] = e.type.empty() ? (e.real ? "f32" : "i32") : e.type;
      stated_[e.name] = equations_.states_type(e);
      out.push_back({std::move(s)});
    }
    share_values(out);
    for (const std::vector<Statement>& set : out) {
      if (contractions_.contains(set[0].name)) note_factors(set[0]);
    }
    return out;
  }

  /// A value that a statement has is read by those that follow and have it in themselves.
  static void share_values(std::vector<std::vector<Statement>>& sets) {
    for (size_t i = 0; i < sets.size(); ++i) {
      const Statement& from = sets[i][0];
      const bool costly = from.value.kind == Term::kCall || from.value.kind == Term::kInfix;
      if (!costly || from.scatters()) continue;
      std::vector<Term> at;
      for (const Range& r : from.indices) at.push_back(name_term(r.name));
      const std::string text = print(from.value);
      for (size_t k = i + 1; k < sets.size(); ++k) {
        Statement& to = sets[k][0];
        to.value = replaced(to.value, [&](const Term& t) -> std::optional<Term> {
          if (t.kind != from.value.kind || print(t) != text) return {};
          return access_term(from.name, at);
        });
      }
    }
  }

  /// What a contraction reads.
  void note_factors(const Statement& s) {
    each_term_of(s, [&](const Term& t) {
      if (t.kind == Term::kAccess) factors_.insert(t.name);
    });
  }

  Statement statement_of(const Equation& e) const {
    Statement s;
    s.name = e.name;
    for (const Bound& b : e.indices) s.indices.push_back({b.name, {}, {}});
    s.value = without_ranges(with_inside(e.right()));
    return s;
  }

  /// With the reductions that stay where they are read.
  Term with_inside(const Term& t) const {
    return replaced(t, [&](const Term& p) -> std::optional<Term> {
      const auto at = p.kind == Term::kAccess ? inside_.find(p.name) : inside_.end();
      if (at == inside_.end()) return {};
      const auto& [e, value] = at->second;
      return replaced(value, [&, of = e](const Term& n) -> std::optional<Term> {
        for (size_t k = 0; n.kind == Term::kName && k < of->indices.size(); ++k) {
          if (of->indices[k].name == n.name) return p.args[k];
        }
        return {};
      });
    });
  }

  /// Ranges of reductions left out where what they index says them.
  Term without_ranges(const Term& t) const {
    Term out = t;
    for (Term& a : out.args) a = without_ranges(a);
    for (Range& r : out.ranges) {
      int64_t first = -1;
      if (r.bounds.empty() || !ir::is_const(index_expr(d_, r.bounds[0]), &first) || first != 0) {
        continue;
      }
      if (is_told(out.args[0], r.name, index_expr(d_, r.bounds[1]))) r.bounds.clear();
    }
    return out;
  }

  /// Does each dim that `index` indexes by itself have this extent, and is there one?
  bool is_told(const Term& t, const std::string& index, const ir::Expr& extent) const {
    bool found = false, other = !extent;
    any_part(t, [&](const Term& p) {
      const bool known = p.kind == Term::kAccess && !p.guarded && equations_.has_shape(p.name);
      for (size_t i = 0; known && !other && i < p.args.size(); ++i) {
        if (p.args[i].kind != Term::kName || p.args[i].name != index) continue;
        found = true;
        other = !equal_index(equations_.shape(p.name)[i], extent);
      }
      return false;
    });
    return found && !other;
  }

  std::string type_between(const std::string& name) const {
    const std::string& type = types_.at(name);
    const bool narrow = contractions_.contains(name) || factors_.contains(name);
    return stated_.at(name) || narrow ? type : arithmetic_type(type);
  }

  /// A tensor of the whole as an argument of a piece.
  Argument argument(const std::string& name, ir::Role role) const {
    Argument out;
    if (const Argument* a = d_.arg(name)) {
      out = *a;
    } else {
      out.name = name;
      out.type = type_between(name);
      for (const ir::Expr& extent : equations_.shape(name)) out.shape.push_back(index_term(extent));
    }
    out.role = role;
    return out;
  }

  /// Tensors and scalars that come from outside of a set.
  std::vector<std::string> taken(const std::vector<Statement>& set) const {
    std::set<std::string> found, own;
    for (const Statement& s : set) own.insert(s.name);
    for (const Statement& s : set) {
      each_term_of(s, [&](const Term& t) {
        const bool scalar = t.kind == Term::kName && d_.arg(t.name);
        if ((t.kind == Term::kAccess || scalar) && !own.contains(t.name)) found.insert(t.name);
      });
    }
    std::vector<std::string> out;
    for (const Argument& a : d_.args) {
      if (a.role != ir::Role::kOutput && found.erase(a.name) > 0) out.push_back(a.name);
    }
    out.insert(out.end(), found.begin(), found.end());
    return out;
  }

  /// Those of a set's tensors that leave it.
  std::vector<std::string> made(const std::vector<std::vector<Statement>>& sets, size_t i) const {
    std::vector<std::string> out;
    for (const Statement& s : sets[i]) {
      bool leaves = d_.arg(s.name) != nullptr;
      for (size_t k = 0; k < sets.size(); ++k) {
        for (const Statement& reader : sets[k]) {
          leaves = leaves || (k != i && reads_named(reader, s.name));
        }
      }
      if (leaves) out.push_back(s.name);
    }
    return out;
  }

  std::optional<Piece> piece(const std::vector<std::vector<Statement>>& sets, size_t i) const {
    Piece out;
    out.takes = taken(sets[i]);
    out.makes = made(sets, i);
    if (out.makes.empty()) return {};
    Definition d;
    d.name = op_.name() + "_" + out.makes.back();
    d.statements = sets[i];
    for (const std::string& name : out.takes) d.args.push_back(argument(name, ir::Role::kInput));
    add_for_shapes(d, out.takes);
    for (const std::string& name : out.makes) d.args.push_back(argument(name, ir::Role::kOutput));
    for (const Param& p : d_.params) {
      if (has_param(d, p.name)) d.params.push_back(p);
    }
    auto op = Op::parse(print(d));
    if (!op) return {};
    out.op = *std::move(op);
    return out;
  }

  /// Adds arguments that alone say dims that the statements have as numbers.
  void add_for_shapes(Definition& d, std::vector<std::string>& takes) const {
    for (const std::string& dim : d_.dims) {
      const bool used = std::any_of(d.statements.begin(), d.statements.end(),
                                    [&](const Statement& s) { return says_name(s, dim); });
      const bool told = std::any_of(d.args.begin(), d.args.end(),
                                    [&](const Argument& a) { return tells_dim(a, dim); });
      if (!used || told) continue;
      for (const Argument& a : d_.args) {
        if (a.role != ir::Role::kInput || !tells_dim(a, dim)) continue;
        d.args.push_back(a);
        takes.push_back(a.name);
        break;
      }
    }
  }

  const Op& op_;
  const Definition& d_;
  Equations equations_;
  std::map<std::string, std::pair<const Equation*, Term>> inside_;  ///< parts, and their values
  std::map<std::string, std::string> types_;                        ///< of equations
  std::map<std::string, bool> stated_;  ///< whether the op says the type
  std::set<std::string> contractions_;  ///< what they make
  std::set<std::string> factors_;       ///< what they read
};

}  // namespace

std::vector<Piece> pieces_of(const Op& op) { return Cutter(op).run(); }

bool is_identity(const Op& op) {
  const Definition& d = *op.definition;
  if (d.statements.size() != 1 || d.args.size() != 2) return false;
  const Statement& s = d.statements[0];
  const Term& v = s.value;
  if (v.kind != Term::kAccess || v.guarded || s.scatters() || !s.where.empty()) return false;
  if (d.args[0].type != d.args[1].type || v.args.size() != s.indices.size()) return false;
  for (size_t i = 0; i < v.args.size(); ++i) {
    if (v.args[i].kind != Term::kName || v.args[i].name != s.indices[i].name) return false;
    if (!same(d.args[0].shape[i], d.args[1].shape[i])) return false;
  }
  return true;
}

}  // namespace hone::ops
