// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/unread.h"

#include <algorithm>
#include <vector>

#include "jit/ir/build.h"
#include "jit/ir/visit.h"

namespace hone::jit {

using namespace ir;

namespace {

/// What statements do with each buffer.
struct Use {
  bool read = false, written = false;
};

/// True of memory that nobody but the call sees.
bool is_own(const NestBuffer& b) {
  return b.home == Home::kRegisters || b.home == Home::kWorker || b.home == Home::kWorkspace;
}

std::vector<Use> uses_of(const Nest& nest) {
  std::vector<Use> uses(nest.buffers.size());
  for (const Launch& launch : nest.launches) {
    for_each(*launch.body, [&](const Stmt& s) {
      for_each_load(s, [&](const Expr& load) { uses[static_cast<size_t>(load->id)].read = true; });
      if (const auto* store = as<StoreStmt>(s)) {
        uses[static_cast<size_t>(store->buffer)].written = true;
      }
    });
  }
  return uses;
}

/// Buffers that are written in vain.
class Unread {
 public:
  explicit Unread(const Nest& nest) {
    const std::vector<Use> uses = uses_of(nest);
    for (size_t b = 0; b < uses.size(); ++b) {
      unread_.push_back(uses[b].written && !uses[b].read && is_own(nest.buffers[b]));
    }
  }

  bool any() const { return std::find(unread_.begin(), unread_.end(), true) != unread_.end(); }

  /// `s` without stores to them, null where nothing is left.
  StmtRef left_of(const StmtRef& s) const {
    if (const auto* store = as<StoreStmt>(*s)) {
      return unread_[static_cast<size_t>(store->buffer)] ? StmtRef() : s;
    }
    if (s->body.empty()) return s;
    const auto* choice = as<IfStmt>(*s);
    std::vector<StmtRef> body;
    for (const StmtRef& b : s->body) {
      StmtRef left = left_of(b);
      // The parts of a choice are told by their places.
      if (!left && choice) left = make_body({});
      if (left) body.push_back(std::move(left));
    }
    const bool empty = std::all_of(body.begin(), body.end(), is_empty);
    return empty ? StmtRef() : body == s->body ? s : with_body(*s, std::move(body));
  }

 private:
  static bool is_empty(const StmtRef& s) { return is<SequenceStmt>(*s) && s->body.empty(); }

  std::vector<bool> unread_;
};

}  // namespace

Nest without_unread(Nest nest) {
  // What only a part left out has read is unread then.
  for (Unread unread(nest); unread.any(); unread = Unread(nest)) {
    for (Launch& launch : nest.launches) {
      StmtRef left = unread.left_of(launch.body);
      launch.body = left ? std::move(left) : make_body({});
    }
  }
  return nest;
}

}  // namespace hone::jit
