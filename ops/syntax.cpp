// SPDX-License-Identifier: Apache-2.0
#include "ops/syntax.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace hone::ops {
namespace {

constexpr int kPrefix = 10;  // strength of unary minus, `!` and `~`
constexpr int kAtom = 11;

constexpr std::array<InfixRow, 18> kInfix = {{
    {"||", 1, ir::Op::kOr},
    {"&&", 2, ir::Op::kAnd},
    {"==", 3, ir::Op::kEq},
    {"!=", 3, ir::Op::kNe},
    {"<", 3, ir::Op::kLt},
    {"<=", 3, ir::Op::kLe},
    {">", 3, ir::Op::kLt},
    {">=", 3, ir::Op::kLe},
    {"|", 4, ir::Op::kBitOr},
    {"^", 5, ir::Op::kBitXor},
    {"&", 6, ir::Op::kBitAnd},
    {"<<", 7, ir::Op::kShl},
    {">>", 7, ir::Op::kShr},
    {"+", 8, ir::Op::kAdd},
    {"-", 8, ir::Op::kSub},
    {"*", 9, ir::Op::kMul},
    {"/", 9, ir::Op::kDiv},
    {"%", 9, ir::Op::kMod},
}};

int strength_of(const Term& t) {
  switch (t.kind) {
    case Term::kInfix:
      return row_of(t.infix).strength;
    case Term::kNeg:
    case Term::kNot:
    case Term::kBitNot:
      return kPrefix;
    case Term::kAccess:
      return t.guarded ? 0 : kAtom;  // an operand has parentheses, to be read as it is meant
    default:
      return kAtom;
  }
}

/// Shortest text that reads back as the same value, and as a float.
std::string float_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return "inf";
  char buffer[40];
  const std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

void write(const Term& t, int outer, std::string& out);

template <class T, class F>
void write_list(const std::vector<T>& items, size_t count, std::string_view comma, std::string& out,
                const F& write_item) {
  for (size_t i = 0; i < count; ++i) {
    if (i) out += comma;
    write_item(items[i]);
  }
}

void write_terms(const std::vector<Term>& terms, size_t count, std::string& out) {
  write_list(terms, count, ",", out, [&](const Term& t) { write(t, 0, out); });
}

void write_ranges(const std::vector<Range>& ranges, std::string& out,
                  std::string_view between = ",") {
  write_list(ranges, ranges.size(), between, out, [&](const Range& r) {
    out += r.name;
    for (const Term& at : r.at) write(at, 0, out);
    if (r.bounds.empty()) return;
    out += " in ";
    write(r.bounds[0], 0, out);
    out += "..";
    write(r.bounds[1], 0, out);
  });
}

void write_call(std::string_view name, const Term& t, std::string& out) {
  out += name;
  out += '(';
  write_terms(t.args, t.args.size(), out);
  out += ')';
}

void write_access(const Term& t, std::string& out) {
  out += t.name;
  out += '[';
  write_terms(t.args, t.index_count(), out);
  out += ']';
  if (!t.guarded) return;
  out += " else ";
  write(t.args.back(), kPrefix, out);
}

void write_infix(const Term& t, std::string& out) {
  const InfixRow& row = row_of(t.infix);
  const bool tight = row.strength == row_of(Infix::kMul).strength;
  // Operators group to the left, so a right operand of equal strength needs parentheses;
  // comparisons do not chain, so a left one does as well.
  const bool chains = row.strength != row_of(Infix::kEq).strength;
  write(t.args[0], row.strength + (chains ? 0 : 1), out);
  if (!tight) out += ' ';
  out += row.text;
  if (!tight) out += ' ';
  write(t.args[1], row.strength + 1, out);
}

void write(const Term& t, int outer, std::string& out) {
  const bool parentheses = strength_of(t) < outer;
  if (parentheses) out += '(';
  switch (t.kind) {
    case Term::kInt:
      out += std::to_string(t.i);
      break;
    case Term::kFloat:
      out += float_text(t.f);
      break;
    case Term::kBool:
      out += t.i ? "true" : "false";
      break;
    case Term::kName:
      out += t.name;
      break;
    case Term::kAccess:
      write_access(t, out);
      break;
    case Term::kNeg:
    case Term::kNot:
    case Term::kBitNot:
      out += t.kind == Term::kNeg ? '-' : t.kind == Term::kNot ? '!' : '~';
      write(t.args[0], kPrefix, out);
      break;
    case Term::kInfix:
      write_infix(t, out);
      break;
    case Term::kCall:
      write_call(t.name, t, out);
      break;
    case Term::kCast:
      write_call("cast<" + t.name + ">", t, out);
      break;
    case Term::kReduce:
      out += t.name + "[";
      write_ranges(t.ranges, out);
      if (!t.type.empty()) out += ": " + t.type;
      out += "](";
      write(t.args[0], 0, out);
      out += ')';
      break;
  }
  if (parentheses) out += ')';
}

void write_params(const Definition& d, std::string& out) {
  if (d.params.empty()) return;
  out += '<';
  write_list(d.params, d.params.size(), ", ", out, [&](const Param& p) {
    out += p.name + "=";
    out += p.is_type ? std::string(name_of(p.type)) : std::to_string(p.value);
  });
  out += '>';
}

void write_args(const Definition& d, bool outputs, std::string& out) {
  bool first = true;
  for (const Argument& a : d.args) {
    if ((a.role == ir::Role::kOutput) != outputs) continue;
    if (!first) out += ", ";
    first = false;
    if (a.role == ir::Role::kInOut) out += "inout ";
    if (a.constant) out += "const ";
    out += a.name + ": " + a.type;
    if (a.scalar) continue;
    out += '[';
    write_terms(a.shape, a.shape.size(), out);
    out += ']';
  }
}

void write_left(const Left& left, std::string& out) {
  if (left.omitted) {
    out += '_';
    return;
  }
  out += left.name;
  if (!left.type.empty()) out += ": " + left.type;
  out += '[';
  write_ranges(left.indices, out);
  out += ']';
}

/// The use of an op with parameters, else any value.
void write_value(const Statement& s, std::string& out) {
  if (s.given.empty()) return write(s.value, 0, out);
  out += s.value.name + '<';
  write_list(s.given, s.given.size(), ", ", out, [&](const Given& g) {
    out += g.name + "=";
    write(g.value, 0, out);
  });
  out += ">(";
  write_terms(s.value.args, s.value.args.size(), out);
  out += ')';
}

void write_statement(const Statement& s, std::string& out) {
  write_left(s, out);
  for (const Left& left : s.also) {
    out += ", ";
    write_left(left, out);
  }
  out += s.skip ? " else skip " : " ";
  out += row_of(s.assign).text;
  out += " ";
  write_value(s, out);
  if (!s.loops.empty()) {
    out += " for ";
    write_ranges(s.loops, out, ", ");
  }
  if (s.where.empty()) return;
  out += " where ";
  write(s.where[0], 1, out);  // an `else` of its own stands in parentheses
  if (s.otherwise.empty()) return;
  out += " else ";
  write(s.otherwise[0], 0, out);
}

}  // namespace

