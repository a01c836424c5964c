// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/store_lines.h"

#include "jit/passes/lower/accesses.h"
#include "jit/passes/lower/expressions.h"
#include "jit/passes/lower/loop_values.h"

namespace hone::jit {

using namespace ir;

std::optional<Poly> StoreLines::before_first(Instance& in, int node) {
  const Stage& s = in.stage();
  const Buffer& out = *program_.buffer(s.output);
  if (!out.stream || target_.is_cuda() || target_.vector_bytes() == 0) return std::nullopt;
  if (s.reduce != Reduce::kNone || s.where) return std::nullopt;
  const auto r = static_cast<size_t>(in.loops->nodes[static_cast<size_t>(node)].made_by);
  const Relation& rel = s.relations[r];
  const int row = in.loops->parent[r];
  const Loop* inside = s.loop(rel.inner);
  if (in.loops->nodes[static_cast<size_t>(row)].var < 0) return std::nullopt;
  if (!inside || inside->mark != Mark::kVector || inside->partition) return std::nullopt;
  // What is computed inside has room for whole blocks, and a launch has a range of its own.
  const Place here{s.name, rel.outer};
  for (size_t other = 0; other < program_.stages.size(); ++other) {
    const bool itself = program_.stages[other].name == s.name;
    if (!itself && context_.tree.is_inside(other, here)) return std::nullopt;
  }
  if (s.loops.front().name == rel.outer) return std::nullopt;
  const int64_t elements = target_.vector_bytes() / size_of(out.type);
  const auto extent = values_.extent_of(in, row).value();
  if (!extent || *extent < rel.factor + elements || rel.factor % elements != 0) {
    return std::nullopt;
  }
  const auto offset = offset_of(in, row, 0), next = offset_of(in, row, 1);
  if (!offset || !next || !(*next - *offset == Poly(1))) return std::nullopt;
  const Poly before = floor_mod(Poly() - *offset, elements, &facts_);
  if (before == Poly()) return std::nullopt;
  return before;
}

/// Where element `at` of the row lies, in elements from the start of the tensor.
std::optional<Poly> StoreLines::offset_of(Instance& in, int row, int64_t at) {
  const Stage& s = in.stage();
  const std::string& along =
      s.vars[static_cast<size_t>(in.loops->nodes[static_cast<size_t>(row)].var)].name;
  std::vector<Poly> indices;
  for (const Expr& index : s.out_index) {
    bool open = true;
    const Expr here = rewrite(index, [&](const Expr& e) {
      if (e->op != Op::kVar) return Expr();
      if (e->name == along) return make_int(at);
      open = open && values_.value_of(in, in.loops->find(e->name)).has_value();
      return Expr();
    });
    if (!open) return std::nullopt;
    indices.push_back(accesses_.index(in, here));
  }
  return Poly::of(accesses_.offset(storage_of(s.output), indices), &facts_);
}

std::vector<Piece> StoreLines::pieces(const Poly& whole, int64_t factor, const Poly& before) {
  const Poly one(1), blocks = floor_div(whole - before, factor, &facts_);
  const Poly lines = before + blocks * Poly(factor);
  return {{0, one, {}, Poly(), before},
          {one, one + blocks, {}, {}, Poly(factor), before - Poly(factor)},
          {one + blocks, one + one + blocks, {}, lines, whole - lines}};
}

}  // namespace hone::jit
