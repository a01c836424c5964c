// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "jit/ir/functions/function.h"
#include "ops/random_maker.h"

namespace hone::ops {
namespace {

/// The types that arithmetic is done in.
constexpr DType kComputed[] = {DType::kF32, DType::kF64, DType::kI32, DType::kI64};

}  // namespace

DType seen_as(DType t) {
  if (is_float(t)) return t == DType::kF64 ? t : DType::kF32;
  return t == DType::kI64 || t == DType::kBool ? t : DType::kI32;
}

std::string ProblemMaker::value(DType type, int depth, const Scope& scope, int reductions) {
  return type == DType::kBool ? truth(depth, scope, reductions)
                              : number(type, depth, scope, reductions);
}

std::string ProblemMaker::number(DType type, int depth, const Scope& scope, int reductions) {
  if (depth <= 0) return leaf(type, scope);
  const auto part = [&] { return number(type, depth - 1, scope, reductions); };
  const auto joint = [&](std::string_view form) {
    const std::string a = part();
    return fmt::format(fmt::runtime(form), a, part());
  };
  const bool fraction = is_float(type);
  if (!fraction && chance(20)) return bits(type, depth, scope, reductions);
  switch (below(20)) {
    case 0:
    case 1:
      return joint("({} - {})");
    case 2:
      return joint("max({}, {})");
    case 3:
      return joint("min({}, {})");
    case 4:
    case 5:
    case 6:
      return function(type, depth, scope, reductions);
    case 7: {
      const std::string c = truth(depth - 1, scope, reductions);
      return fmt::format("select({}, {}", c, joint("{}, {})"));
    }
    case 8:
    case 9:
    case 10:
      return joint("{} * {}");
    case 11:
      // A quotient of anything by nearly nothing says little.
      return joint(fraction && chance(80) ? "({} / (1 + abs({})))" : "({} / {})");
    case 12:
      return fraction || chance(40) ? "(-" + part() + ")" : joint("({} % {})");
    case 13:
    case 14:
      return conversion(type, depth, scope, reductions);
    case 15:
    case 16:
      return reductions > 0 ? reduction(type, scope, reductions - 1) : leaf(type, scope);
    case 17:
      if (chance(30)) return chance(50) ? joint("own0({}, {})") : "own1(" + part() + ")";
      return "relu(" + part() + ")";
    default:
      return joint("({} + {})");
  }
}

/// An integer made bit by bit; counts of shifts are small mostly, and now and then outside.
std::string ProblemMaker::bits(DType type, int depth, const Scope& scope, int reductions) {
  static const std::vector<std::string> masks = {"1", "7", "12", "255"};
  static const std::vector<std::string> counts = {"1", "3", "8", "31", "-1", "63", "70"};
  const auto part = [&](DType t) { return number(t, depth - 1, scope, reductions); };
  const int kind = below(8);
  if (type == DType::kI64 && kind == 0 && chance(30)) {
    const std::string seed = chance(50) ? leaf(type, scope) : "7";
    return fmt::format("philox({}, {})", seed, part(type));
  }
  if (kind < 2) return "(~" + part(type) + ")";
  const std::string a = part(type);
  if (kind < 5) {
    const std::string b = chance(30) ? pick(masks) : part(type);
    return fmt::format("({} {} {})", a, kind == 2 ? "&" : kind == 3 ? "|" : "^", b);
  }
  std::string count = pick(counts);
  if (chance(60)) {
    const DType other = chance(70) ? type : type == DType::kI32 ? DType::kI64 : DType::kI32;
    count = chance(70) ? fmt::format("({} & 15)", part(other)) : part(other);
  }
  return fmt::format("({} {} {})", a, kind == 5 ? "<<" : ">>", count);
}

/// A bool.
std::string ProblemMaker::truth(int depth, const Scope& scope, int reductions) {
  if (depth <= 0 && chance(30)) return leaf(DType::kBool, scope);
  const auto part = [&] { return truth(depth - 1, scope, reductions); };
  switch (depth <= 0 ? 8 : below(10)) {
    case 0:
      return "(!" + part() + ")";
    case 1:
    case 2: {
      const std::string a = part();
      return fmt::format("({} {} {})", a, chance(50) ? "&&" : "||", part());
    }
    case 3: {
      const std::string a = part();
      return fmt::format("({} {} {})", a, chance(50) ? "==" : "!=", part());
    }
    case 4:
      return conversion(DType::kBool, depth, scope, reductions);
    case 5:
    case 6:
      return reductions > 0 ? reduction(DType::kBool, scope, reductions - 1)
                            : leaf(DType::kBool, scope);
    default:
      return scope.empty() || chance(50) ? comparison(depth, scope, reductions)
                                         : "(" + condition(scope) + ")";
  }
}

std::string ProblemMaker::comparison(int depth, const Scope& scope, int reductions) {
  static const std::vector<std::string> relations = {"<", "<=", ">", ">=", "==", "!="};
  const DType type = chance(60) ? seen_as(type_) : kComputed[below(4)];
  const DType of = type == DType::kBool ? DType::kI32 : type;
  const std::string a = number(of, depth - 1, scope, reductions);
  const std::string b =
      is_float(of) && chance(10) ? "inf" : number(of, depth - 1, scope, reductions);
  return fmt::format("({} {} {})", a, pick(relations), b);
}

std::string ProblemMaker::leaf(DType type, const Scope& scope) {
  if (chance(12)) return constant(type);
  if (type == DType::kI64 && !scope.empty() && chance(20)) return pick(scope).name;
  if (type != DType::kBool && chance(4)) return fmt::format("D{}", any_dim());
  if (!only_constants_ && chance(10)) {
    for (size_t i = 0; i < scalars_.size(); ++i) {
      if (seen_as(scalars_[i]) == type) return fmt::format("s{}", i);
    }
  }
  return read_any(type, scope);
}

std::string ProblemMaker::constant(DType type) {
  static const std::vector<std::string> floats = {"0.5", "2", "-1", "0.25", "3", "1e-3"};
  static const std::vector<std::string> ints = {"2", "-1", "3", "7", "0", "100", "P"};
  if (type == DType::kBool) return chance(50) ? "true" : "false";
  return pick(is_float(type) ? floats : ints);
}

std::string ProblemMaker::function(DType type, int depth, const Scope& scope, int reductions) {
  const auto all = ir::functions();
  const ir::Function& f = all[static_cast<size_t>(below(static_cast<int>(all.size())))];
  if (!is_float(type) && !f.ints_too)
    return "relu(" + number(type, depth - 1, scope, reductions) + ")";
  const std::string_view form = f.moderate;
  std::vector<std::string> args;
  for (int i = 0; i < f.arity; ++i) args.push_back(number(type, depth - 1, scope, reductions));
  if (form.empty() || chance(8)) return fmt::format("{}({})", f.name, fmt::join(args, ", "));
  return args.size() == 1 ? fmt::format(fmt::runtime(form), args[0])
                          : fmt::format(fmt::runtime(form), args[0], args[1]);
}

/// A cast to a storage type that is seen as `type`.
std::string ProblemMaker::conversion(DType type, int depth, const Scope& scope, int reductions) {
  DType to = any_type();
  while (seen_as(to) != type) to = any_type();
  std::string from;
  if (chance(60)) {
    from = read(pick_tensor(), scope, nullptr);
  } else {
    const DType of = chance(80) ? kComputed[below(4)] : DType::kBool;
    from = value(of, depth - 1, scope, reductions);
  }
  const bool main = to == type_ && chance(50);
  return fmt::format("cast<{}>({})", main ? "T" : name_of(to), from);
}

/// A reduction of what is seen as `type`.
std::string ProblemMaker::reduction(DType type, const Scope& scope, int reductions) {
  if (type == DType::kI64 && chance(30)) return position(scope, reductions);
  Ranges ranges{scope, ""};
  std::string body = term(type, ranges, reductions);
  if (type == DType::kBool) {
    return fmt::format("{}[{}]({})", chance(50) ? "any" : "all", ranges.text, body);
  }
  static const std::vector<std::string> kinds = {"sum", "sum", "sum", "max", "min", "prod"};
  const std::string& kind = pick(kinds);
  const bool fraction = is_float(type);
  if (kind == "prod" && fraction) body = fmt::format("max(-1, min(1.0625, {}))", body);
  if (chance(8) && (fraction || kind == "sum")) {
    // A congruence of its indices and of those around chooses terms.
    const auto inside = static_cast<int>(ranges.scope.size() - scope.size());
    const std::string& own = ranges.scope[scope.size() + static_cast<size_t>(below(inside))].name;
    const std::string beside = chance(70) ? pick(ranges.scope).name : "1";
    const int modulus = 2 + below(chance(80) ? 3 : 30);
    const std::string_view nothing = kind == "sum"    ? "0"
                                     : kind == "prod" ? "1"
                                     : kind == "max"  ? "-inf"
                                                      : "inf";
    body = fmt::format("select(({}*{} + {}*{} + {}) % {} == {}, {}, {})", below(7) - 3, own,
                       below(7) - 3, beside, below(6) - 2, modulus, below(modulus), body, nothing);
  }
  std::string in;
  if (chance(10)) {
    const bool wide = chance(70);
    in = fraction ? (wide ? ": f64" : ": f32") : (wide ? ": i64" : ": i32");
  }
  const std::string text = fmt::format("{}[{}{}]({})", kind, ranges.text, in, body);
  // Nothing at all has an infinite maximum: kept finite, lest rounding decide between inf and NaN.
  const bool extreme = fraction && (kind == "max" || kind == "min");
  return extreme ? fmt::format("max(-9, min(9, {}))", text) : text;
}

/// argmax or argmin, of what is exact mostly: rounding decides between near values.
std::string ProblemMaker::position(const Scope& scope, int reductions) {
  Ranges ranges{scope, ""};
  std::string body;
  if (chance(70)) {
    body = read(pick_tensor(), scope, &ranges);
  } else {
    body = term(kComputed[below(4)], ranges, reductions);
  }
  if (ranges.text.empty()) {
    const int dim = any_dim();
    const std::string name = fmt::format("r{}", fresh_++);
    ranges.text = range(name, dim, scope);
  }
  return fmt::format("{}[{}]({})", chance(50) ? "argmax" : "argmin", ranges.text, body);
}

/// What a reduction reduces: a tensor along dims that nothing around runs over, times what is made
/// of the same indices.
std::string ProblemMaker::term(DType type, Ranges& ranges, int reductions) {
  RandomTensor& t = pick_tensor();
  const Scope outer = ranges.scope;
  std::string text = read(t, outer, &ranges);
  if (ranges.text.empty() || chance(8)) {
    const int dim = any_dim();
    const std::string name = fmt::format("r{}", fresh_++);
    ranges.text += (ranges.text.empty() ? "" : ",") + range(name, dim, outer);
    ranges.scope.push_back({name, dim});
  }
  if (seen_as(t.type) != type) text = fmt::format("cast<{}>({})", name_of(type), text);
  if (!chance(50)) return text;
  const std::string other = value(type, 1, ranges.scope, reductions);
  if (type == DType::kBool) return fmt::format("({} {} {})", text, chance(50) ? "&&" : "!=", other);
  return text + " * " + other;
}

RandomTensor& ProblemMaker::pick_tensor() {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < readable_.size(); ++i) {
    if (!only_constants_ || readable_[i].constant) fitting.push_back(i);
  }
  return readable_[pick(fitting)];
}

