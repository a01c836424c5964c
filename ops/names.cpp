// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ops/foreign.h"
#include "ops/lexer.h"
#include "ops/lower.h"

namespace hone::ops {
namespace {

/// Every name that the statements and shapes of an op use, by what kind of use it is.
struct Uses {
  std::unordered_set<std::string_view> tensors;  // accessed
  std::unordered_set<std::string_view> plain;    // as an index or a number
  std::unordered_set<std::string_view> types;
  std::string_view own;  // what the statement under way defines: its own reads are no use of it

  void walk(const Term& t) {
    if (t.kind == Term::kAccess && t.name != own) tensors.insert(t.name);
    if (t.kind == Term::kName) plain.insert(t.name);
    if (t.kind == Term::kCast) types.insert(t.name);
    if (!t.type.empty()) types.insert(t.type);
    walk(t.args);
    walk(t.ranges);
  }
  void walk(const std::vector<Term>& terms) {
    for (const Term& t : terms) walk(t);
  }
  void walk(const std::vector<Range>& ranges) {
    for (const Range& r : ranges) {
      walk(r.bounds);
      walk(r.at);
    }
  }
};

class NameChecker {
 public:
  NameChecker(Definition& d, Diagnostics& diagnostics) : d_(d), diagnostics_(diagnostics) {}

  void run() {
    const size_t before = diagnostics_.count();
    declare_params();
    declare_args();
    collect_dims();
    d_.headless |= diagnostics_.count() > before;
    if (d_.headless) return;
    declare_intermediates();
    check_scopes(d_, diagnostics_);
    check_uses();
  }

 private:
  template <class... Args>
  void error(Span span, fmt::format_string<Args...> format, Args&&... args) {
    diagnostics_.error(span, fmt::format(format, std::forward<Args>(args)...));
  }

  template <class... Args>
  void unused(Span span, fmt::format_string<Args...> format, Args&&... args) {
    diagnostics_.consequence(span, fmt::format(format, std::forward<Args>(args)...));
  }

  void declare(const std::string& name, Span span, std::string what) {
    const auto [at, fresh] = names_.emplace(name, what);
    if (!fresh) error(span, "`{}` already names {}; choose another name", name, at->second);
  }

  void declare_params() {
    for (const Param& p : d_.params) declare(p.name, p.span, "a parameter");
  }

  void check_type(const std::string& type, Span span) {
    const Param* p = d_.param(type);
    if (dtype_named(type) || (p && p->is_type)) return;
    if (p) {
      error(span, "`{}` is an integer parameter, not a dtype", type);
    } else {
      error(span, "there is no dtype `{}`; dtypes are {} and the parameters in <...>{}", type,
            spaced(dtype_words()), dtype_hint(type));
    }
  }

  void declare_args() {
    for (const Argument& a : d_.args) {
      if (a.broken) continue;
      declare(a.name, a.span, a.scalar ? "a scalar argument" : "a tensor");
      check_type(a.type, a.type_span);
    }
  }

  void collect_dims() {
    for (const Argument& a : d_.args) {
      if (a.broken) continue;
      for (const Term& extent : a.shape) collect_dims(extent);
    }
  }

  void collect_dims(const Term& t) {
    if (t.kind == Term::kName) {
      if (std::find(d_.dims.begin(), d_.dims.end(), t.name) != d_.dims.end()) return;
      const Param* p = d_.param(t.name);
      if (p && !p->is_type) return;
      declare(t.name, t.span, "a dim");
      d_.dims.push_back(t.name);
      return;
    }
    if (t.kind != Term::kInt && t.kind != Term::kNeg &&
        (t.kind != Term::kInfix || row_of(t.infix).strength < row_of(Infix::kAdd).strength)) {
      error(t.span, "an extent is made of dims, integer parameters, integers and + - * / %");
    }
    for (const Term& a : t.args) collect_dims(a);
  }

  void declare_intermediates() {
    for (const Statement& s : d_.statements) {
      if (s.name.empty()) continue;
      if (const Argument* a = d_.arg(s.name)) {
        check_target(s, *a);
      } else {
        declare(s.name, s.span, "a tensor");
        if (!s.type.empty()) check_type(s.type, s.type_span);
      }
    }
  }

