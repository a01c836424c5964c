// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/chosen_updates.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "jit/ir/build.h"
#include "jit/ir/program.h"
#include "jit/ir/visit.h"

namespace hone::jit {

using namespace ir;

namespace {

class Chooser {
 public:
  explicit Chooser(const Nest& nest) : nest_(nest) {}

  StmtRef walk(const StmtRef& s) {
    const int outer = vector_;
    if (const auto* l = as<ForStmt>(*s); l && l->mark == Mark::kVector) vector_ = l->loop;
    StmtRef out = s;
    const auto* choice = as<IfStmt>(*s);
    const std::vector<StmtRef> updates = choice ? chosen_updates(*choice) : std::vector<StmtRef>();
    if (!updates.empty()) {
      out = make_body(updates);
      changed = true;
    } else {
      out = rewrite_children(s, [&](const StmtRef& b) { return walk(b); });
    }
    vector_ = outer;
    return out;
  }

  bool changed = false;

 private:
  /// What a branch between lanes does, as updates of all of them; none where it does more.
  std::vector<StmtRef> chosen_updates(const IfStmt& choice) const {
    const Expr& when = choice.condition;
    if (vector_ < 0 || choice.otherwise() || !mentions_loop(when, vector_)) return {};
    if (mentions_load(when)) return {};
    std::vector<StmtRef> out;
    const auto add = [&](const Stmt& s) {
      const auto* update = as<StoreStmt>(s);
      if (!update || !updates_register(*update)) return false;
      const NestBuffer& to = nest_.buffers[static_cast<size_t>(update->buffer)];
      const Expr before = make_nest_load(to, update->buffer, update->offset);
      const Expr after = combination(update->reduce, before, update->value);
      out.push_back(make_store(update->buffer, update->offset, make_select(when, after, before)));
      return true;
    };
    const auto* several = as<SequenceStmt>(choice.then());
    if (!several) return add(choice.then()) ? out : std::vector<StmtRef>();
    const bool all = std::all_of(several->body.begin(), several->body.end(),
                                 [&](const StmtRef& s) { return add(*s); });
    return all ? out : std::vector<StmtRef>();
  }

  /// True where a store combines each lane with a register's.
  bool updates_register(const StoreStmt& s) const {
    const NestBuffer& to = nest_.buffers[static_cast<size_t>(s.buffer)];
    const bool combines = s.reduce == Reduce::kSum || s.reduce == Reduce::kProd ||
                          s.reduce == Reduce::kMax || s.reduce == Reduce::kMin;
    return combines && to.home == Home::kRegisters && to.type == s.value->type &&
           mentions_loop(s.offset, vector_);
  }

  const Nest& nest_;
  int vector_ = -1;  ///< number of the vector loop around; -1: none
};

}  // namespace

std::optional<Nest> with_chosen_updates(const Nest& nest) {
  Nest out = nest;
  Chooser chooser(nest);
  for (Launch& l : out.launches) l.body = chooser.walk(l.body);
  if (!chooser.changed) return std::nullopt;
  return out;
}

}  // namespace hone::jit