const InfixRow& row_of(Infix op) { return kInfix[static_cast<size_t>(op)]; }

const AssignRow& row_of(Assign assign) {
  static constexpr AssignRow kRows[] = {
      {"=", "", ir::Op::kInt},       {"+=", "sum", ir::Op::kAdd},   {"*=", "prod", ir::Op::kMul},
      {"max=", "max", ir::Op::kMax}, {"min=", "min", ir::Op::kMin},
  };
  return kRows[static_cast<size_t>(assign)];
}

bool Statement::scatters() const {
  return std::any_of(indices.begin(), indices.end(), [](const Range& r) { return !r.at.empty(); });
}

const Param* Definition::param(std::string_view name) const {
  for (const Param& p : params) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

const Argument* Definition::arg(std::string_view name) const {
  for (const Argument& a : args) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

std::string print(const Term& term) {
  std::string out;
  write(term, 0, out);
  return out;
}

std::string print(const Statement& s) {
  std::string out;
  write_statement(s, out);
  return out;
}

std::string print(const Definition& d) {
  std::string out = (d.graph ? "graph " : "op ") + d.name;
  write_params(d, out);
  out += '(';
  write_args(d, false, out);
  out += ')';
  bool any_output = false;
  for (const Argument& a : d.args) any_output |= a.role == ir::Role::kOutput;
  if (any_output) {
    out += " -> (";
    write_args(d, true, out);
    out += ')';
  }
  out += " { ";
  write_list(d.statements, d.statements.size(), "; ", out,
             [&](const Statement& s) { write_statement(s, out); });
  out += " }";
  return out;
}

}  // namespace hone::ops
