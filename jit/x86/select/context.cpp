// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/context.h"

#include <utility>

#include "jit/x86/encode/machine.h"

namespace hone::jit {

namespace {

/// True when the places of two buffers in scratch or workspace overlap.
bool share_memory(const ir::NestBuffer& a, const ir::NestBuffer& b) {
  if (a.home != b.home) return false;
  if (a.home != ir::Home::kWorker && a.home != ir::Home::kWorkspace) return false;
  return a.offset < b.offset + b.max_bytes && b.offset < a.offset + a.max_bytes;
}

std::vector<uint64_t> buffers_sharing(const ir::Nest& nest) {
  std::vector<uint64_t> bits(nest.buffers.size());
  for (size_t a = 0; a < bits.size(); ++a) {
    for (size_t b = 0; b < bits.size(); ++b) {
      const bool same = a == b || share_memory(nest.buffers[a], nest.buffers[b]);
      if (same) bits[a] |= CodeWriter::buffer_bit(static_cast<int>(b));
    }
  }
  return bits;
}

}  // namespace

Context::Context(const ir::Nest& n, const ir::Launch& l, const ir::Target& t)
    : nest(n),
      launch(l),
      target(t),
      layout(ir::args_layout(n)),
      code(registers_of(t)),
      bindings(n.loops.size()) {
  code.sharing = buffers_sharing(n);
}

void Context::open(Scope::Kind kind, uint64_t written, bool certain) {
  code.open(kind, written, certain);
  for (ScopeListener* listener : listeners) listener->opened(kind, written);
}

Scope Context::close() {
  const int depth = code.depth();
  Scope done = code.close();
  for (ScopeListener* listener : listeners) listener->closed(depth, done.written);
  return done;
}

}  // namespace hone::jit
