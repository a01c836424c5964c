// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/kernel_part.h"

namespace hone::jit {

using namespace ir;

namespace {

constexpr const char* kAnyThread[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};

}  // namespace

const char* combiner(Reduce r) {
  constexpr const char* kNames[] = {"", "Sum", "Prod", "Max", "Min", "Any", "All"};
  return kNames[static_cast<int>(r)];
}

void KernelPart::line(const std::string& text) {
  context_.body += std::string(2 * static_cast<size_t>(context_.depth), ' ') + text + "\n";
}

void KernelPart::open(const std::string& text) {
  line(text);
  ++context_.depth;
}

void KernelPart::close() {
  --context_.depth;
  line("}");
}

void KernelPart::note(const Expr& e) {
  visit(e, [&](const Expr& x) {
    if (x->op == Op::kLoad) {
      used_.insert(x->id);
      const Home home = nest_.buffers[static_cast<size_t>(x->id)].home;
      const bool memory =
          home == Home::kArgument || home == Home::kBound || home == Home::kWorkspace;
      if (role_ == ThreadRole::kProducer && !memory) {
        throw ir::Reject{"how often threads of their own copy depends on " +
                         nest_.buffers[static_cast<size_t>(x->id)].name +
                         ", which the others compute; leave out specialize"};
      }
    }
    if (x->op != Op::kVar || !context_.unbound.contains(x->id)) return;
    throw ir::Reject{"what threads of their own copy depends on " + loop(x->id) +
                     ", which is bound to the others; stage it at a loop around that, or leave out "
                     "specialize"};
  });
}

/// All threads of a block must come by: it has a barrier inside, or combines threads.
bool collective(const Stmt& s) {
  bool found = false;
  each_stmt(s, [&](const Stmt& x) {
    const auto* loop = as<ForStmt>(x);
    found |= is<TeamStmt, BarrierStmt, FillStmt, ReadyStmt, ReleaseStmt>(x) ||
             (loop && loop->gpu.into >= 0);
  });
  return found;
}

bool depends(const Expr& e, const ThreadScope& scope) {
  bool found = false;
  visit(e, [&](const Expr& x) { found |= x->op == Op::kVar && scope.loops.contains(x->id); });
  return found;
}

bool KernelPart::own(int buffer) const {
  const Home home = nest_.buffers[static_cast<size_t>(buffer)].home;
  return home == Home::kRegisters || home == Home::kWorker || home == Home::kWarp;
}

ThreadScope without_conditions(ThreadScope scope) {
  scope.only.clear();
  return scope;
}

/// Runs `f` inside an `if` of the scope's conditions.
void KernelPart::conditional(const ThreadScope& scope, const Print& f) {
  std::string all;
  for (const std::string& c : scope.only) all += (all.empty() ? "" : " && ") + c;
  if (all.empty()) return f();
  open("if (" + all + ") {");
  f();
  close();
}

/// A leaf under the scope's conditions; what goes to memory, by one thread of those along axes that
/// it does not loop over.
void KernelPart::guarded(const ThreadScope& scope, const Stmt& s, const Print& f) {
  ThreadScope all = scope;
  const auto* store = as<StoreStmt>(s);
  const bool to_memory = is<CheckStmt>(s) || (store && !own(store->buffer));
  for (int a = 0; a < 3 && to_memory; ++a) {
    if (out_.block[static_cast<size_t>(a)] > 1 && !scope.axes.contains(a)) {
      all.only.push_back(std::string(kAnyThread[a]) + " == 0");
    }
  }
  conditional(all, f);
}

/// The kernel counts on the alignment of what the call passes.
void KernelPart::rely_on(int buffer, int64_t bytes) {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
  if (b.home == Home::kSharedMemory) return;
  const int slot = b.home == Home::kWorkspace ? +ArgsLayout::kWorkspace : b.slot;
  int64_t& align = context_.slot_align[static_cast<size_t>(slot)];
  align = std::max(align, bytes);
}

}  // namespace hone::jit
