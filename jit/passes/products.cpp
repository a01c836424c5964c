// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/products.h"

#include <set>

#include "jit/ir/instructions.h"

namespace hone::jit {

using namespace ir;

namespace {

StmtRef made(Stmt s) { return std::make_shared<const Stmt>(std::move(s)); }

bool is_product(const Stmt& s) {
  if (s.kind != Stmt::kFor || s.mark != Mark::kTensor || s.instruction->most_columns == 0) {
    return false;
  }
  const Stmt* at = &s;
  while (at->kind == Stmt::kFor) at = at->body[0].get();
  return at->reduce != Reduce::kNone;
}

/// Loops around products and nothing else; `results` become the buffers that they change.
bool only_products(const Stmt& s, std::set<int>& results) {
  if (is_product(s)) {
    const Stmt* at = &s;
    while (at->kind == Stmt::kFor) at = at->body[0].get();
    results.insert(at->id);
    return true;
  }
  const bool serial = s.kind == Stmt::kFor && !is_block(s.mark) && !is_thread(s.mark);
  if ((!serial && s.kind != Stmt::kBlock) || s.body.empty()) return false;
  for (const StmtRef& b : s.body) {
    if (!only_products(*b, results)) return false;
  }
  return true;
}

StmtRef marker(Stmt::Kind kind, int id = -1) {
  Stmt s;
  s.kind = kind;
  s.id = id;
  return made(std::move(s));
}

/// `s` with every run of products marked.
StmtRef walk(const StmtRef& s) {
  if (s->body.empty()) return s;
  Stmt out = *s;
  out.body.clear();
  for (size_t i = 0; i < s->body.size();) {
    std::set<int> results;
    size_t end = i;
    while (end < s->body.size() && only_products(*s->body[end], results)) ++end;
    if (end == i) {
      out.body.push_back(walk(s->body[i++]));
      continue;
    }
    // A side of an `if` is one statement.
    std::vector<StmtRef> run;
    for (int id : results) run.push_back(marker(Stmt::kOpen, id));
    run.insert(run.end(), s->body.begin() + static_cast<std::ptrdiff_t>(i),
               s->body.begin() + static_cast<std::ptrdiff_t>(end));
    run.push_back(marker(Stmt::kClose));
    for (int id : results) run.push_back(marker(Stmt::kJoin, id));
    Stmt block;
    block.body = std::move(run);
    out.body.push_back(made(std::move(block)));
    i = end;
  }
  return made(std::move(out));
}

}  // namespace

Nest with_products(Nest nest) {
  for (Launch& l : nest.launches) {
    Stmt whole;
    whole.body = {l.body};
    l.body = walk(made(std::move(whole)))->body[0];
  }
  return nest;
}

}  // namespace hone::jit
