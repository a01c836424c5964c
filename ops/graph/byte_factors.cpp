// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/byte_factors.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/gradient/terms.h"

namespace hone::ops {
namespace {

bool is_casted(const Term& t) {
  return t.kind == Term::kCast && (t.name == "f32" || t.name == "i32");
}

/// Without conversions to the types in which numbers of 8 bits are exact.
const Term& uncast(const Term& t, bool& is_float) {
  if (!is_casted(t)) return t;
  is_float |= t.name == "f32";
  return uncast(t.args[0], is_float);
}

bool is_byte_element(const Definition& d, const Term& t) {
  if (t.kind != Term::kAccess) return false;
  const Argument* a = d.arg(t.name);
  return a && a->role == ir::Role::kInput && (a->type == "i8" || a->type == "u8");
}

/// `read` or `read - zero`, converted in any place.
std::optional<ByteFactor> difference(const Definition& d, const Term& t) {
  ByteFactor out;
  const Term& whole = uncast(t, out.is_float);
  if (is_byte_element(d, whole)) {
    out.read = whole;
    return out;
  }
  if (whole.kind != Term::kInfix || whole.infix != Infix::kSub) return {};
  const Term &read = uncast(whole.args[0], out.is_float),
             &zero = uncast(whole.args[1], out.is_float);
  if (!is_byte_element(d, read) || !is_byte_element(d, zero) || zero.guarded) return {};
  out.read = read;
  out.zero.push_back(zero);
  return out;
}

void collect_factors(const Term& t, std::vector<Term>& out) {
  if (t.kind == Term::kInfix && t.infix == Infix::kMul) {
    for (const Term& a : t.args) collect_factors(a, out);
  } else {
    out.push_back(t);
  }
}

/// Are all indices of an access names or numbers, and of tensors that are given?
bool is_parameter(const Definition& d, const Term& access) {
  const Argument* a = d.arg(access.name);
  return a && a->role == ir::Role::kInput && !access.guarded &&
         std::all_of(access.args.begin(), access.args.end(), [](const Term& at) {
           return at.kind == Term::kName || at.kind == Term::kInt;
         });
}

/// Reads `t` nothing but parameters of a tensor, such as scales?
bool is_of_parameters(const Definition& d, const Term& t) {
  return !any_part(t, [&](const Term& part) {
    return part.kind == Term::kReduce || (part.kind == Term::kAccess && !is_parameter(d, part));
  });
}

}  // namespace

std::vector<Term> factors_of(const Term& t) {
  std::vector<Term> out;
  collect_factors(t, out);
  return out;
}

Term multiplied(const std::vector<Term>& factors) {
  Term out = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) out = infix_term(Infix::kMul, out, factors[i]);
  return out;
}

std::optional<ByteFactor> byte_factor(const Definition& d, const Term& t) {
  std::optional<ByteFactor> out;
  std::vector<Term> scales;
  for (Term& f : factors_of(t)) {
    auto found = difference(d, f);
    if (found && out) return {};
    if (found) {
      out = std::move(found);
    } else {
      scales.push_back(std::move(f));
    }
  }
  if (!out || (!out->is_float && !scales.empty())) return {};
  out->scales = std::move(scales);
  return out;
}

std::optional<ByteFactor> dequantized(const Definition& d) {
  if (d.statements.size() != 1) return {};
  const Statement& s = d.statements[0];
  const Argument* made = d.arg(s.name);
  const bool whole =
      s.assign == Assign::kSet && s.where.empty() && s.loops.empty() && !s.scatters();
  if (!whole || !made || made->type != "f32") return {};
  auto out = byte_factor(d, s.value);
  if (!out || !out->is_float || out->read.guarded) return {};
  if (out->read.args.size() != s.indices.size()) return {};
  for (size_t i = 0; i < s.indices.size(); ++i) {
    const Term& at = out->read.args[i];
    if (at.kind != Term::kName || at.name != s.indices[i].name) return {};
  }
  std::vector<Term> rest = out->scales;
  rest.insert(rest.end(), out->zero.begin(), out->zero.end());
  const bool plain =
      std::all_of(rest.begin(), rest.end(), [&](const Term& t) { return is_of_parameters(d, t); });
  return plain ? out : std::nullopt;
}

Definition with_types(const GraphNode& node) {
  Definition d = *node.op.definition;
  std::map<std::string, std::string> types;
  for (const auto& [name, type] : node.types) types[name] = std::string(name_of(type));
  if (types.empty()) return d;
  const auto concrete = [&](std::string& name) {
    const auto at = types.find(name);
    if (at != types.end()) name = at->second;
  };
  const auto walk = [&](const auto& self, Term& t) -> void {
    concrete(t.type);
    if (t.kind == Term::kCast) concrete(t.name);
    for (Term& a : t.args) self(self, a);
  };
  std::erase_if(d.params, [](const Param& p) { return p.is_type; });
  for (Argument& a : d.args) concrete(a.type);
  for (Statement& s : d.statements) {
    concrete(s.type);
    walk(walk, s.value);
    for (auto* terms : {&s.where, &s.otherwise}) {
      for (Term& t : *terms) walk(walk, t);
    }
  }
  return d;
}

}  // namespace hone::ops
