// SPDX-License-Identifier: Apache-2.0
#include "schedules/orders.h"

#include <algorithm>
#include <map>
#include <vector>

#include "jit/ir/carrying_loop.h"
#include "jit/ir/instructions.h"
#include "jit/ir/product.h"
#include "jit/ir/recurrence.h"
#include "jit/ir/scan.h"

namespace hone::schedules {

using namespace ir;

namespace {

const Expr& without_casts(const Expr& e) {
  return e->op == ir::Op::kCast ? without_casts(e->args[0]) : e;
}

std::string marked(std::string_view mark, const std::string& loop) {
  return std::string(mark) + "(" + loop + ")";
}

/// True where the range of a reduction is another one for each element.
bool uneven(const Stage& s) {
  bool found = false;
  const auto look = [&](const Expr& e, auto counts) {
    if (e) visit(e, [&](const Expr& x) { found = found || (x->op == ir::Op::kVar && counts(x)); });
  };
  for (const IndexVar& v : s.rvars) {
    for (const Expr& bound : {v.lo, v.hi}) look(bound, [](const Expr&) { return true; });
  }
  look(s.where, [&](const Expr& x) { return s.is_reduction_var(x->name); });
  return found;
}

/// The relation that makes loop `name`; the youngest, for a factored loop may carry the name of its
/// root.
const Relation* made_by(const Stage& s, std::string_view name) {
  for (size_t i = s.relations.size(); i-- > 0;) {
    const Relation& r = s.relations[i];
    if (r.outer == name || (r.kind == Relation::kSplit && r.inner == name)) return &r;
  }
  return nullptr;
}

/// Leaves under a loop, in the order in which they would nest without `reorder`. The leaves of a
/// fused loop belong to both of its parts.
void natural_leaves(const Stage& s, const std::string& loop, std::vector<std::string>& out) {
  for (const Relation& r : s.relations) {
    if (r.parent != loop && r.second != loop) continue;
    natural_leaves(s, r.outer, out);
    if (r.kind == Relation::kSplit) natural_leaves(s, r.inner, out);
    return;
  }
  out.push_back(loop);
}

/// Replaces the parts of loops that run as one. Such are the outer and inner loop of one split,
/// directly nested, and a fused loop's two parts.
void merge(const Stage& s, std::vector<std::string>& loops, const std::vector<std::string>& apart) {
  const auto is_apart = [&](const std::string& loop) {
    return std::find(apart.begin(), apart.end(), loop) != apart.end();
  };
  for (size_t i = 0; i < loops.size(); ++i) {
    const Relation* r = made_by(s, loops[i]);
    if (!r || is_apart(loops[i])) continue;
    if (r->kind == Relation::kFuse) {
      loops[i] = r->parent;
      loops.insert(loops.begin() + static_cast<long>(i) + 1, r->second);
    } else if (r->outer == loops[i] && i + 1 < loops.size() && loops[i + 1] == r->inner &&
               !is_apart(r->inner)) {
      loops[i] = r->parent;
      loops.erase(loops.begin() + static_cast<long>(i) + 1);
    } else {
      continue;
    }
    i = static_cast<size_t>(-1);  // from the start: the parent may be a part as well
  }
}

}  // namespace

struct Orders::ProductTree {
  struct Leaf {
    std::string tensor;  ///< that it reads; empty where it is computed in place
    std::string text;
  };
  std::vector<Leaf> factors;  ///< from left to right
  std::string text, shape;    ///< the same with and without the factors
};

bool rounds(const Stage& s) {
  return (s.reduce == Reduce::kSum || s.reduce == Reduce::kProd) && is_float(s.accumulate);
}

std::string Orders::of(const Stage& s) const {
  const Stage* from = source(s);
  if (!from || !(rounds(*from) || source(*from))) return rounds(s) ? own(s, false) : "";
  const std::string inner = of(*from);
  if (s.reduce == Reduce::kNone || inner.empty()) return rounds(s) ? own(s, false) : inner;
  if (is_rescaled(s)) return "running(" + own(s, true) + ")[" + inner + "]";
  const std::string outer = own(s, true);
  return outer.empty() ? inner : outer + "[" + inner + "]";
}

std::string Orders::scanned(const Stage& s) const {
  if (const std::string blocks = in_blocks(s); !blocks.empty()) return blocks;
  const auto loop = scanning_loop(s);
  const auto own = [&](const Expr& load) { return load->name == s.output; };
  if (!loop || scan_of(s.value, own)->combine != Reduce::kSum || !is_float(s.value->type))
    return {};
  const bool fewer = widest_element(s) > size_of(s.value->type);
  std::string out = marked(fewer ? "scan8" : "scan", path(s, s.loops[*loop].name, true));
  for (const Loop& l : s.loops) out += l.partition ? "+" + path(s, l.name, false) : "";
  return out;
}

std::string Orders::in_blocks(const Stage& s) const {
  const Stage& inside = computing(s);
  if (&inside == &s || !is_float(s.value->type)) return {};
  const auto reads_own = [&](const Expr& load) { return load->name == inside.output; };
  const auto scan = scan_of(inside.value, reads_own);
  if (!scan || scan->combine != Reduce::kSum || !scan->earlier->guarded) return {};
  const Expr& first = scan->earlier->args.back();
  const Stage* state = first->op == Op::kLoad ? scheduled_.producer(first->name) : nullptr;
  if (!state || definition_.stage(state->name)) return {};
  std::string out = "blocks";
  const std::vector<CarriedRead> reads = carried_reads(inside);
  for (size_t v = 0; v < inside.vars.size(); ++v) {
    if (!is_same(reads[0].distance[v])) out += "(" + print(inside.vars[v].hi) + ")";
  }
  for (const Stage& made : scheduled_.stages) {
    const bool part = !definition_.stage(made.name) && made.name.starts_with(inside.name + ".");
    if (!part && &made != &inside) continue;
    const std::string order = rounds(made) ? of(made) : scanned(made);
    out += "[" + (order.empty() ? "seq" : order) + "]";
  }
  return out;
}

const Stage& Orders::computing(const Stage& s) const {
  const Stage* from = source(s);
  return from ? computing(*from) : s;
}

const Stage* Orders::partial(const Expr& load, std::string& origin) const {
  origin = load->name;
  const Stage* from = scheduled_.producer(load->name);
  if (!from || definition_.stage(from->name)) return nullptr;
  const Stage& made = computing(*from);
  const Expr& value = without_casts(made.value);
  if (made.reduce != Reduce::kNone || value->op != ir::Op::kLoad) return &made;
  return partial(value, origin);
}

bool Orders::is_rescaled(const Stage& s) const {
  if (s.reduce != Reduce::kSum || s.value->op != Op::kMul) return false;
  if (s.value->args[0]->op != Op::kLoad) return false;
  return any_node(s.value->args[1], [&](const Expr& e) {
    const Stage* from = e->op == Op::kLoad ? scheduled_.producer(e->name) : nullptr;
    return from && passes_maxima_on(*from);
  });
}

bool Orders::passes_maxima_on(const Stage& s) const {
  if (s.reduce == Reduce::kMax && !definition_.stage(s.name)) return true;
  const Stage* from = source(s);
  return from && passes_maxima_on(*from);
}

const Expr& Orders::passed_on(const Stage& s) const {
  return without_casts(is_rescaled(s) ? s.value->args[0] : s.value);
}

const Stage* Orders::source(const Stage& s) const {
  const Expr& load = passed_on(s);
  if (load->op != ir::Op::kLoad) return nullptr;
  const Stage* from = scheduled_.producer(load->name);
  return from && !definition_.stage(from->name) ? from : nullptr;
}

std::string Orders::meaning(const Stage& s, size_t position) const {
  const size_t plain = s.out_index.size();
  if (position >= plain) return path(s, s.factored[position - plain], false);
  const Expr& index = s.out_index[position];
  return index->op == ir::Op::kVar ? root(s, index->name) : print(index);
}

std::string Orders::root(const Stage& s, const std::string& var) const {
  const Stage* from = source(s);
  const Expr& load = passed_on(s);
  for (size_t i = 0; from && i < load->args.size(); ++i) {
    if (load->args[i]->op == ir::Op::kVar && load->args[i]->name == var) return meaning(*from, i);
  }
  return var;
}

std::string Orders::path(const Stage& s, const std::string& loop, bool tails) const {
  const Relation* r = made_by(s, loop);
  if (!r) return root(s, loop);
  if (r->kind == Relation::kFuse) {
    return "(" + path(s, r->parent, tails) + "*" + path(s, r->second, tails) + ")";
  }
  // Only a loop that is there can run its last block apart.
  const bool peels = r->tail != ir::Tail::kPeel || s.loop(r->outer);
  return path(s, r->parent, tails) + (r->outer == loop ? "/" : "%") + std::to_string(r->factor) +
         (tails ? std::string(name_of(peels ? r->tail : ir::Tail::kMask)) : "");
}

std::string Orders::around(const Stage& s, const std::string& last) const {
  std::string out;
  for (const Loop& l : s.loops) {
    const std::string text = path(s, l.name, true);
    const bool plain = l.mark != Mark::kUnroll && l.mark != Mark::kVector;
    out += (out.empty() ? "" : ",") + (plain ? text : marked(name_of(l.mark), text));
    // Where an iteration runs apart, a range that it decides has a length that is known.
    if (l.partition) out += "+partition";
    if (l.name == last) break;
  }
  const Stage* outer = s.at.root() ? nullptr : scheduled_.stage(s.at.stage);
  return "@" + (outer ? around(*outer, s.at.loop) : "") + "[" + out + "]";
}

std::string Orders::kept(const Stage& s) const {
  std::string out;
  visit(s.value, [&](const Expr& e) {
    const Stage* from = e->op == ir::Op::kLoad ? scheduled_.producer(e->name) : nullptr;
    if (!from) return;
    const Buffer& b = *scheduled_.buffer(e->name);
    out += "+" + std::string(name_of(b.space));
    for (const Axis& a : b.axes) {
      out += "[" + std::to_string(a.dim) + "/" + std::to_string(a.div) + "%" +
             std::to_string(a.mod) + "]";
    }
    out += around(*from, "");
  });
  return out;
}

int Orders::widest_element(const Stage& s) const {
  int widest = 0;
  const auto look = [&](const auto& self, const Expr& e) -> void {
    if (e->op != Op::kLoad) {
      for (const Expr& a : e->args) self(self, a);
      return;
    }
    const Buffer& b = *scheduled_.buffer(e->name);
    widest = std::max(widest, size_of(b.type));
    if (e->guarded) self(self, e->args.back());
    const Stage* from = scheduled_.producer(e->name);
    if (from && b.space == ir::Space::kRegisters) {
      widest = std::max(widest, widest_element(*from));
    }
  };
  look(look, s.value);
  return widest;
}

std::string Orders::own(const Stage& s, bool named) const {
  std::vector<std::string> reduced, natural, actual, vectors, apart;
  std::map<std::string, std::string> instructions;  ///< by loop
  const auto factored = [&](const std::string& name) {
    return std::find(s.factored.begin(), s.factored.end(), name) != s.factored.end();
  };
  for (const IndexVar& v : s.rvars) {
    std::vector<std::string> leaves;
    natural_leaves(s, v.name, leaves);
    reduced.insert(reduced.end(), leaves.begin(), leaves.end());
    if (std::none_of(leaves.begin(), leaves.end(), factored)) leaves = {v.name};
    for (const std::string& leaf : leaves) {
      if (std::find(natural.begin(), natural.end(), leaf) == natural.end()) natural.push_back(leaf);
    }
  }
  std::erase_if(natural, factored);
  for (const Loop& l : s.loops) {
    const bool mine = std::find(reduced.begin(), reduced.end(), l.name) != reduced.end();
    if (!mine || factored(l.name)) continue;
    actual.push_back(l.name);
    if (l.mark == Mark::kVector) vectors.push_back(l.name);
    // Threads combine what each has, in an order that is their axis's.
    if (is_thread(l.mark)) {
      vectors.push_back(l.name);
      instructions[l.name] = name_of(l.mark);
    }
    // Exact instructions have no order to tell.
    if (l.mark == Mark::kTensor && l.instruction->numerics != nullptr) {
      instructions[l.name] = l.instruction->numerics;
    }
    if (l.mark == Mark::kVector || l.mark == Mark::kTensor || is_thread(l.mark)) {
      apart.push_back(l.name);
    }
  }
  std::vector<std::string> whole = actual;
  merge(s, whole, vectors);
  merge(s, natural, vectors);
  merge(s, actual, apart);
  const bool plain = vectors.empty() && whole == natural;
  if (plain && instructions.empty() && !named) return "seq";
  std::string out;
  for (const std::string& loop : actual) {
    const bool lanes = std::find(vectors.begin(), vectors.end(), loop) != vectors.end();
    const std::string text = path(s, loop, !plain);
    const bool fewer = lanes && widest_element(s) > size_of(s.accumulate);
    const auto taken = instructions.find(loop);
    const bool tensor = taken != instructions.end();
    out += (out.empty() ? "" : ",") + (tensor  ? marked(taken->second, text)
                                       : lanes ? marked(fewer ? "lanes8" : "lanes", text)
                                               : text);
  }
  // Lanes of borders that run apart are added up apart.
  for (const std::string& loop : vectors) {
    if (s.loop(loop)->partition) out += "+" + path(s, loop, false);
  }
  return !vectors.empty() && uneven(s) ? out + around(s, "") + kept(s) : out;
}

void Orders::add(const Expr& e, ProductTree& out) const {
  if (e->op == ir::Op::kMul) {
    for (const char* part : {"(", "*"}) {
      out.text += part;
      out.shape += part;
      add(e->args[*part == '*' ? 1 : 0], out);
    }
    out.text += ")";
    out.shape += ")";
    return;
  }
  const Expr& load = without_casts(e);
  std::string tensor, text = print(e);
  if (load->op == ir::Op::kLoad) {
    const Stage* made = partial(load, tensor);
    if (!load->guarded) text = print(ir::make_load(tensor, load->type, load->args));
    if (made) {
      ProductTree inner;
      add(made->value, inner);
      tensor = "[" + of(*scheduled_.producer(load->name)) + "{" + inner.text + "}]";
    } else if (definition_.producer(tensor) && !scheduled_.producer(tensor)) {
      tensor.clear();  // the schedule computes it in place
    }
  }
  out.text += tensor.empty() ? text : tensor;
  out.factors.push_back({std::move(tensor), std::move(text)});
}

std::string Orders::products(const Stage& defined) const {
  if (!ir::reassociates(definition_, defined)) return {};
  const Stage& computed = computing(*scheduled_.stage(defined.name));
  const Expr& value = without_casts(computed.value);
  // What is no sum any more has a zero added.
  const bool ended = computed.reduce == Reduce::kNone && value->op == ir::Op::kAdd;
  ProductTree before, now;
  add(defined.value, before);
  add(ended ? value->args[0] : value, now);
  bool same = before.shape == now.shape && before.factors.size() == now.factors.size();
  for (size_t i = 0; same && i < now.factors.size(); ++i) {
    const auto& [tensor, text] = now.factors[i];
    // Two factors of one tensor are told apart by their indices.
    const auto alike = std::count_if(now.factors.begin(), now.factors.end(), [&](const auto& f) {
      return f.tensor == now.factors[i].tensor;
    });
    same = tensor == before.factors[i].tensor && (alike == 1 || text == before.factors[i].text);
  }
  return same ? "" : "{" + now.text + "}";
}

}  // namespace hone::schedules
