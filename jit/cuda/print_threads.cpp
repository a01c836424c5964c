// SPDX-License-Identifier: Apache-2.0
// Loops over blocks and threads: who runs what, and what they reduce together.
#include "jit/cuda/print_threads.h"

#include <fmt/format.h>

namespace hone::jit {

using namespace ir;

namespace {

constexpr const char* kThreadsThread[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};

/// How the threads of a loop reduce.
Reduce reduction_of(const ForStmt& s) {
  Reduce found = Reduce::kNone;
  each_stmt(s, [&](const Stmt& x) {
    const auto* store = as<StoreStmt>(x);
    if (store && store->buffer == s.gpu.into) found = store->reduce;
  });
  return found;
}

}  // namespace

void ThreadPrinter::emit_threads(const ForStmt& s, ThreadScope& scope) {
  note(s.begin);
  note(s.end);
  const int axis = axis_of(s.mark);
  ThreadScope inside = scope;
  inside.loops.insert(s.loop);
  inside.axes.insert(axis);
  const int around = n_.lane;
  if (s.mark == Mark::kThreadX) n_.lane = s.loop;
  open("{");
  const Reduce reduce = s.gpu.into >= 0 ? reduction_of(s) : Reduce::kNone;
  if (s.gpu.into >= 0 && reduce == Reduce::kNone) {
    throw ir::Reject{"the threads of " + loop(s.loop) + " reduce nothing; bind a loop inside it"};
  }
  if (s.gpu.into >= 0) set_aside(s.gpu.into, reduce);
  const std::string begin = print_index(s.begin, n_);
  line(fmt::format("const {0} {1} = {2}({0}){3};", n_.index_type(), loop(s.loop),
                   begin == "0" ? "" : begin + " + ", kThreadsThread[axis]));
  int64_t b = 0, e = 0;
  const bool all = is_const(s.begin, &b) && is_const(s.end, &e) &&
                   e - b == out_.block[static_cast<size_t>(axis)];
  bool waits = false;
  for (const StmtRef& x : s.body) waits |= collective(*x);
  if (!all) inside.only.push_back(loop(s.loop) + " < " + print_index(s.end, n_));
  if (waits) {
    emit_all(s, inside);
  } else {
    conditional(inside, [&] {
      ThreadScope free = without_conditions(inside);
      const bool apart =
          all && axis == 0 &&
          (tiles_.emit_matrices(s) || vector_printer_.emit_coalesced_stores(s, free));
      if (!apart) emit_all(s, free);
    });
  }
  if (s.gpu.into >= 0) put_together(s.gpu.into, reduce, axis);
  close();
  n_.lane = around;
}

/// Threads reduce from the identity; what was there before is added once, at the end.
void ThreadPrinter::set_aside(int buffer, Reduce reduce) {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
  const std::string& name = n_.buffers[static_cast<size_t>(buffer)];
  const std::string type = stored_type(b.type);
  used_.insert(buffer);
  line(fmt::format("{} {}before[{}];", type, name, print_index(b.elements, n_)));
  each_element(b, [&](const std::string& i) {
    line(fmt::format("{0}before[{1}] = {0}[{1}];", name, i));
    line(fmt::format("{}[{}] = {};", name, i,
                     to_stored(b.type, print_value(identity(reduce, b.type), n_))));
  });
}

/// Counts the shared memory of combine_threads: none within a warp, else a word for each warp of
/// the axis, or for each thread.
void ThreadPrinter::share_parts(Reduce reduce, int axis, DType type) {
  const int x = out_.block[0];
  const bool along = axis == 0;
  if (along && x <= 32 && (x & (x - 1)) == 0) return;
  if (role_ != ThreadRole::kAll) {
    throw ir::Reject{"launch " + launch_.name +
                     " combines threads of several warps, which waits for all threads of a block, "
                     "and some only fill its pipeline; leave out specialize, or reduce in a warp"};
  }
  const int64_t words = along && x % 32 == 0 ? threads() / 32 : threads();
  context_.parts[fmt::format("{} {} {}", combiner(reduce), axis, computed_type(type))] =
      words * size_of(is_narrow_float(type) ? DType::kF32 : type);
}

void ThreadPrinter::put_together(int buffer, Reduce reduce, int axis) {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
  const std::string& name = n_.buffers[static_cast<size_t>(buffer)];
  share_parts(reduce, axis, b.type);
  each_element(b, [&](const std::string& i) {
    const std::string element = name + "[" + i + "]";
    const std::string combined =
        fmt::format("combine_threads<{}, {}, {}, {}, {}>({})", combiner(reduce), axis,
                    out_.block[0], out_.block[1], out_.block[2],
                    from_stored(b.type, "(" + std::string(stored_type(b.type)) + ")" + element));
    line(element + " = " +
         to_stored(b.type, fmt::format("{}::of({}, {})", combiner(reduce),
                                       from_stored(b.type, name + "before[" + i + "]"), combined)) +
         ";");
  });
}

/// Calls `f` with the number of each element of `b`.
void ThreadPrinter::each_element(const NestBuffer& b,
                                 const std::function<void(const std::string&)>& f) {
  int64_t n = 0;
  if (is_const(b.elements, &n) && n == 1) return f("0");
  line("#pragma unroll");
  open(fmt::format("for (i32 i = 0; i < {}; ++i) {{", print_index(b.elements, n_)));
  f("i");
  close();
}

}  // namespace hone::jit
