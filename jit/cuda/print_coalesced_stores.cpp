// SPDX-License-Identifier: Apache-2.0
// Stores of neighbouring lanes whose words lie side by side. Of four rounds each lane stores one
// whole, so that accesses have 16 bytes and sectors are written at once.
//   lane l: for c in 0..32: Y[8*c + 2*(l%4) + v] = f(c, l, v)
//     =>  for c in 0..32 by 4: words[i] = f(c + i, l, ..); Y[8*(c + l%4) ..] = transposed(words)
#include <fmt/format.h>

#include "jit/cuda/coalesced_stores.h"
#include "jit/cuda/print_vector.h"

namespace hone::jit {

using namespace ir;

/// The body of a loop over all threads along x as such stores; false: it is something else.
bool VectorPrinter::emit_coalesced_stores(const ForStmt& s, const ThreadScope& scope) {
  for (int a = 0; a < 3; ++a) {
    if (out_.block[static_cast<size_t>(a)] > 1 && !scope.axes.contains(a)) return false;
  }
  const auto found = coalesced_stores(nest_, s, n_.facts);
  if (!found) return false;
  const StoreStmt& store = *found->store;
  const NestBuffer& to = nest_.buffers[static_cast<size_t>(store.buffer)];
  const std::string number = std::to_string(++vectors_);
  const std::string words = "words_" + number, quad = "quad_" + number;
  const std::string &round = loop(found->rounds->loop), &lane = loop(s.loop);
  const char* const type = n_.index_type();
  const auto count = [&](const std::string& name, const std::string& end) {
    line("#pragma unroll");
    open(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1}) {{", type, name, end));
  };
  int levels = 0;
  for (const ForStmt* around : found->around) levels += open_loop(*around);
  count(quad, print_index(make_binary(Op::kDiv, found->rounds->end, make_int(kQuadLanes)), n_));
  line(fmt::format("Vector<{}, {}> {}[{}];", stored_type(to.type), found->words.count, words,
                   kQuadLanes));
  count("i", std::to_string(kQuadLanes));
  line(fmt::format("const {} {} = {} * {} + i;", type, round, kQuadLanes, quad));
  lane_access_.hold_loads(store.value, found->words);
  lane_access_.emit_lane_values(store, found->words, words + "[i]");
  n_.held.clear();
  close();
  line(fmt::format("const {} {} = {} * {} + {} % {};", type, round, kQuadLanes, quad, lane,
                   kQuadLanes));
  const Expr begin = rewrite(store.offset, [&](const Expr& e) {
    if (e->op != Op::kVar || e->id != s.loop) return Expr();
    return make_int(kQuadLanes) * make_binary(Op::kDiv, e, make_int(kQuadLanes));
  });
  rely_on(store.buffer, kLongestAccess);
  line(fmt::format("{}({}, turned_in_quads({}));",
                   lane_access_.store_of(store, kQuadLanes * found->words.count),
                   lane_access_.print_address(store.buffer, begin, found->words), words));
  close();
  for (int i = 0; i < levels; ++i) close();
  return true;
}

}  // namespace hone::jit
