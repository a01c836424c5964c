// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>

#include "jit/ir/expr.h"
#include "jit/ir/functions/function.h"

namespace hone::ir {
namespace {

/// Strengths past those of operators between two operands.
/// Fixed by: the grammar of the language.
constexpr int kPrefix = 10, kPostfix = 11, kAtom = 12;

/// Binding strength of an operator; higher binds tighter.
int precedence(const Node& n) {
  switch (n.op) {
    case Op::kOr:
      return 1;
    case Op::kAnd:
      return 2;
    case Op::kEq:
    case Op::kNe:
    case Op::kLt:
    case Op::kLe:
      return 3;
    case Op::kBitOr:
      return 4;
    case Op::kBitXor:
      return 5;
    case Op::kBitAnd:
      return 6;
    case Op::kShl:
    case Op::kShr:
      return 7;
    case Op::kAdd:
    case Op::kSub:
      return 8;
    case Op::kMul:
    case Op::kDiv:
    case Op::kMod:
      return 9;
    case Op::kNeg:
    case Op::kNot:
      return kPrefix;
    case Op::kInt:
      return n.i < 0 ? kPrefix : kAtom;
    case Op::kFloat:
      return std::signbit(n.f) ? kPrefix : kAtom;
    case Op::kLoad:
      return n.guarded ? kPostfix : kAtom;
    default:
      return kAtom;
  }
}

const char* symbol(Op op) {
  switch (op) {
    case Op::kOr:
      return " || ";
    case Op::kAnd:
      return " && ";
    case Op::kEq:
      return " == ";
    case Op::kNe:
      return " != ";
    case Op::kLt:
      return " < ";
    case Op::kLe:
      return " <= ";
    case Op::kBitOr:
      return " | ";
    case Op::kBitXor:
      return " ^ ";
    case Op::kBitAnd:
      return " & ";
    case Op::kShl:
      return " << ";
    case Op::kShr:
      return " >> ";
    case Op::kAdd:
      return " + ";
    case Op::kSub:
      return " - ";
    case Op::kMul:
      return "*";
    case Op::kDiv:
      return "/";
    case Op::kMod:
      return "%";
    case Op::kNeg:
      return "-";
    default:
      return "!";
  }
}

/// Shortest text that reads back as the same value.
std::string float_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void write(const Expr& e, int outer, std::string& out);

void write_list(const std::vector<Expr>& args, size_t count, std::string& out) {
  for (size_t i = 0; i < count; ++i) {
    if (i) out += ',';
    write(args[i], 0, out);
  }
}

void write_call(std::string_view name, const std::vector<Expr>& args, std::string& out) {
  out += name;
  out += '(';
  write_list(args, args.size(), out);
  out += ')';
}

void write_load(const Node& n, std::string& out) {
  out += n.name;
  out += '[';
  if (n.id >= 0) {
    write(n.args[0], 0, out);
    out += ']';
    if (!n.guarded) return;
    out += " if ";
    write(n.args[1], kPostfix, out);
  } else {
    write_list(n.args, n.args.size() - (n.guarded ? 1 : 0), out);
    out += ']';
    if (!n.guarded) return;
  }
  out += " else ";
  write(n.args.back(), kPostfix, out);
}

void write_node(const Node& n, int level, std::string& out) {
  switch (n.op) {
    case Op::kInt:
      if (n.type == DType::kBool) {
        out += n.i ? "true" : "false";
      } else {
        out += std::to_string(n.i);
      }
      return;
    case Op::kFloat:
      out += float_text(n.f);
      return;
    case Op::kVar:
    case Op::kDim:
    case Op::kScalar:
      out += n.name;
      return;
    case Op::kLoad:
      write_load(n, out);
      return;
    case Op::kCast:
      write_call("cast<" + std::string(name_of(n.type)) + ">", n.args, out);
      return;
    case Op::kSelect:
      write_call("select", n.args, out);
      return;
    case Op::kMin:
      write_call("min", n.args, out);
      return;
    case Op::kMax:
      write_call("max", n.args, out);
      return;
    case Op::kCall:
      write_call(n.fn->name, n.args, out);
      return;
    case Op::kNeg:
    case Op::kNot:
      out += symbol(n.op);
      write(n.args[0], level + 1, out);
      return;
    default:
      if (n.reciprocal) {
        write(n.args[0], level, out);
        out += "*reciprocal(";
        write(n.args[1], 0, out);
        out += ')';
        return;
      }
      // Operators group to the left, so a right operand of equal strength needs parentheses.
      write(n.args[0], level, out);
      out += symbol(n.op);
      write(n.args[1], level + 1, out);
  }
}

void write(const Expr& e, int outer, std::string& out) {
  const int level = precedence(*e);
  if (level < outer) out += '(';
  write_node(*e, level, out);
  if (level < outer) out += ')';
}

}  // namespace

std::string print(const Expr& e) {
  std::string out;
  if (e) write(e, 0, out);
  return out;
}

}  // namespace hone::ir
