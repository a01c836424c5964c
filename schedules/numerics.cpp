// SPDX-License-Identifier: Apache-2.0
#include "schedules/numerics.h"

#include <algorithm>
#include <set>

#include "jit/ir/recurrence.h"
#include "schedules/orders.h"

namespace hone::schedules {

using namespace ir;

namespace {

/// True where additions round separately from a product that they read from the tensor `name`. The
/// product is then a whole operand, or the terms of a sum.
bool adds(const Stage& s, const std::string& name) {
  const auto is_it = [&](const Expr& e) { return e->op == ir::Op::kLoad && e->name == name; };
  bool found = is_it(s.value);
  visit(s.value, [&](const Expr& e) {
    if (e->op == ir::Op::kAdd || e->op == ir::Op::kSub) {
      found = found || is_it(e->args[0]) || is_it(e->args[1]);
    }
  });
  return found;
}

/// True where the value of `s` ends in a float product, its own or one of a stage it passes on.
bool makes_product(const Program& p, const Stage& s) {
  if (s.reduce != Reduce::kNone) return false;
  if (s.value->op == ir::Op::kMul) return is_float(s.value->type);
  const Stage* from = s.value->op == ir::Op::kLoad ? p.producer(s.value->name) : nullptr;
  return from && makes_product(p, *from);
}

/// How a sum that goes on from part to part adds, `online(32)[seq]`; empty where it is none.
std::string order_online(const Program& definition, const Program& scheduled, const Orders& orders,
                         const Stage& sum) {
  if (!rounds(sum)) return {};
  for (const Stage& total : scheduled.stages) {
    if (definition.stage(total.name) || !total.name.starts_with(sum.name + ".")) continue;
    if (!is_recurrence(total)) continue;
    std::string out;
    visit(total.value, [&](const Expr& e) {
      const Stage* made = e->op == ir::Op::kLoad ? scheduled.producer(e->name) : nullptr;
      if (!made || made->reduce != Reduce::kSum || definition.stage(made->name)) return;
      std::string terms;
      for (const IndexVar& v : made->rvars) terms += (terms.empty() ? "" : "*") + print(v.hi);
      out = "online(" + terms + ")[" + orders.of(*made) + "]";
    });
    if (!out.empty()) return out;
  }
  return {};
}

/// The quotients of `s` that are made of reciprocals, `reciprocal(s[i])`; empty where none are.
std::string reciprocals(const Stage& s) {
  std::set<std::string> divisors;
  visit(s.value, [&](const Expr& e) {
    if (e->reciprocal) divisors.insert(print(e->args[1]));
  });
  std::string out;
  for (const std::string& d : divisors)
    out += std::string(out.empty() ? "" : "+") + "reciprocal(" + d + ")";
  std::erase(out, ' ');
  return out;
}

/// The stage of the definition that `s` is, or is a part of; its own name else.
std::string defined_name(const Program& definition, const Stage& s) {
  for (size_t end = s.name.size(); end != std::string::npos; end = s.name.rfind('.', end - 1)) {
    if (definition.stage(s.name.substr(0, end))) return s.name.substr(0, end);
    if (end == 0) break;
  }
  return s.name;
}

/// How products of combined factors add up to the sum `name`, `winograd(r/2)[seq]`; empty where
/// they are its own. What is inlined is named: a product is then not rounded before it is added.
std::string transformed(const Program& scheduled, const Orders& orders, const std::string& name) {
  for (const ir::Transformed& t : scheduled.transformed) {
    if (t.sum != name) continue;
    std::string inner = transformed(scheduled, orders, t.products);
    const Stage* products = scheduled.stage(t.products);
    if (inner.empty() && products) inner = orders.of(*products);
    std::string out = t.rule;
    if (!scheduled.stage(t.data)) out += ",data";
    if (!scheduled.stage(t.filter)) out += ",filter";
    if (!products) out += ",products";
    return out + ")" + (inner.empty() ? "" : "[" + inner + "]");
  }
  return {};
}

}  // namespace

std::string numerics_class(const Program& definition, const Program& scheduled) {
  std::string out;
  const auto add = [&](const std::string& name, const std::string& what) {
    if (!what.empty()) out += (out.empty() ? "" : ";") + name + ":" + what;
  };
  const Orders orders(definition, scheduled);
  for (const Stage& s : definition.stages) {
    if (const std::string how = transformed(scheduled, orders, s.name); !how.empty()) {
      add(s.name, how);
    } else if (const Stage* now = scheduled.stage(s.name)) {
      const std::string products = orders.products(s);
      std::string order = orders.of(*now);
      if (order.empty()) order = order_online(definition, scheduled, orders, s);
      if (order.empty()) order = orders.scanned(*now);
      add(s.name, products.empty() ? order : (order.empty() ? "each" : order) + products);
    } else if (const std::string order = order_online(definition, scheduled, orders, s);
               !order.empty()) {
      add(s.name, order);
    } else if (makes_product(definition, s)) {
      const bool fused = std::any_of(definition.stages.begin(), definition.stages.end(),
                                     [&](const Stage& r) { return adds(r, s.output); });
      // A staged copy of the product is rounded before it is added.
      const bool staged = std::any_of(
          scheduled.stages.begin(), scheduled.stages.end(),
          [&](const Stage& c) { return !definition.stage(c.name) && makes_product(scheduled, c); });
      add(s.name, !fused ? "" : staged ? "staged" : "fused");
    }
  }
  for (const Stage& s : scheduled.stages) add(defined_name(definition, s), reciprocals(s));
  return out.empty() ? "exact" : out;
}

bool admits(std::string_view pinned, std::string_view actual) {
  if (pinned.empty() || pinned == "any" || pinned == "normwise" || pinned == actual ||
      actual == "exact")
    return true;
  if (pinned != "seq") return false;
  while (!actual.empty()) {
    const std::string_view part = actual.substr(0, actual.find(';'));
    if (part.substr(part.find(':') + 1) != "seq") return false;
    actual.remove_prefix(std::min(part.size() + 1, actual.size()));
  }
  return true;
}

}  // namespace hone::schedules
