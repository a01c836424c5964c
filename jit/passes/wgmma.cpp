// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/wgmma.h"

#include <algorithm>
#include <set>

#include "jit/ir/build.h"
#include "jit/ir/instructions.h"
#include "jit/ir/visit.h"
#include "jit/passes/statements.h"

namespace hone::jit {

using namespace ir;

namespace {

using Body = std::vector<StmtRef>;

bool is_wgmma(const Stmt& s) {
  const auto* loop = as<ForStmt>(s);
  if (!loop || loop->mark != Mark::kTensor || loop->instruction->most_columns == 0) return false;
  const Stmt* at = &s;
  while (is<ForStmt>(*at)) at = at->body[0].get();
  return to<StoreStmt>(*at).reduce != Reduce::kNone;
}

/// Loops around wgmma instructions and nothing else.
bool only_wgmma(const Stmt& s) {
  if (is_wgmma(s)) return true;
  const auto* loop = as<ForStmt>(s);
  const bool serial = loop && !is_block(loop->mark) && !is_thread(loop->mark);
  if ((!serial && !is<SequenceStmt>(s)) || s.body.empty()) return false;
  return std::all_of(s.body.begin(), s.body.end(), [](const StmtRef& b) { return only_wgmma(*b); });
}

/// Whether all wgmma instructions inside `s` are long enough to gain by running on. With short ones
/// the compiler (ptxas of CUDA 13.0) reads results before it has waited. It notices that it must
/// not, and makes every product wait for the one before.
bool long_enough(const Stmt& s) {
  // Tuned on: no GPU; seen in what ptxas of CUDA 13.0 makes.
  constexpr int64_t kShort = 16;  // columns
  if (!is_wgmma(s)) {
    return std::all_of(s.body.begin(), s.body.end(),
                       [](const StmtRef& b) { return long_enough(*b); });
  }
  int64_t columns = 0;
  return is_const(to<ForStmt>(*s.body[0]).end, &columns) && columns > kShort;
}

/// The first statement of `body` from `at` on that is no wgmma, or its size.
size_t end_of_run(const Body& body, size_t at) {
  while (at < body.size() && only_wgmma(*body[at])) ++at;
  return at;
}

/// The registers that products change, and those of factors, which stay theirs as long.
std::set<int> registers_of(const Nest& nest, const Stmt& s) {
  Uses all;
  all.add(s);
  std::set<int> out = all.written;
  for (int id : all.read) {
    if (nest.buffers[static_cast<size_t>(id)].home == Home::kWarp) out.insert(id);
  }
  return out;
}

StmtRef walk(const Nest& nest, const StmtRef& s);

/// `body` with every run of products marked; those of a loop with a `lag` go on so long.
Body marked(const Nest& nest, const Body& body, int lag) {
  Body out;
  for (size_t i = 0; i < body.size();) {
    const size_t end = end_of_run(body, i);
    if (end == i) {
      out.push_back(walk(nest, body[i++]));
      continue;
    }
    const Body run(body.begin() + static_cast<std::ptrdiff_t>(i),
                   body.begin() + static_cast<std::ptrdiff_t>(end));
    const std::set<int> held = registers_of(nest, *make_sequence(run));
    if (lag > 0) {
      out.push_back(make_wgmma_fence());
    } else {
      for (int id : held) out.push_back(make_wgmma_fence(id));
    }
    out.insert(out.end(), run.begin(), run.end());
    out.push_back(make_wgmma_commit());
    if (lag > 0) {
      out.push_back(make_wgmma_wait(-1, lag));
    } else {
      for (int id : held) out.push_back(make_wgmma_wait(id));
    }
    i = end;
  }
  return out;
}

StmtRef walk(const Nest& nest, const StmtRef& s) {
  if (s->body.empty()) return s;
  if (is<IfStmt>(*s)) {  // each side is one statement
    return rewrite_children(
        s, [&](const StmtRef& side) { return make_sequence(marked(nest, {side}, 0)); });
  }
  const auto* loop = as<ForStmt>(*s);
  const int lag = loop ? loop->gpu.lag : 0;
  StmtRef out = with_body(*s, marked(nest, s->body, lag));
  if (lag == 0) return out;
  std::set<int> held;
  for (const StmtRef& b : s->body) {
    if (only_wgmma(*b)) held.merge(registers_of(nest, *b));
  }
  Body all;
  for (int id : held) all.push_back(make_wgmma_fence(id));
  all.push_back(std::move(out));
  for (int id : held) all.push_back(make_wgmma_wait(id));
  return make_sequence(std::move(all));
}

}  // namespace

bool wgmma_may_go_on(const std::vector<StmtRef>& body) {
  Uses products, others;
  int runs = 0;
  for (size_t i = 0; i < body.size();) {
    const size_t end = end_of_run(body, i);
    if (end == i) {
      others.add(*body[i++]);
      continue;
    }
    for (; i < end; ++i) {
      if (!long_enough(*body[i])) return false;
      products.add(*body[i]);
    }
    ++runs;
  }
  return runs == 1 && !meet(products.written, others.read) &&
         !meet(products.written, others.written) && !meet(products.read, others.written);
}

Nest with_wgmma_groups(Nest nest) {
  for (Launch& l : nest.launches) l.body = make_sequence(marked(nest, {l.body}, 0));
  return nest;
}

}  // namespace hone::jit
