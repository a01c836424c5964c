// SPDX-License-Identifier: Apache-2.0
#include "ops/uses/uses.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "jit/ir/spelling.h"
#include "ops/foreign.h"
#include "ops/gradient/terms.h"
#include "ops/parser.h"
#include "ops/stock.h"
#include "ops/uses/fit.h"
#include "ops/uses/written_out.h"

namespace hone::ops {
namespace {

/// A call of what is no function of the language.
bool calls_unknown(const Term& t) {
  const std::vector<std::string>& functions = function_words();
  return t.kind == Term::kCall &&
         std::find(functions.begin(), functions.end(), t.name) == functions.end();
}

bool may_use(const Statement& s) {
  if (!s.given.empty() || !s.also.empty()) return true;
  for (const auto* terms : {&s.where, &s.otherwise}) {
    for (const Term& t : *terms) {
      if (any_part(t, calls_unknown)) return true;
    }
  }
  return any_part(s.value, calls_unknown);
}

class UseWriter {
 public:
  UseWriter(Definition& d, KnownOps& ops, Diagnostics& diagnostics)
      : d_(d), ops_(ops), diagnostics_(diagnostics), tensors_(d), names_(d) {}

  void run() {
    std::vector<Statement> all = std::exchange(d_.statements, {});
    for (Statement& s : all) {
      const bool use = !s.broken && s.value.kind == Term::kCall;
      if (use && !s.given.empty() && !calls_unknown(s.value)) {
        diagnostics_.error(s.value.span,
                           fmt::format("`{}` is a function; it has no parameters", s.value.name));
        s.broken = true;
      }
      const Op* op = use && !s.broken && calls_unknown(s.value) ? find(s) : nullptr;
      if (op) {
        write_out(s, *op->definition);
      } else {
        int depth = 0;
        if (!s.broken) refuse_inside(s);
        if (!s.broken) refuse_several(s);
        count(s, depth);
        keep(std::move(s));
      }
    }
  }

 private:
  /// The op that the statement uses. Where none has the name, checks of functions tell it. But an
  /// op is meant where there are parameters, or one has nearly this name.
  const Op* find(Statement& s) {
    const Op* op = ops_.find(s.value.name);
    if (op) return op;
    const std::vector<std::string_view> stock = stock_names();
    const std::vector<std::string> names(stock.begin(), stock.end());
    // Of a letter or two nearly any name is an edit away.
    const bool tells = s.value.name.size() > 2;
    const std::string near = tells ? ir::did_you_mean(s.value.name, names) : "";
    const bool function = !advice_on_function(s.value.name).empty() || is_reduction(s.value.name) ||
                          dtype_named(s.value.name) ||
                          !ir::did_you_mean(s.value.name, function_words()).empty();
    if (!s.given.empty() || (!near.empty() && !function)) {
      diagnostics_.error(s.value.span, fmt::format("there is no op `{}`{}", s.value.name, near));
      s.broken = true;
    }
    return nullptr;
  }

  void write_out(Statement& s, const Definition& used) {
    ops_.used(used.name);
    std::vector<Statement> made;
    Fit fit(used, d_, s, tensors_, diagnostics_);
    // Of an op with errors these are told already.
    if (!used.text.empty() && fit.solve()) made = WrittenOut(fit, names_).statements();
    if (!made.empty()) made = within_limits(std::move(made), s);
    if (made.empty()) {
      s.broken = true;
      keep(std::move(s));
    }
    for (Statement& one : made) add(std::move(one));
  }

  /// Takes the statement as it is. If it is wrong, so is all that it was to make.
  void keep(Statement s) {
    const std::vector<Left> also = std::exchange(s.also, {});
    for (const Left& left : also) {
      Statement other = s;
      static_cast<Left&>(other) = left;
      other.broken = true;
      if (!left.omitted) add(std::move(other));
    }
    if (!s.omitted) add(std::move(s));
  }

  void add(Statement s) {
    tensors_.add(s);
    d_.statements.push_back(std::move(s));
  }

  /// The statements, or none and an error where the op comes to be too long.
  std::vector<Statement> within_limits(std::vector<Statement> made, const Statement& s) {
    int depth = 0;
    for (const Statement& one : made) count(one, depth);
    std::string flaw;
    if (terms_ > kMaxTerms) flaw = "the op has more than 4096 names, numbers and operators";
    if (depth > kMaxDepth) flaw = "an expression is nested deeper than 200";
    if (d_.statements.size() + made.size() > kMaxStatements) {
      flaw = "the op has more than 512 statements";
    }
    if (flaw.empty()) return made;
    diagnostics_.error(s.value.span,
                       fmt::format("with `{}` written out here, {}", s.value.name, flaw));
    return {};
  }

  void count(const Statement& s, int& depth) {
    for (const auto* ranges : {&s.indices, &s.loops}) {
      for (const Range& r : *ranges) {
        terms_ += 1;
        for (const Term& t : r.bounds) count(t, depth);
        for (const Term& t : r.at) count(t, depth);
      }
    }
    for (const auto* terms : {&s.where, &s.otherwise}) {
      for (const Term& t : *terms) count(t, depth);
    }
    count(s.value, depth);
  }

  void count(const Term& t, int& depth) {
    depth = std::max(depth, t.depth);
    any_part(t, [&](const Term&) {
      ++terms_;
      return false;
    });
  }

  /// An op that is used where an element stands.
  void refuse_inside(const Statement& s) {
    const auto refuse = [&](const Term& t) {
      if (!calls_unknown(t) || !ops_.find(t.name)) return false;
      ops_.used(t.name);
      diagnostics_.error(
          t.span, fmt::format("`{}` is an op: it makes a whole tensor, in a statement of its own, "
                              "`t[i,j] = {}(...)`",
                              t.name, t.name));
      return true;
    };
    any_part(s.value, refuse);
    for (const auto* terms : {&s.where, &s.otherwise}) {
      for (const Term& t : *terms) any_part(t, refuse);
    }
  }

  /// Several left sides without an op that makes so much.
  void refuse_several(Statement& s) {
    if (s.also.empty()) return;
    s.broken = true;
    if (diagnostics_.has_error_in(s.whole)) return;
    diagnostics_.error(s.also[0].span,
                       "several results are those of the op that a statement uses, as in `V[i,k], "
                       "P[i,k] = topk_rows(X)`; here each has a statement of its own");
  }

  Definition& d_;
  KnownOps& ops_;
  Diagnostics& diagnostics_;
  WrittenTensors tensors_;
  UsedNames names_;
  int terms_ = 0;
};

}  // namespace

void write_out_uses(Definition& d, KnownOps& ops, Diagnostics& diagnostics) {
  if (d.headless || std::none_of(d.statements.begin(), d.statements.end(), may_use)) return;
  UseWriter(d, ops, diagnostics).run();
}

}  // namespace hone::ops