/// An element of some tensor, converted where its type is another. A dim that no index in scope
/// runs over is read at a place that an index of another dim gives.
std::string ProblemMaker::read_any(DType type, const Scope& scope) {
  RandomTensor* best = &pick_tensor();
  for (int tries = 0; tries < 3 && seen_as(best->type) != type; ++tries) best = &pick_tensor();
  if (scope.empty() && !best->dims.empty()) {
    Ranges ranges{scope, ""};
    std::string text = read(*best, scope, &ranges);
    if (seen_as(best->type) != type) text = fmt::format("cast<{}>({})", name_of(type), text);
    if (ranges.text.empty()) return text;
    return fmt::format("{}[{}]({})", type == DType::kBool ? "any" : "sum", ranges.text, text);
  }
  const std::string text = read(*best, scope, nullptr);
  return seen_as(best->type) == type ? text : fmt::format("cast<{}>({})", name_of(type), text);
}

/// An element of `t`; with `ranges` some of its dims are reduced.
std::string ProblemMaker::read(RandomTensor& t, const Scope& scope, Ranges* ranges) {
  t.used = true;
  std::string indices;
  bool guarded = false;
  for (const int dim : t.dims) {
    std::vector<RandomIndex> fitting;
    for (const RandomIndex& s : scope) {
      if (s.dim == dim) fitting.push_back(s);
    }
    std::string text;
    if (!fitting.empty() && (!ranges || chance(75))) {
      text = index(pick(fitting), dim, ranges, &guarded);
    } else if (ranges) {
      const RandomIndex fresh{fmt::format("r{}", fresh_++), dim};
      ranges->text += (ranges->text.empty() ? "" : ",") + range(fresh.name, dim, scope);
      ranges->scope.push_back(fresh);
      text = index(fresh, dim, nullptr, &guarded);
    } else if (scope.empty() || chance(10)) {
      text = std::to_string(below(2));
      guarded |= dims_[static_cast<size_t>(dim)] < 2 || chance(30);
    } else {
      text = index(pick(scope), dim, nullptr, &guarded);
    }
    indices += (indices.empty() ? "" : ",") + text;
  }
  const std::string text = fmt::format("{}[{}]", t.name, indices);
  return guarded ? fmt::format("({} else {})", text, otherwise(t.type)) : text;
}

