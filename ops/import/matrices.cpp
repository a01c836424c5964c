// SPDX-License-Identifier: Apache-2.0
// Sums of products by an equation, and determinants.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Parts of an equation between `mark`s.
std::vector<std::string> parts_of(const std::string& text, char mark) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == mark) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// An equation's operands and its result, a letter for each dim. Those of `...` are digits, the
/// last dim's first: `1` and `0` of two.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

/// `...` as `dims` digits.
std::string spread(const std::string& operand, size_t dims) {
  const size_t at = operand.find("...");
  if (at == operand.npos) return operand;
  std::string digits;
  for (size_t i = dims; i-- > 0;) digits += static_cast<char>('0' + i);
  return operand.substr(0, at) + digits + operand.substr(at + 3);
}

Equation equation_of(const ImportNode& node) {
  std::string text = node.text("equation", "");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  Equation out;
  out.operands = parts_of(text.substr(0, arrow), ',');
  if (out.operands.size() != node.inputs()) throw Unsupported{"its equation has other operands"};
  size_t most = 0;
  for (size_t i = 0; i < out.operands.size(); ++i) {
    const size_t rank = node.input(i).shape.size();
    const bool more = out.operands[i].find("...") != std::string::npos;
    const size_t own = out.operands[i].size() - (more ? 3 : 0);
    if (own > rank || (!more && own != rank) || rank - own > 10) {
      throw Unsupported{"its equation is of another rank"};
    }
    out.operands[i] = spread(out.operands[i], rank - own);
    most = std::max(most, more ? rank - own : 0);
  }
  if (arrow != text.npos) {
    out.result = spread(text.substr(arrow + 2), most);
  } else {
    // Those of `...`, then the letters that stand once, in their order.
    out.result = spread("...", most);
    std::map<char, int> counts;
    for (const std::string& operand : out.operands) {
      for (const char c : operand) ++counts[c];
    }
    for (const auto& [c, count] : counts) {
      if (count == 1 && std::isalpha(static_cast<unsigned char>(c)) != 0) out.result += c;
    }
  }
  for (const std::string& operand : out.operands) {
    for (const char c : operand + out.result) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
        throw Unsupported{fmt::format("`{}` in its equation", c)};
      }
    }
  }
  return out;
}

/// `bij,bjk->bik`: a letter is a dim. Of `...` extents of 1 serve all.
void import_einsum(const ImportNode& node) {
  const Equation equation = equation_of(node);
  std::map<char, ImportExtent> extents;
  std::string letters;
  for (size_t i = 0; i < node.inputs(); ++i) {
    const ImportShape& shape = node.input(i).shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const char c = equation.operands[i][d];
      ImportExtent& e = extents.emplace(c, shape[d]).first->second;
      const bool spread = std::isdigit(static_cast<unsigned char>(c)) != 0;
      if (spread && e.is(1)) e = shape[d];
      if (!(e == shape[d]) && !(spread && shape[d].is(1))) {
        throw Unsupported{fmt::format("extents {} and {} of `{}`", e.text(), shape[d].text(), c)};
      }
      if (letters.find(c) == letters.npos) letters += c;
    }
  }
  std::vector<ImportArgument> arguments;
  std::string product;
  for (size_t i = 0; i < node.inputs(); ++i) {
    const ImportValue& x = node.input(i);
    std::vector<std::string> dims, at;
    for (size_t d = 0; d < x.shape.size(); ++d) {
      const char c = equation.operands[i][d];
      const bool one = x.shape[d].is(1) && !extents[c].is(1);
      dims.push_back(one ? "1" : fmt::format("N{}", c));
      at.push_back(one ? "0" : fmt::format("i_{}", c));
    }
    const std::string name = fmt::format("X{}", i);
    arguments.push_back({&x, name, joined(dims)});
    product += fmt::format("{}{}[{}]", product.empty() ? "" : " * ", name, joined(at));
  }
  ImportShape shape;
  std::vector<std::string> dims, at, over;
  for (const char c : equation.result) {
    if (!extents.contains(c)) throw Unsupported{"a letter that no operand has"};
    if (std::count(equation.result.begin(), equation.result.end(), c) > 1) {
      throw Unsupported{"a letter that stands twice in the result"};
    }
    shape.push_back(extents[c]);
    dims.push_back(fmt::format("N{}", c));
    at.push_back(fmt::format("i_{}", c));
  }
  for (const char c : letters) {
    if (equation.result.find(c) == std::string::npos) over.push_back(fmt::format("i_{}", c));
  }
  node.importer().make(
      node, 0, node.input(0).type, shape, arguments, joined(dims),
      fmt::format("Y[{}] = {}", joined(at),
                  over.empty() ? product : fmt::format("sum[{}]({})", joined(over), product)));
}

/// By products of rows, which small matrices have few of.
void import_determinant(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const size_t rank = x.shape.size();
  if (rank < 2 || !(x.shape[rank - 1] == x.shape[rank - 2])) {
    throw Unsupported{"its input has no square matrices"};
  }
  const int64_t n = import_fixed(x.shape.back());
  if (n < 1 || n > 3) throw Unsupported{fmt::format("determinants of {} rows", n)};
  ImportShape shape(x.shape.begin(), x.shape.end() - 2);
  std::vector<std::string> dims = import_dims(shape);
  const std::string out = joined(dims), at = joined(import_indices(shape)),
                    ahead = at.empty() ? "" : at + ",";
  dims.insert(dims.end(), 2, std::to_string(n));
  const auto e = [&](int row, int column) { return fmt::format("X[{}{},{}]", ahead, row, column); };
  // The minor of the first row's element in column `c`.
  const auto minor = [&](int c) {
    const int a = c == 0 ? 1 : 0, b = c == 2 ? 1 : 2;
    return fmt::format("({}*{} - {}*{})", e(1, a), e(2, b), e(1, b), e(2, a));
  };
  std::string text = e(0, 0);
  if (n == 2) text = fmt::format("{}*{} - {}*{}", e(0, 0), e(1, 1), e(0, 1), e(1, 0));
  if (n == 3) {
    text = fmt::format("{}*{} - {}*{} + {}*{}", e(0, 0), minor(0), e(0, 1), minor(1), e(0, 2),
                       minor(2));
  }
  node.importer().make(node, 0, x.type, shape, {{&x, "X", joined(dims)}}, out,
                       fmt::format("Y[{}] = {}", at, text));
}

}  // namespace

std::vector<ImportEntry> rows_of_matrices() {
  return {{"Det", import_determinant}, {"Einsum", import_einsum}};
}

}  // namespace hone::ops
