// SPDX-License-Identifier: Apache-2.0
#include "ops/uses/written_out.h"

#include <algorithm>
#include <utility>

#include "ops/gradient/index_terms.h"
#include "ops/gradient/terms.h"
#include "ops/lexer.h"

namespace hone::ops {
namespace {

/// `wanted`, or with a number behind, so that it is none of those.
template <class F>
std::string free_name(std::string wanted, const F& is_taken) {
  constexpr size_t kDigits = 4;
  wanted.resize(std::min<size_t>(wanted.size(), kMaxName - kDigits));
  std::string name = wanted;
  for (int n = 2; is_taken(name) || is_reserved(name); ++n) name = wanted + std::to_string(n);
  return name;
}

/// All terms of a statement.
template <class F>
void each_term(const Statement& s, const F& f) {
  for (const auto* ranges : {&s.indices, &s.loops}) {
    for (const Range& r : *ranges) {
      for (const Term& t : r.at) f(t);
      for (const Term& t : r.bounds) f(t);
    }
  }
  f(s.value);
  for (const auto* terms : {&s.where, &s.otherwise}) {
    for (const Term& t : *terms) f(t);
  }
}

}  // namespace

UsedNames::UsedNames(const Definition& d) {
  for (const Param& p : d.params) fixed_.insert(p.name);
  for (const Argument& a : d.args) {
    fixed_.insert(a.name);
    for (const Term& extent : a.shape) {
      any_part(extent, [&](const Term& t) {
        if (t.kind == Term::kName) fixed_.insert(t.name);
        return false;
      });
    }
  }
  for (const Statement& s : d.statements) {
    fixed_.insert(s.name);
    for (const Left& left : s.also) fixed_.insert(left.name);
  }
  all_ = fixed_;
  for (const Statement& s : d.statements) {
    collect(s.indices);
    collect(s.loops);
    for (const Left& left : s.also) collect(left.indices);
    each_term(s, [&](const Term& t) { collect(t); });
  }
}

void UsedNames::collect(const std::vector<Range>& ranges) {
  for (const Range& r : ranges) all_.insert(r.name);
}

void UsedNames::collect(const Term& t) {
  any_part(t, [&](const Term& part) {
    all_.insert(part.name);
    collect(part.ranges);
    return false;
  });
}

std::string UsedNames::tensor(const std::string& wanted) {
  std::string name = free_name(wanted, [&](const std::string& n) { return all_.contains(n); });
  fixed_.insert(name);
  all_.insert(name);
  return name;
}

std::string UsedNames::index(const std::string& wanted, const std::set<std::string>& also) {
  std::string name = free_name(
      wanted, [&](const std::string& n) { return fixed_.contains(n) || also.contains(n); });
  all_.insert(name);
  return name;
}

WrittenOut::WrittenOut(Fit& fit, UsedNames& names) : fit_(fit), own_(fit.used()) {
  for (const Statement& s : fit.used().statements) own_.add(s);
  find_needed();
  name_indices(names);
  name_tensors(names);
  find_extras();
}

/// What is left out, and what serves that alone, is not computed.
void WrittenOut::find_needed() {
  std::set<std::string> wanted;
  for (const auto& [result, left] : fit_.results()) {
    if (left) wanted.insert(result->name);
  }
  for (size_t before = 0; before < wanted.size();) {
    before = wanted.size();
    for (const Statement& s : fit_.used().statements) {
      if (!wanted.contains(s.name)) continue;
      each_term(s, [&](const Term& t) {
        any_part(t, [&](const Term& part) {
          if (part.kind == Term::kAccess) wanted.insert(part.name);
          return false;
        });
      });
    }
  }
  for (const Statement& s : fit_.used().statements) {
    if (wanted.contains(s.name)) needed_.push_back(&s);
  }
}

const Fit::Made* WrittenOut::made_by(const Statement& s) const {
  for (const Fit::Made& made : fit_.results()) {
    if (made.result->name == s.name) return &made;
  }
  return nullptr;
}

const Left* WrittenOut::left_of(const Statement& s) const {
  const Fit::Made* made = made_by(s);
  return made ? made->left : nullptr;
}

void WrittenOut::collect_indices(const Statement& s, std::set<std::string>& found) const {
  const auto is_number = [&](const std::string& name) {
    const Definition& d = fit_.used();
    return d.arg(name) || d.param(name) ||
           std::find(d.dims.begin(), d.dims.end(), name) != d.dims.end();
  };
  for (const Range& r : s.indices) {
    if (!r.name.empty()) found.insert(r.name);
  }
  for (const Range& r : s.loops) found.insert(r.name);
  each_term(s, [&](const Term& t) {
    any_part(t, [&](const Term& part) {
      if (part.kind == Term::kName && !is_number(part.name)) found.insert(part.name);
      for (const Range& r : part.ranges) found.insert(r.name);
      return false;
    });
  });
}

/// A result's indices have the names that the user gives them, in all statements where they can.
void WrittenOut::name_indices(UsedNames& names) {
  std::set<std::string> found, taken;
  const size_t extra = fit_.batch().size();
  for (const auto& [result, left] : fit_.results()) {
    for (size_t i = 0; left && i < left->indices.size(); ++i) lefts_.insert(left->indices[i].name);
  }
  for (const Statement* s : needed_) {
    collect_indices(*s, found);
    const Left* left = left_of(*s);
    for (size_t i = 0; left && i < s->indices.size(); ++i) {
      const std::string& own = s->indices[i].name;
      const std::string& given = left->indices[extra + i].name;
      if (!own.empty() && !indices_.contains(own) && taken.insert(given).second) {
        indices_[own] = given;
      }
    }
  }
  taken.insert(lefts_.begin(), lefts_.end());
  for (const std::string& own : found) {
    if (indices_.contains(own)) continue;
    indices_[own] = names.index(own, taken);
    taken.insert(indices_[own]);
  }
  for (const Statement* s : needed_) name_own_indices(*s, names);
}

/// Where results differ in what they call an index, each has its names in its own statement.
void WrittenOut::name_own_indices(const Statement& s, UsedNames& names) {
  const Left* left = left_of(s);
  if (!left) return;
  std::map<std::string, std::string>& own = own_indices_[s.name];
  std::set<std::string> given, found, taken = lefts_;
  for (size_t i = 0; i < s.indices.size(); ++i) {
    const std::string& name = left->indices[fit_.batch().size() + i].name;
    given.insert(name);
    if (!s.indices[i].name.empty()) own[s.indices[i].name] = name;
  }
  for (const auto& [index, name] : indices_) taken.insert(name);
  collect_indices(s, found);
  for (const std::string& index : found) {
    if (own.contains(index) || !given.contains(indices_[index])) continue;
    own[index] = names.index(index, taken);
    taken.insert(own[index]);
  }
}

void WrittenOut::name_tensors(UsedNames& names) {
  for (const Statement* s : needed_) {
    const Left* left = left_of(*s);
    tensors_[s->name] = left ? left->name : names.tensor(fit_.first().name + "_" + s->name);
  }
}

/// A tensor has those indices of the batch that the tensors and scalars have it is made of. Of
/// statements that read one another all have the most.
void WrittenOut::find_extras() {
  for (const Statement* s : needed_) extras_[s->name] = left_of(*s) ? fit_.batch().size() : 0;
  bool more = true;
  while (more) {
    more = false;
    for (const Statement* s : needed_) {
      const size_t extra = extra_of(*s);
      more |= extra > extras_[s->name];
      extras_[s->name] = std::max(extras_[s->name], extra);
    }
  }
}

size_t WrittenOut::extra_of(const Statement& s) const {
  size_t extra = 0;
  each_term(s, [&](const Term& t) { extra = std::max(extra, extra_of(t)); });
  return extra;
}

size_t WrittenOut::extra_of(const Term& t) const {
  const std::vector<std::string>& batch = fit_.batch();
  size_t extra = 0;
  any_part(t, [&](const Term& part) {
    if (part.kind == Term::kAccess) {
      const auto own = extras_.find(part.name);
      extra = std::max(extra, own != extras_.end() ? own->second : fit_.operand(part.name).extra);
    }
    const Argument* a = part.kind == Term::kName ? fit_.used().arg(part.name) : nullptr;
    for (size_t i = 0; a && i < batch.size(); ++i) {
      if (mentions(*fit_.number(part.name), batch[i])) extra = std::max(extra, batch.size() - i);
    }
    return false;
  });
  return extra;
}

std::vector<std::string> WrittenOut::batch(size_t extra) const {
  return {fit_.batch().end() - static_cast<std::ptrdiff_t>(extra), fit_.batch().end()};
}

std::vector<Statement> WrittenOut::statements() {
  std::vector<Statement> out;
  for (const Statement* s : needed_) out.push_back(statement(*s));
  if (failed_) out.clear();
  return out;
}

Statement WrittenOut::statement(const Statement& s) {
  const Fit::Made* made = made_by(s);
  const Left* left = left_of(s);
  const auto own = own_indices_.find(s.name);
  here_ = own == own_indices_.end() ? nullptr : &own->second;
  Statement out;
  out.name = tensors_[s.name];
  out.span = left ? left->span : fit_.statement().value.span;
  out.whole = fit_.statement().whole;
  out.type_span = out.span;
  out.value = term(s.value);
  if (!left && !s.type.empty()) out.type = type(s.type);
  if (made && !left) out.type = type(made->result->type);
  if (left && !fit_.is_output(*left)) out.type = fit_.type(made->result->type);
  out.indices = indices(s, out.value);
  out.skip = s.skip;
  out.assign = s.assign;
  for (const Range& r : s.loops) out.loops.push_back(range(r));
  for (const Term& t : s.where) out.where.push_back(term(t));
  for (const Term& t : s.otherwise) out.otherwise.push_back(term(t));
  return out;
}

/// Indices of the batch, then the op's own. A range is stated where the value does not tell it.
std::vector<Range> WrittenOut::indices(const Statement& s, const Term& value) {
  const Fit::Made* made = made_by(s);
  const Left* left = left_of(s);
  const Left& named = left ? *left : fit_.first();
  const bool output = left && fit_.is_output(*left);
  const size_t extra = extras_[s.name], first = fit_.batch().size() - extra;
  std::vector<Range> out;
  for (size_t i = first; i < fit_.batch().size(); ++i) {
    Range r;
    r.name = fit_.batch()[i];
    r.span = named.indices[i].span;
    if (left) r.bounds = left->indices[i].bounds;
    const ir::Expr& extent = fit_.batch_extents()[i];
    if (r.bounds.empty() && !fit_.is_output(named) && extent && !indexes_by_itself(value, r.name)) {
      r.bounds = {whole_term(0), index_term(extent)};
    }
    out.push_back(std::move(r));
  }
  for (size_t i = 0; i < s.indices.size(); ++i) {
    Range r = range(s.indices[i]);
    if (left) {
      const Range& stated = left->indices[extra + i];
      r.span = stated.span;
      if (!stated.bounds.empty()) r.bounds = stated.bounds;
    }
    if (made && !output && r.bounds.empty()) {
      const Term& declared = made->result->shape[i];
      const ir::Expr extent = own_.used_extent(s.value, s.indices[i].name);
      const bool told = extent && equal_index(extent, extent_expr(declared));
      if (!told) r.bounds = {whole_term(0), term(declared)};
    }
    out.push_back(std::move(r));
  }
  return out;
}

std::string WrittenOut::type(const std::string& name) {
  std::string found = fit_.needed_type(name);
  failed_ |= found.empty();
  return found;
}

Range WrittenOut::range(const Range& r) {
  Range out;
  out.span = fit_.statement().value.span;
  if (!r.name.empty()) out.name = index(r.name);
  for (const Term& t : r.bounds) out.bounds.push_back(term(t));
  for (const Term& t : r.at) out.at.push_back(term(t));
  return out;
}

const std::string& WrittenOut::index(const std::string& own) const {
  if (here_ && here_->contains(own)) return here_->at(own);
  return indices_.at(own);
}

Term WrittenOut::name(const Term& t) {
  if (indices_.contains(t.name)) return name_term(index(t.name));
  if (const Term* number = fit_.number(t.name)) return *number;
  failed_ = true;
  return t;
}

Term WrittenOut::access(const Term& t) {
  const auto own = tensors_.find(t.name);
  const bool made = own != tensors_.end();
  const size_t extra = made ? extras_[t.name] : fit_.operand(t.name).extra;
  std::vector<Term> at;
  for (const std::string& index : batch(extra)) at.push_back(name_term(index));
  for (const Term& a : t.args) at.push_back(term(a));
  Term out = access_term(made ? own->second : fit_.operand(t.name).tensor, std::move(at));
  out.guarded = t.guarded;
  return out;
}

Term WrittenOut::term(const Term& t) {
  Term out;
  if (t.kind == Term::kName) {
    out = name(t);
    if (fit_.used().arg(t.name)) return out;  // the user's own term
  } else if (t.kind == Term::kAccess) {
    out = access(t);
  } else {
    out = t;
    if (t.kind == Term::kCast) out.name = type(t.name);
    if (!t.type.empty()) out.type = type(t.type);
    for (Term& a : out.args) a = term(a);
    for (Range& r : out.ranges) r = range(r);
  }
  out.span = fit_.statement().value.span;
  out.depth = 1;
  for (Term& a : out.args) {
    if (t.kind == Term::kAccess || t.kind == Term::kName) a.span = out.span;
    out.depth = std::max(out.depth, a.depth + 1);
  }
  for (const Range& r : out.ranges) {
    for (const Term& b : r.bounds) out.depth = std::max(out.depth, b.depth + 1);
  }
  return out;
}

}  // namespace hone::ops