std::string ProblemMaker::otherwise(DType type) {
  static const std::vector<std::string> floats = {"0", "0", "-1", "0.5", "nan"};
  static const std::vector<std::string> ints = {"0", "0", "7"};
  if (type == DType::kBool) return chance(50) ? "true" : "false";
  return pick(is_float(type) ? floats : ints);
}

/// A reduction's range: whole, a part, triangular, or read from data.
std::string ProblemMaker::range(const std::string& name, int dim, const Scope& scope) {
  const int kind = below(16);
  if (kind == 0) return fmt::format("{} in 1..D{}", name, dim);
  if (scope.empty() || kind > 3) return fmt::format("{} in 0..D{}", name, dim);
  const RandomIndex& around = scope[0];
  if (kind == 1 && around.dim == dim) {
    return chance(50) ? fmt::format("{} in 0..{}+1", name, around.name)
                      : fmt::format("{} in {}..D{}", name, around.name, dim);
  }
  if (!options_.data || around.dim < 0) return fmt::format("{} in 0..D{}", name, dim);
  const std::string ends = fmt::format("B{}", extra_.size());
  static const std::vector<std::string> types = {"i64", "i64", "i32", "i32", "i16", "u8"};
  if (kind == 2) {
    extra_.push_back(fmt::format("{}: {}[D{}]", ends, integer_type(types), around.dim));
    return fmt::format("{} in 0..{}[{}]", name, ends, around.name);
  }
  extra_.push_back(fmt::format("{}: {}[D{}+1]", ends, integer_type(types), around.dim));
  return fmt::format("{} in {}[{}]..{}[{}+1]", name, ends, around.name, ends, around.name);
}

