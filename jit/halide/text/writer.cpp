// SPDX-License-Identifier: Apache-2.0
#include "jit/halide/text/writer.h"

namespace hone::jit::halide {
namespace {

/// Shorter texts are repeated.
/// Chosen: what reads well (not measured).
constexpr size_t kWorthName = 24;

/// Without the parentheses around all of it.
std::string bare(const std::string& text) {
  if (text.empty() || text.front() != '(') return text;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i + 1 == text.size() ? text.substr(1, i - 1) : text;
  }
  return text;
}

}  // namespace

void Writer::count(const Halide::Expr& e) {
  if (!e.defined()) return;
  const Halide::Node& n = *e.node();
  if (n.domain) declare(*n.domain);
  if (uses_[&n]++ > 0) return;
  for (const Halide::Expr& a : n.args) count(a);
}

void Writer::declare(const Halide::Domain& domain) {
  if (!declared_.insert(domain.name).second) return;
  std::string region;
  for (const Halide::Range& r : domain.region) {
    count(r.min), count(r.extent);
    region +=
        (region.empty() ? "{" : ", {") + bare(text(r.min)) + ", " + bare(text(r.extent)) + "}";
  }
  line("Halide::RDom " + domain.name + "({" + region + "}, \"" + domain.name + "\");");
  for (const Halide::Expr& c : domain.conditions) {
    count(c);
    line(domain.name + ".where(" + bare(text(c)) + ");");
  }
}

std::string Writer::text(const Halide::Expr& e) {
  if (!e.defined()) return "Halide::Expr()";
  const Halide::Node& n = *e.node();
  const auto named = names_.find(&n);
  if (named != names_.end()) return named->second;
  std::string out = n.texts[0];
  for (size_t i = 0; i < n.args.size(); ++i) out += text(n.args[i]) + n.texts[i + 1];
  const bool shared = !n.args.empty() && uses_[&n] > 1 && out.size() > kWorthName;
  if (!shared) return out;
  const std::string name = "e" + std::to_string(number_++);
  line("Halide::Expr " + name + " = " + bare(out) + ";");
  names_.emplace(&n, name);
  kept_.push_back(e);
  return name;
}

void Writer::define(const std::string& left, const Halide::Expr& value) {
  uses_.clear();
  count(value);
  const std::string right = bare(text(value));
  // A number alone is none of Halide's types.
  line(left + " = " + (value.node()->literal ? "Halide::Expr(" + right + ")" : right) + ";");
}

}  // namespace hone::jit::halide
