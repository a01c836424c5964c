// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "jit/ir/spelling.h"
#include "ops/bindings.h"
#include "ops/congruences.h"
#include "ops/cumulative.h"
#include "ops/definition.h"
#include "ops/divided.h"
#include "ops/einsum.h"
#include "ops/hoist.h"
#include "ops/invariants.h"
#include "ops/packed.h"
#include "ops/stock.h"

namespace hone::ops {
namespace {

bool is_space_problem(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Binds `op` with the words of `source` that begin at `begin`. `stock` is set when the op is known
/// to be the stock op of its name.
Result<Problem> bind(const Op& op, bool stock, const std::shared_ptr<const Source>& source,
                     int begin) {
  const Definition& d = *op.definition;
  Diagnostics diagnostics(source);
  Bindings bindings = parse_bindings(d, diagnostics, begin);
  if (diagnostics.failed()) return diagnostics.failure();

  Problem problem;
  problem.op = op;
  Diagnostics in_op(d.source);
  problem.program = lower(d, binding_of(d, bindings), in_op);
  if (in_op.failed()) {
    Failure f = in_op.failure();
    f.message += fmt::format("\nin `{}`{}", d.name, print(d, bindings));
    return f;
  }
  apply_layout(d, bindings, problem.program, diagnostics);
  if (diagnostics.failed()) return diagnostics.failure();
  unpack_storage(problem.program);
  problem.program.normwise =
      bindings.numerics == "normwise" || bindings.numerics.find(":winograd(") != std::string::npos;
  problem.definition = problem.program;
  solve_congruences(problem.program);
  drop_invariants(problem.program);
  accumulate_rows(problem.program);
  hoist_invariants(problem.program);
  split_divided_indices(problem.program);
  if (!stock) {
    const auto same = find_stock(d.name);
    stock = same && same->text() == d.text;
  }
  problem.text = (stock ? d.name : d.text) + print(d, bindings);
  problem.numerics = bindings.numerics;
  return problem;
}

/// A problem whose op stands in it. What is wrong with the op and with the bindings is told at
/// once.
Result<Problem> bind_inline(const std::shared_ptr<const Source>& source, const Library* library) {
  Diagnostics diagnostics(source);
  int end = 0;
  const Op op = parse_last_op(source, diagnostics, library, false, &end);
  if (!diagnostics.failed()) return bind(op, false, source, end);
  const Definition& d = *op.definition;
  if (!d.headless && d.closed) parse_bindings(d, diagnostics, end);
  return diagnostics.failure();
}

/// What a text is that names no op and is not one: an op without its `op`, a statement, a binding.
std::string kind_of_text(std::string_view all, std::string_view word) {
  constexpr std::string_view kOp = "`op f(A: f32[M]) -> (Y: f32[M]) { Y[i] = 2*A[i] } M=128`";
  if (all.find('{') != all.npos && word.find('[') == word.npos) {
    return fmt::format("the text of an op begins with `op`, as in {}", kOp);
  }
  if (word.find('[') != word.npos) {
    return fmt::format("a statement stands in an op, as in {}", kOp);
  }
  if (word.find('=') != word.npos) {
    return "a problem begins with the name of an op, as in `matmul M=64 N=64 K=64`";
  }
  return {};
}

}  // namespace

void tell_unknown_op(Span name, const Library* library, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  if (library) {
    for (const Op& op : library->ops) names.push_back(op.name());
  }
  for (const std::string_view stock : stock_names()) names.emplace_back(stock);
  const std::string& all = diagnostics.source().text;
  const std::string given = all.substr(name.begin, std::min(name.end - name.begin, 64));
  const std::string kind = kind_of_text(all, given);
  diagnostics.error(
      name,
      !kind.empty() ? kind
                    : fmt::format("there is no op of this name; a problem is `NAME "
                                  "M=128 ...` or `op ... {{ ... }} M=128 ...`; the "
                                  "nearest names are {}",
                                  fmt::join(ir::nearest_words(std::move(names), given, 4), ", ")),
      ErrorCode::kNotFound);
}

Result<Problem> parse_problem(std::string_view text, const Library* library) {
  const auto made = make_source(text, "", 1);
  if (!made) return made.failure();
  const std::shared_ptr<const Source>& source = *made;
  const std::string_view all = source->text;
  size_t begin = 0;
  while (begin < all.size() && is_space_problem(all[begin])) ++begin;
  size_t end = begin;
  while (end < all.size() && !is_space_problem(all[end])) ++end;
  const std::string_view name = all.substr(begin, end - begin);

  if (name == "op" || name == "fn" || name.starts_with("#") || is_einsum(all)) {
    return bind_inline(source, library);
  }
  if (const Op* op = library ? library->find(name) : nullptr) {
    return bind(*op, false, source, static_cast<int>(end));
  }
  if (const auto op = find_stock(name)) return bind(*op, true, source, static_cast<int>(end));
  Diagnostics diagnostics(source);
  tell_unknown_op({static_cast<int>(begin), static_cast<int>(end)}, library, diagnostics);
  return diagnostics.failure();
}

Result<Problem> make_problem(const Op& op, std::string_view bindings, const Library*) {
  const auto source = make_source(bindings, "", 1);
  if (!source) return source.failure();
  return bind(op, false, *source, 0);
}

}  // namespace hone::ops