/// An index along `dim`: plain, shifted, scaled, a window's, or looked up.
std::string ProblemMaker::index(const RandomIndex& by, int dim, Ranges* ranges, bool* guarded) {
  const bool same = by.dim == dim;
  const int kind = below(same ? 32 : 12);
  const auto leaves = [&](std::string text) {
    *guarded = true;
    return text;
  };
  if (same && kind >= 12) return by.name;
  switch (kind) {
    case 0:
      return leaves(by.name + (chance(70) ? "-1" : chance(50) ? "^1" : "|2"));
    case 1:
      return leaves(by.name + (chance(50) ? "+1" : "+P"));
    case 2:
      return leaves("2*" + by.name);
    case 3: {
      const std::string half = by.name + (chance(60) ? "/2" : chance(50) ? ">>1" : "&3");
      return same ? half : leaves(half);
    }
    case 4:
      return fmt::format("D{}-1-{}", dim, by.name);
    case 5:
      if (!same) return fmt::format("{} % D{}", by.name, dim);
      return fmt::format("({}+1) % D{}", by.name, dim);
    case 6:
      return options_.data && by.dim >= 0 ? lookup(by) : leaves(by.name);
    case 7:
      if (!options_.data || by.dim < 0) return leaves(by.name);
      return leaves(lookup(by) + (chance(50) ? "" : "+1"));
    case 8:
    case 9:
      if (ranges) {
        const RandomIndex window{fmt::format("r{}", fresh_++), -1};
        ranges->text += fmt::format("{}{} in 0..{}", ranges->text.empty() ? "" : ",", window.name,
                                    chance(50) ? "3" : "P+1");
        ranges->scope.push_back(window);
        return leaves(fmt::format("{}{}+{}", chance(40) ? "2*" : "", by.name, window.name));
      }
      [[fallthrough]];
    default:
      return same ? by.name : leaves(by.name);
  }
}

/// A place that a tensor of integers says.
std::string ProblemMaker::lookup(const RandomIndex& by) {
  static const std::vector<std::string> types = {"i32", "i32", "i64", "i64", "i16", "i8", "u8"};
  const std::string ids = fmt::format("B{}", extra_.size());
  extra_.push_back(fmt::format("{}: {}[D{}]", ids, integer_type(types), by.dim));
  return fmt::format("{}[{}]", ids, by.name);
}

}  // namespace hone::ops
