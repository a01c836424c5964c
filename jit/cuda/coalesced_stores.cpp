// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/coalesced_stores.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Fixed by: mma.
constexpr int64_t kWord = 4;  // bytes that a lane has of a row

/// A loop from 0 to a constant; 0: another.
int64_t iterations(const ForStmt& s) {
  int64_t begin = 0, end = 0;
  return is_const(s.begin, &begin) && begin == 0 && is_const(s.end, &end) ? end : 0;
}

/// Loops with one store inside and nothing else.
std::optional<CoalescedStores> only_store(const ForStmt& lanes) {
  CoalescedStores out;
  const Stmt* at = &lanes;
  while (!is<StoreStmt>(*at)) {
    if (at->body.size() != 1 || !is<ForStmt, SequenceStmt>(*at)) return {};
    at = at->body[0].get();
    const auto* loop = as<ForStmt>(*at);
    if (!loop) continue;
    if (is_thread(loop->mark) || is_block(loop->mark) || loop->mark == Mark::kTensor) return {};
    if (iterations(*loop) == 0 || out.words.loop >= 0) return {};
    if (loop->mark == Mark::kVector) {
      out.words = {loop->loop, loop->begin, iterations(*loop)};
    } else {
      out.around.push_back(loop);
    }
  }
  out.store = &to<StoreStmt>(*at);
  if (out.words.loop < 0 || out.around.empty()) return {};
  out.rounds = out.around.back();
  out.around.pop_back();
  return out;
}

/// Whether rounds go on where a quad's words end, at multiples of what they come to.
bool neighbours(const Nest& nest, const CoalescedStores& s, int lane, Facts facts) {
  const auto quad = static_cast<int>(nest.loops.size()), place = quad + 1, element = quad + 2;
  facts.define_loop(quad, Poly(), Poly(1024 / kQuadLanes));
  facts.define_loop(place, Poly(), Poly(kQuadLanes));
  const Expr apart = rewrite(in_first_lane(s.store->offset, s.words), [&](const Expr& e) {
    if (e->op != Op::kVar || e->id != lane) return Expr();
    return make_int(kQuadLanes) * make_var("quad", quad) + make_var("place", place);
  });
  const int64_t row = kQuadLanes * s.words.count;
  const Poly at = Poly::of(apart, &facts);
  const Poly begin = at - Poly(s.words.count) * Poly::atom(make_var("place", place));
  const Poly first = begin - Poly(row) * Poly::atom(make_var("", s.rounds->loop));
  if (begin.mentions_loop(place) || first.mentions_loop(s.rounds->loop)) return false;
  const VectorLanes whole{element, make_int(0), row};
  const Expr all = begin.expr() + make_var("element", element);
  return access_width(nest.buffers[static_cast<size_t>(s.store->buffer)], all, whole, facts) == row;
}

}  // namespace

std::optional<CoalescedStores> coalesced_stores(const Nest& nest, const ForStmt& lanes,
                                                const Facts& facts) {
  const int64_t threads = iterations(lanes);
  if (lanes.mark != Mark::kThreadX || threads == 0 || threads % 32 != 0) return {};
  auto found = only_store(lanes);
  if (!found || found->store->reduce != Reduce::kNone) return {};
  bool again = false;  // lanes would write what others have yet to read
  visit(found->store->value,
        [&](const Expr& e) { again |= e->op == Op::kLoad && e->id == found->store->buffer; });
  if (again) return {};
  const NestBuffer& to = nest.buffers[static_cast<size_t>(found->store->buffer)];
  const bool memory =
      to.home == Home::kArgument || to.home == Home::kBound || to.home == Home::kWorkspace;
  if (!memory || size_of(to.type) != 2 || found->words.count * size_of(to.type) != kWord ||
      iterations(*found->rounds) % kQuadLanes != 0) {
    return {};
  }
  return neighbours(nest, *found, lanes.loop, facts) ? found : std::nullopt;
}

}  // namespace hone::jit
