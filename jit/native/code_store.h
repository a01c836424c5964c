// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/native/lir.h"

namespace hone::jit {

/// Instructions in order, as links into a store, so that lists splice in O(1).
struct CodeList {
  int32_t head = -1;
  int32_t tail = -1;
};

/// Where the instructions of lists are.
class CodeStore {
 public:
  CodeStore();
  CodeStore(const CodeStore&) = delete;
  CodeStore& operator=(const CodeStore&) = delete;
  ~CodeStore();

  size_t size() const { return store_.size(); }
  Inst& operator[](int32_t at) { return store_[at]; }
  const Inst& operator[](int32_t at) const { return store_[at]; }
  /// The instruction after `at` in its list, or -1.
  int32_t next(int32_t at) const { return next_[at]; }

  void append(CodeList& list, const Inst& inst);
  /// Moves all of `more` to the end of `list`.
  void splice(CodeList& list, const CodeList& more);

 private:
  static std::vector<Inst>& spare();

  std::vector<Inst> store_;
  std::vector<int32_t> next_;
};

}  // namespace hone::jit
