// SPDX-License-Identifier: Apache-2.0
#include "jit/native/code_store.h"

namespace hone::jit {

CodeStore::CodeStore() {
  store_.swap(spare());
  store_.clear();
}

CodeStore::~CodeStore() {
  // Fresh memory costs more than filling it: one thread's next function takes over what is not
  // out of proportion.
  // Chosen: code of a usual kernel (not measured).
  constexpr size_t kKept = 8192;
  if (store_.capacity() <= kKept) store_.swap(spare());
}

std::vector<Inst>& CodeStore::spare() {
  static thread_local std::vector<Inst> spare;
  return spare;
}

void CodeStore::append(CodeList& list, const Inst& inst) {
  const int32_t at = static_cast<int32_t>(store_.size());
  store_.push_back(inst);
  next_.push_back(-1);
  if (list.tail >= 0) {
    next_[list.tail] = at;
  } else {
    list.head = at;
  }
  list.tail = at;
}

void CodeStore::splice(CodeList& list, const CodeList& more) {
  if (more.head < 0) return;
  if (list.tail >= 0) {
    next_[list.tail] = more.head;
  } else {
    list.head = more.head;
  }
  list.tail = more.tail;
}

}  // namespace hone::jit
