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
  for (const Statement& s : d.statements) fixed_.insert(s.name);
  all_ = fixed_;
  for (const Statement& s : d.statements) {
    collect(s.indices);
    collect(s.loops);
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
  name_indices(names);
  name_tensors(names);
  find_extras();
}

void WrittenOut::collect_indices(const Term& t, std::set<std::string>& found) const {
  const auto is_number = [&](const std::string& name) {
    const Definition& d = fit_.used();
    return d.arg(name) || d.param(name) ||
           std::find(d.dims.begin(), d.dims.end(), name) != d.dims.end();
  };
  any_part(t, [&](const Term& part) {
    if (part.kind == Term::kName && !is_number(part.name)) found.insert(part.name);
    for (const Range& r : part.ranges) found.insert(r.name);
    return false;
  });
}

/// The result's indices have the names that the user gives them, in all statements.
void WrittenOut::name_indices(UsedNames& names) {
  std::set<std::string> taken, found;
  for (const Range& r : fit_.statement().indices) taken.insert(r.name);
  const size_t extra = fit_.batch().size();
  for (const Statement& s : fit_.used().statements) {
    for (size_t i = 0; i < s.indices.size(); ++i) {
      const std::string& own = s.indices[i].name;
      if (!own.empty()) found.insert(own);
      if (s.name != fit_.result().name || own.empty()) continue;
      indices_[own] = fit_.statement().indices[extra + i].name;
    }
    for (const Range& r : s.loops) found.insert(r.name);
    each_term(s, [&](const Term& t) { collect_indices(t, found); });
  }
  for (const std::string& own : found) {
    if (indices_.contains(own)) continue;
    indices_[own] = names.index(own, taken);
    taken.insert(indices_[own]);
  }
}

void WrittenOut::name_tensors(UsedNames& names) {
  for (const Statement& s : fit_.used().statements) {
    const std::string& made = fit_.statement().name;
    tensors_[s.name] = s.name == fit_.result().name ? made : names.tensor(made + "_" + s.name);
  }
}

/// A tensor has those indices of the batch that the tensors and scalars have it is made of. Of
/// statements that read one another all have the most.
void WrittenOut::find_extras() {
  for (const Statement& s : fit_.used().statements) extras_[s.name] = 0;
  extras_[fit_.result().name] = fit_.batch().size();
  bool more = true;
  while (more) {
    more = false;
    for (const Statement& s : fit_.used().statements) {
      const size_t extra = extra_of(s);
      more |= extra > extras_[s.name];
      extras_[s.name] = std::max(extras_[s.name], extra);
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
  for (const Statement& s : fit_.used().statements) out.push_back(statement(s));
  if (failed_) out.clear();
  return out;
}

Statement WrittenOut::statement(const Statement& s) {
  const bool result = s.name == fit_.result().name;
  Statement out;
  out.name = tensors_[s.name];
  out.span = result ? fit_.statement().span : fit_.statement().value.span;
  out.whole = fit_.statement().whole;
  out.type_span = out.span;
  out.value = term(s.value);
  if (!result && !s.type.empty()) out.type = type(s.type);
  if (result && !fit_.makes_output()) out.type = fit_.type(fit_.result().type);
  out.indices = left(s, out.value);
  out.skip = s.skip;
  out.assign = s.assign;
  for (const Range& r : s.loops) out.loops.push_back(range(r));
  for (const Term& t : s.where) out.where.push_back(term(t));
  for (const Term& t : s.otherwise) out.otherwise.push_back(term(t));
  return out;
}

/// The left side: indices of the batch, then the op's own.
std::vector<Range> WrittenOut::left(const Statement& s, const Term& value) {
  const bool result = s.name == fit_.result().name;
  const size_t extra = extras_[s.name], first = fit_.batch().size() - extra;
  std::vector<Range> out;
  for (size_t i = 0; i < extra; ++i) {
    Range r;
    r.name = fit_.batch()[first + i];
    r.span = fit_.statement().indices[first + i].span;
    if (result) r.bounds = fit_.statement().indices[first + i].bounds;
    state_range(r, value, fit_.batch_extents()[first + i]);
    out.push_back(std::move(r));
  }
  for (size_t i = 0; i < s.indices.size(); ++i) {
    Range r = range(s.indices[i]);
    if (result) {
      const Range& stated = fit_.statement().indices[extra + i];
      const Term& declared = fit_.result().shape[i];
      r.span = stated.span;
      if (!stated.bounds.empty()) r.bounds = stated.bounds;
      const ir::Expr extent = own_.used_extent(s.value, s.indices[i].name);
      const bool told = extent && equal_index(extent, extent_expr(declared));
      if (!fit_.makes_output() && r.bounds.empty() && !told) {
        r.bounds = {whole_term(0), term(declared)};
      }
    }
    out.push_back(std::move(r));
  }
  return out;
}

/// States the range of an index of the batch where the value does not tell it.
void WrittenOut::state_range(Range& r, const Term& value, const ir::Expr& extent) {
  if (!r.bounds.empty() || fit_.makes_output() || !extent) return;
  if (!indexes_by_itself(value, r.name)) r.bounds = {whole_term(0), index_term(extent)};
}

std::string WrittenOut::type(const std::string& name) {
  std::string found = fit_.needed_type(name);
  failed_ |= found.empty();
  return found;
}

Range WrittenOut::range(const Range& r) {
  Range out;
  out.span = fit_.statement().value.span;
  if (!r.name.empty()) out.name = indices_.at(r.name);
  for (const Term& t : r.bounds) out.bounds.push_back(term(t));
  for (const Term& t : r.at) out.at.push_back(term(t));
  return out;
}

Term WrittenOut::name(const Term& t) {
  const auto index = indices_.find(t.name);
  if (index != indices_.end()) return name_term(index->second);
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
