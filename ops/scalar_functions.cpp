// SPDX-License-Identifier: Apache-2.0
#include "ops/scalar_functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "include/hone/dtype.h"
#include "jit/ir/spelling.h"
#include "ops/foreign.h"

namespace hone::ops {
namespace {

int size_up_to(const Term& t, int most) {
  int size = 1;
  for (const Term& a : t.args) {
    if (size > most) break;
    size += size_up_to(a, most - size);
  }
  return size;
}

size_t place_of(const ScalarFunction& f, std::string_view param) {
  return static_cast<size_t>(std::find(f.params.begin(), f.params.end(), param) - f.params.begin());
}

/// The size of `t`, a part of a body, where its parameters have these sizes.
int written_size(const ScalarFunction& f, const Term& t, const std::vector<int>& sizes, int most) {
  if (t.kind == Term::kName) return sizes[place_of(f, t.name)];
  int size = 1;
  for (const Term& a : t.args) {
    if (size > most) break;
    size += written_size(f, a, sizes, most - size);
  }
  return size;
}

Term written_out(const ScalarFunction& f, const Term& t, const std::vector<Term>& args, Span span) {
  if (t.kind == Term::kName) return args[place_of(f, t.name)];
  Term out = t;
  out.span = span;
  out.depth = 1;
  for (Term& a : out.args) {
    a = written_out(f, a, args, span);
    out.depth = std::max(out.depth, a.depth + 1);
  }
  return out;
}

class BodyChecker {
 public:
  BodyChecker(const ScalarFunction& f, const std::vector<std::string>& known,
              Diagnostics& diagnostics)
      : f_(f), known_(known), diagnostics_(diagnostics), unused_(f.params) {}

  void run() {
    check(f_.body);
    for (const std::string& p : unused_) {
      diagnostics_.consequence(
          f_.span,
          fmt::format("the parameter `{}` of `{}` is never used; take it out", p, f_.name));
    }
  }

 private:
  void check(const Term& t) {
    if (t.kind == Term::kName) check_name(t);
    if (t.kind == Term::kCall) check_call(t);
    if (t.kind == Term::kAccess) {
      error(t, fmt::format("`{}` reads no tensors; make the element a parameter", f_.name));
    } else if (t.kind == Term::kReduce) {
      error(t, fmt::format("`{}` reduces nothing; make what is reduced a parameter", f_.name));
    } else if (t.kind == Term::kCast && !dtype_named(t.name)) {
      error(t, fmt::format("there is no dtype `{}` to cast to here; dtypes are {}{}", t.name,
                           spaced(dtype_words()), dtype_hint(t.name)));
    } else {
      for (const Term& a : t.args) check(a);
    }
  }

  void check_name(const Term& t) {
    std::erase(unused_, t.name);
    if (place_of(f_, t.name) < f_.params.size()) return;
    error(t, fmt::format("`{}` is no parameter of `{}`; its parameters are {}{}", t.name, f_.name,
                         spaced(f_.params), ir::did_you_mean(t.name, f_.params)));
  }

  void check_call(const Term& t) {
    if (t.name == f_.name) {
      error(t, fmt::format("`{}` calls itself; a function is written out where it is called, and "
                           "calls those before it",
                           f_.name));
      return;
    }
    if (std::find(known_.begin(), known_.end(), t.name) != known_.end()) return;
    const std::string_view advice = advice_on_function(t.name);
    error(t, fmt::format("there is no function `{}` before `{}`{}{}", t.name, f_.name,
                         advice.empty() ? "" : fmt::format("; {}", advice),
                         advice.empty() ? ir::did_you_mean(t.name, known_) : ""));
  }

  void error(const Term& t, std::string text) { diagnostics_.error(t.span, std::move(text)); }

  const ScalarFunction& f_;
  const std::vector<std::string>& known_;
  Diagnostics& diagnostics_;
  std::vector<std::string> unused_;
};

}  // namespace

ScalarFunction* ScalarFunctions::find(std::string_view name) {
  const auto at =
      std::find_if(all_.begin(), all_.end(), [&](const auto& f) { return f.name == name; });
  if (at != all_.end()) return &*at;
  auto common = common_function(name);
  if (!common) return nullptr;
  all_.push_back(*std::move(common));
  return &all_.back();
}

void ScalarFunctions::tell_uncalled(Diagnostics& diagnostics) const {
  for (const ScalarFunction& f : all_) {
    if (f.called) continue;
    diagnostics.consequence(f.span,
                            fmt::format("the function `{}` is never called; take it out", f.name));
  }
}

std::vector<std::string> ScalarFunctions::names() const {
  std::vector<std::string> out;
  for (const ScalarFunction& f : all_) out.push_back(f.name);
  return out;
}

int written_size(const ScalarFunction& f, const std::vector<Term>& args, int most) {
  std::vector<int> sizes;
  for (const Term& a : args) sizes.push_back(size_up_to(a, most));
  return std::min(written_size(f, f.body, sizes, most), most + 1);
}

Term written_out(const ScalarFunction& f, const std::vector<Term>& args, Span span) {
  return written_out(f, f.body, args, span);
}

void check_body(const ScalarFunction& f, const std::vector<std::string>& known,
                Diagnostics& diagnostics) {
  BodyChecker(f, known, diagnostics).run();
}

}  // namespace hone::ops
