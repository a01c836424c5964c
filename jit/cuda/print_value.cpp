// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/print_value.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "jit/cuda/narrow.h"
#include "jit/ir/functions/function.h"
#include "jit/ir/integers.h"

namespace hone::jit {

using namespace ir;

namespace {

std::string name(DType t) { return std::string(name_of(t)); }

std::string float_literal(double v, DType t) {
  if (std::isnan(v))
    return t == DType::kF64 ? "(double)f32_of_bits(0x7fc00000)" : "f32_of_bits(0x7fc00000)";
  if (std::isinf(v)) {
    const std::string inf = v > 0 ? "f32_of_bits(0x7f800000)" : "f32_of_bits(0xff800000)";
    return t == DType::kF64 ? "(double)" + inf : inf;
  }
  if (t == DType::kF64) {
    const std::string text = fmt::format("{:.17g}", v);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  const std::string text = fmt::format("{:.9g}", static_cast<float>(v));
  return text.find_first_of(".e") == std::string::npos ? text + ".0f" : text + "f";
}

std::string int_literal(int64_t v, DType t) {
  if (t == DType::kI64) {
    return v == INT64_MIN ? "(-9223372036854775807ll - 1)" : fmt::format("{}ll", v);
  }
  if (t == DType::kI32 && v == INT32_MIN) return "(-2147483647 - 1)";
  return t == DType::kI32 ? fmt::format("{}", v) : fmt::format("({}){}", computed_type(t), v);
}

/// `x` of type `from` computed, as a computed value of `to`.
std::string converted(DType from, DType to, const std::string& x) {
  if (from == to) return x;
  if (to == DType::kBool) return "(boolean)(" + x + " != 0)";
  if (is_narrow_float(to)) {
    // A 32-bit or longer integer is not always a float: round once, from f64.
    const bool exact = from == DType::kF32 || is_narrow_float(from) || size_of(from) < 4;
    return "round_" + name(to) + "((" + (exact ? "float" : "double") + ")" + x + ")";
  }
  if (is_float(to)) return std::string("(") + computed_type(to) + ")" + x;
  if (is_float(from)) return "to_" + name(to) + "(" + x + ")";
  return std::string("(") + computed_type(to) + ")" + x;
}

std::string rounded(DType t, const std::string& x) {
  return is_narrow_float(t) ? "round_" + name(t) + "(" + x + ")" : x;
}

class Values {
 public:
  explicit Values(const CudaNames& names) : n_(names) {}

  /// Sums print bare, factors take brackets around sums.
  std::string index(const Expr& e) const {
    const std::string type = n_.index_type();
    switch (e->op) {
      case Op::kInt:
        return fmt::format("{}", e->i);
      case Op::kVar:
        return n_.loops[static_cast<size_t>(e->id)];
      case Op::kDim:
      case Op::kScalar:
      case Op::kLoad:
        return "(" + type + ")" + value(e);
      case Op::kCast:
        return "(" + type + ")" + value(e->args[0]);
      case Op::kNeg:
      case Op::kAdd:
      case Op::kSub:
        return n_.wide ? sum(e) : narrow_sum(e);
      case Op::kMul:
        return factor(e->args[0]) + " * " + factor(e->args[1]);
      case Op::kDiv:
      case Op::kMod:
        return quotient(e);
      case Op::kMin:
      case Op::kMax:
        return (e->op == Op::kMin ? "min_of<" : "max_of<") + type + ">(" + index(e->args[0]) +
               ", " + index(e->args[1]) + ")";
      case Op::kBitAnd:
      case Op::kBitOr:
      case Op::kBitXor:
      case Op::kShl:
      case Op::kShr:
        return bits(e, factor(e->args[0]), factor(e->args[1]), type);
      case Op::kSelect:
        return "(" + condition(e->args[0]) + " ? " + index(e->args[1]) + " : " + index(e->args[2]) +
               ")";
      default:
        return "(" + type + ")(" + value(e) + ")";
    }
  }

  /// The terms one after the other: a + -b is a - b, whichever comes first.
  std::string sum(const Expr& e) const {
    std::string out;
    for (const IndexTerm& t : index_terms(e)) add(out, t);
    return out;
  }

  void add(std::string& out, const IndexTerm& t) const {
    const bool negative = !t.minus && !out.empty() && t.value->op == Op::kInt && t.value->i < 0;
    if (!out.empty()) out += t.minus || negative ? " - " : " + ";
    if (out.empty() && t.minus) out += "-";
    out += negative ? fmt::format("{}", -t.value->i) : t.minus ? factor(t.value) : index(t.value);
  }

  /// In 32 bits: what may be too large on the way is added up in arithmetic that wraps around.
  std::string narrow_sum(const Expr& e) const {
    const std::vector<IndexTerm> terms = index_terms(e);
    const std::vector<bool> wraps = wrapped_terms(terms, n_.facts);
    std::string wrapped, out;
    for (size_t i = 0; i < terms.size(); ++i) {
      if (!wraps[i]) continue;
      wrapped += wrapped.empty() ? (terms[i].minus ? "-" : "") : terms[i].minus ? " - " : " + ";
      wrapped += wrapping(terms[i].value);
    }
    if (!wrapped.empty()) out = "(i32)(" + wrapped + ")";
    for (size_t i = 0; i < terms.size(); ++i) {
      if (!wraps[i]) add(out, terms[i]);
    }
    return out;
  }

  std::string wrapping(const Expr& e) const {
    if (e->op == Op::kInt) return fmt::format("{}u", static_cast<uint32_t>(e->i));
    if (e->op == Op::kMul) return wrapping(e->args[0]) + " * " + wrapping(e->args[1]);
    return e->op == Op::kVar ? "(u32)" + index(e) : "(u32)(" + index(e) + ")";
  }

  std::string factor(const Expr& e) const {
    const bool open = e->op == Op::kAdd || e->op == Op::kSub || e->op == Op::kNeg;
    return open ? "(" + index(e) + ")" : index(e);
  }

  /// C divides towards zero, which is the floor of what is not negative.
  std::string quotient(const Expr& e) const {
    int64_t k = 0;
    const bool plain =
        is_const(e->args[1], &k) && k > 0 && n_.facts.nonnegative(Poly::of(e->args[0], &n_.facts));
    const std::string a = index(e->args[0]), b = index(e->args[1]);
    const bool divides = e->op == Op::kDiv;
    const bool product = e->args[0]->op == Op::kMul;
    if (plain && product) return "((" + a + ")" + (divides ? " / " : " % ") + b + ")";
    if (plain) return "(" + factor(e->args[0]) + (divides ? " / " : " % ") + b + ")";
    return std::string(divides ? "floor_div<" : "floor_mod<") + n_.index_type() + ">(" + a + ", " +
           b + ")";
  }

  std::string condition(const Expr& e) const {
    switch (e->op) {
      case Op::kInt:
        return e->i ? "true" : "false";
      case Op::kAnd:
        return "(" + condition(e->args[0]) + " && " + condition(e->args[1]) + ")";
      case Op::kOr:
        return "(" + condition(e->args[0]) + " || " + condition(e->args[1]) + ")";
      case Op::kNot:
        return "!" + condition(e->args[0]);
      case Op::kEq:
        return compared(e, " == ");
      case Op::kNe:
        return compared(e, " != ");
      case Op::kLt:
        return compared(e, " < ");
      case Op::kLe:
        return compared(e, " <= ");
      default:
        return "(" + value(e) + " != 0)";
    }
  }

  std::string value(const Expr& e) const {
    switch (e->op) {
      case Op::kInt:
        return int_literal(e->i, e->type);
      case Op::kFloat:
        return float_literal(e->f, e->type);
      case Op::kVar:
        return "(i64)" + n_.loops[static_cast<size_t>(e->id)];
      case Op::kDim:
        return fmt::format("args.slot[{}]", layout().dim_slots[static_cast<size_t>(e->id)]);
      case Op::kScalar:
        return from_stored(e->type, fmt::format("*({}*)&args.slot[{}]",
                                                std::string("const ") + stored_type(e->type),
                                                layout().scalar_slots[static_cast<size_t>(e->id)]));
      case Op::kLoad:
        return load(e);
      case Op::kCast:
        return converted(e->args[0]->type, e->type, value(e->args[0]));
      case Op::kSelect:
        return "(" + condition(e->args[0]) + " ? " + value(e->args[1]) + " : " + value(e->args[2]) +
               ")";
      case Op::kCall:
        return called(e);
      case Op::kNot:
      case Op::kAnd:
      case Op::kOr:
      case Op::kEq:
      case Op::kNe:
      case Op::kLt:
      case Op::kLe:
        return "(boolean)" + condition(e);
      case Op::kNeg:
        if (is_float(e->type)) return "(-(" + value(e->args[0]) + "))";
        return fmt::format("sub(({0})0, {1})", computed_type(e->type), value(e->args[0]));
      default:
        return arithmetic(e);
    }
  }

  /// As it is stored. Bits that are only moved, or rounded once already, stay as they are.
  std::string stored(const Expr& e) const {
    if (!is_narrow_float(e->type)) return value(e);
    if (e->op == Op::kLoad && n_.nest->buffers[static_cast<size_t>(e->id)].type == e->type) {
      return load(e, true);
    }
    if (e->op == Op::kFloat && e->f == 0 && !std::signbit(e->f)) {
      return std::string("(") + stored_type(e->type) + ")0";
    }
    if (e->op == Op::kSelect) {
      return "(" + condition(e->args[0]) + " ? " + stored(e->args[1]) + " : " + stored(e->args[2]) +
             ")";
    }
    if (e->op == Op::kCast && e->args[0]->type == DType::kF32) {
      return to_stored(e->type, value(e->args[0]));
    }
    return to_stored(e->type, value(e));
  }

 private:
  ArgsLayout layout() const { return args_layout(*n_.nest); }

  bool data(const Expr& e) const {
    bool found = e->type != DType::kI64;
    visit(e, [&](const Expr& x) { found |= x->op == Op::kLoad || x->op == Op::kCast; });
    return found;
  }

  std::string compared(const Expr& e, const char* sign) const {
    const bool values = data(e->args[0]) || data(e->args[1]);
    const auto side = [&](const Expr& x) { return values ? value(x) : index(x); };
    return "(" + side(e->args[0]) + sign + side(e->args[1]) + ")";
  }

  /// The element, computed with or as it is stored.
  std::string load(const Expr& e, bool bits = false) const {
    const NestBuffer& b = n_.nest->buffers[static_cast<size_t>(e->id)];
    const auto taken = [&](const std::string& place) {
      return bits ? std::string("(") + stored_type(b.type) + ")" + place
                  : from_stored(b.type, place);
    };
    const auto otherwise = [&] { return bits ? stored(e->args[2]) : value(e->args[2]); };
    for (const HeldLoad& h : n_.held) {
      if (h.load.get() != e.get() && !equal(h.load, e)) continue;
      const std::string element = taken(h.place);
      return h.inside.empty() ? element
                              : "(" + h.inside + " ? " + element + " : " + otherwise() + ")";
    }
    if (const auto other = other_lane(b, e->args[0], n_); other && !e->guarded) {
      return fmt::format("from_lane({}[{}], {})", n_.buffers[static_cast<size_t>(e->id)],
                         index(other->number), index(other->lane));
    }
    std::string place = print_place(e->id, e->args[0], n_);
    if (b.written && (!is_float(b.type) || is_narrow_float(b.type)))
      place = std::string("(") + stored_type(b.type) + ")" + place;
    const std::string element = taken(place);
    if (!e->guarded) return element;
    return "(" + condition(e->args[1]) + " ? " + element + " : " + otherwise() + ")";
  }

  std::string called(const Expr& e) const {
    const std::string fn = e->fn->name;
    std::string args;
    for (const Expr& a : e->args) args += (args.empty() ? "" : ", ") + value(a);
    if (!is_float(e->type)) return "abs_of(" + args + ")";
    return rounded(e->type, "fn_" + fn + "(" + args + ")");
  }

  /// A bitwise node of operands that are printed.
  static std::string bits(const Expr& e, const std::string& a, const std::string& b,
                          const std::string& type) {
    const bool left = e->op == Op::kShl;
    if (left || e->op == Op::kShr) {
      return fmt::format("shift_{}<{}>({}, {})", left ? "left" : "right", type, a, b);
    }
    const char* sign = e->op == Op::kBitAnd ? "&" : e->op == Op::kBitOr ? "|" : "^";
    return fmt::format("({} {} {})", a, sign, b);
  }

  /// A quotient or remainder of `a` by a power of two is a shift or a mask; others are `call`.
  static std::string by_power(const Expr& e, const std::string& a, const std::string& call) {
    const auto power = exponent_of(e->args[1]);
    if (!power) return call;
    if (e->op == Op::kDiv) return fmt::format("({} >> {})", a, *power);
    return fmt::format("({} & {})", a, int_literal(e->args[1]->i - 1, e->type));
  }

  std::string arithmetic(const Expr& e) const {
    const std::string a = value(e->args[0]), b = value(e->args[1]);
    const std::string type = computed_type(e->type);
    const auto function = [&](const char* f) {
      return std::string(f) + "<" + type + ">(" + a + ", " + b + ")";
    };
    if (e->op == Op::kMin) return function("min_of");
    if (e->op == Op::kMax) return function("max_of");
    if (!is_float(e->type)) {
      switch (e->op) {
        case Op::kAdd:
          return "add(" + a + ", " + b + ")";
        case Op::kSub:
          return "sub(" + a + ", " + b + ")";
        case Op::kMul:
          return "mul(" + a + ", " + b + ")";
        case Op::kBitAnd:
        case Op::kBitOr:
        case Op::kBitXor:
        case Op::kShl:
        case Op::kShr:
          return bits(e, a, b, type);
        case Op::kDiv:
          return by_power(e, a, function("floor_div"));
        default:
          return by_power(e, a, function("floor_mod"));
      }
    }
    const char* sign = e->op == Op::kAdd   ? " + "
                       : e->op == Op::kSub ? " - "
                       : e->op == Op::kMul ? " * "
                                           : " / ";
    return rounded(e->type, "(" + a + sign + b + ")");
  }

  const CudaNames& n_;
};

}  // namespace

const char* stored_type(DType t) {
  if (t == DType::kF64) return "double";
  if (t == DType::kF32) return "float";
  return t == DType::kBool ? "boolean" : name_of(t).data();
}

const char* computed_type(DType t) { return is_narrow_float(t) ? "float" : stored_type(t); }

std::string to_stored(DType t, const std::string& value) {
  if (is_narrow_float(t)) return name(t) + "_of_f32(" + value + ")";
  return value;
}

std::string from_stored(DType t, const std::string& place) {
  if (is_narrow_float(t)) return "f32_of_" + name(t) + "(" + place + ")";
  return place;
}

std::string print_index(const Expr& e, const CudaNames& names) { return Values(names).index(e); }

Expr with_values(const Expr& e, const std::map<int, int64_t>& values) {
  return rewrite(e, [&](const Expr& x) {
    if (x->op != Op::kVar) return Expr();
    const auto found = values.find(x->id);
    return found == values.end() ? Expr() : make_int(found->second);
  });
}

std::string print_place(int buffer, const Expr& offset, const CudaNames& names) {
  return names.buffers[static_cast<size_t>(buffer)] + "[" + print_element(buffer, offset, names) +
         "]";
}

std::string print_element(int buffer, const Expr& offset, const CudaNames& names) {
  const NestBuffer& b = names.nest->buffers[static_cast<size_t>(buffer)];
  if (b.home == Home::kWarp) return print_index(register_of(b, offset, names), names);
  const std::string element = print_index(offset, names);
  if (b.swizzle == 0) return element;
  return fmt::format("swizzled<{}, {}>({})", b.swizzle, size_of(b.type), element);
}

std::string print_condition(const Expr& e, const CudaNames& names) {
  return Values(names).condition(e);
}

std::string print_value(const Expr& e, const CudaNames& names) { return Values(names).value(e); }

std::string print_operand(const Expr& e, const CudaNames& names) {
  const std::string value = print_value(e, names);
  return e->op == Op::kLoad ? "(" + std::string(computed_type(e->type)) + ")" + value : value;
}

std::string print_stored(const Expr& e, const CudaNames& names) { return Values(names).stored(e); }

}  // namespace hone::jit