  void check_target(const Statement& s, const Argument& a) {
    if (a.scalar || a.role == ir::Role::kInput) {
      error(s.span, "`{}` is an input and cannot be written; declare it `inout {}`{}", a.name,
            a.name, a.scalar ? " with a shape" : "");
    }
    if (!s.type.empty() && s.type != a.type) {
      error(s.type_span, "`{}` is declared as {}; leave the type out here", a.name, a.type);
    }
    if (!written_.insert(a.name).second) {
      error(s.span, "`{}` is written twice; join the statements with `select`", a.name);
    }
  }

  void check_uses() {
    Uses uses;
    for (const Statement& s : d_.statements) {
      if (!s.type.empty()) uses.types.insert(s.type);
      uses.own = s.name;
      uses.walk(s.indices);
      uses.walk(s.loops);
      uses.walk(s.value);
      uses.walk(s.where);
      uses.walk(s.otherwise);
    }
    for (const Statement& s : d_.statements) {
      if (s.broken) return;  // what it uses is not known
    }
    check_tensor_uses(uses);
    for (const Argument& a : d_.args) {
      uses.types.insert(a.type);
      uses.walk(a.shape);
    }
    for (const Param& p : d_.params) {
      if (p.is_type ? !uses.types.count(p.name) : !uses.plain.count(p.name)) {
        unused(p.span, "the parameter `{}` is never used; take it out", p.name);
      }
    }
  }

  /// Those that no statement reads, but whose shape alone says a dim that is used.
  std::unordered_set<std::string_view> taken_for_shape(const Uses& uses) const {
    Uses told;  // by the shapes of what is read and written
    for (const Argument& a : d_.args) {
      const bool read = uses.tensors.count(a.name) || uses.plain.count(a.name);
      if (a.role != ir::Role::kInput || read) told.walk(a.shape);
    }
    std::unordered_set<std::string_view> out;
    for (const Argument& a : d_.args) {
      if (a.role != ir::Role::kInput || uses.tensors.count(a.name)) continue;
      Uses own;
      own.walk(a.shape);
      const bool needed =
          std::any_of(own.plain.begin(), own.plain.end(), [&](std::string_view name) {
            return !d_.param(name) && uses.plain.count(name) && !told.plain.count(name);
          });
      if (!needed) continue;
      out.insert(a.name);
      told.walk(a.shape);
    }
    return out;
  }

  void check_tensor_uses(const Uses& uses) {
    bool any_output = false;
    const auto for_shape = taken_for_shape(uses);
    for (const Argument& a : d_.args) {
      any_output |= a.role != ir::Role::kInput;
      if (a.role != ir::Role::kInput && !written_.count(a.name)) {
        error(a.span, "no statement writes `{}`", a.name);
      }
      if (a.role == ir::Role::kInput && !uses.tensors.count(a.name) && !uses.plain.count(a.name) &&
          !for_shape.count(a.name)) {
        unused(a.span, "the argument `{}` is never used; take it out", a.name);
      }
    }
    if (!any_output) {
      error(d_.span, "the op writes nothing; add an output, `-> (Y: f32[M])`, or an `inout`");
    }
    for (const Statement& s : d_.statements) {
      if (!d_.arg(s.name) && !uses.tensors.count(s.name)) {
        unused(s.span, "`{}` is never read, and it is not an output; take the statement out",
               s.name);
      }
    }
  }

  Definition& d_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string, std::string> names_;
  std::unordered_set<std::string> written_;
};

}  // namespace

void check_names(Definition& d, Diagnostics& diagnostics) { NameChecker(d, diagnostics).run(); }

Binding checking_binding(const Definition& d) {
  Binding b;
  b.checking = true;
  for (const Param& p : d.params) {
    b.types.push_back(p.type);
    b.ints.push_back(ir::make_dim(p.name));
  }
  for (const std::string& name : d.dims) b.dims.push_back(ir::make_dim(name));
  return b;
}

}  // namespace hone::ops
