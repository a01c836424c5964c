// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/part.h"

#include "jit/passes/reject.h"

namespace hone::jit {

using namespace ir;

int LoweringPart::new_loop(const std::string& name, Poly begin, Poly end) {
  const int id = static_cast<int>(nest_.loops.size());
  nest_.loops.push_back(name);
  facts_.define_loop(id, std::move(begin), std::move(end));
  return id;
}

const Storage& LoweringPart::storage_of(const std::string& buffer) const {
  for (size_t i = context_.storage.size(); i-- > 0;) {
    if (context_.storage[i].first == buffer) return context_.storage[i].second;
  }
  reject(buffer + " is read before it is computed");
}

}  // namespace hone::jit
