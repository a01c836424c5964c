// SPDX-License-Identifier: Apache-2.0
// Loops over blocks and threads: who runs what, and what they reduce together.
#include <fmt/format.h>

#include "jit/cuda/print_launch.h"

namespace hone::jit {

using namespace ir;

namespace {

constexpr const char* kThreadsThread[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};
constexpr const char* kThreadsBlock[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};

/// How the threads of a loop reduce.
Reduce reduction_of(const Stmt& s) {
  Reduce found = Reduce::kNone;
  each_stmt(s, [&](const Stmt& x) {
    if (x.kind == Stmt::kStore && x.id == s.into) found = x.reduce;
  });
  return found;
}

}  // namespace

const char* combiner(Reduce r) {
  constexpr const char* kNames[] = {"", "Sum", "Prod", "Max", "Min", "Any", "All"};
  return kNames[static_cast<int>(r)];
}

/// All threads of a block must come by: it has a barrier inside, or combines threads.
bool LaunchPrinter::collective(const Stmt& s) const {
  bool found = false;
  each_stmt(s, [&](const Stmt& x) {
    found |= x.kind == Stmt::kTeam || x.kind == Stmt::kBarrier || x.kind == Stmt::kFill ||
             x.kind == Stmt::kReady || x.kind == Stmt::kRelease ||
             (x.kind == Stmt::kFor && x.into >= 0);
  });
  return found;
}

bool LaunchPrinter::depends(const Expr& e, const Scope& scope) const {
  bool found = false;
  visit(e, [&](const Expr& x) { found |= x->op == Op::kVar && scope.loops.contains(x->id); });
  return found;
}

bool LaunchPrinter::own(int buffer) const {
  const Home home = nest_.buffers[static_cast<size_t>(buffer)].home;
  return home == Home::kRegisters || home == Home::kWorker || home == Home::kWarp;
}

void LaunchPrinter::emit_block(const Stmt& s, Scope& scope) {
  note(s.begin);
  note(s.end);
  block_extent(s.mark, s.end);
  line(fmt::format("const {0} {1} = ({0}){2};", n_.index_type(), loop(s.id),
                   kThreadsBlock[axis_of(s.mark)]));
  std::string runs = loop(s.id) + " < " + print_index(s.end, n_);
  int64_t begin = 0;
  if (!is_const(s.begin, &begin) || begin != 0) {
    runs = print_index(s.begin, n_) + " <= " + loop(s.id) + " && " + runs;
  }
  open("if (" + runs + ") {");  // the same for all threads of a block
  emit_all(s, scope);
  close();
}

void LaunchPrinter::emit_threads(const Stmt& s, Scope& scope) {
  note(s.begin);
  note(s.end);
  const int axis = axis_of(s.mark);
  Scope inside = scope;
  inside.loops.insert(s.id);
  inside.axes.insert(axis);
  const int around = n_.lane;
  if (s.mark == Mark::kThreadX) n_.lane = s.id;
  open("{");
  const Reduce reduce = s.into >= 0 ? reduction_of(s) : Reduce::kNone;
  if (s.into >= 0 && reduce == Reduce::kNone) {
    throw Unprintable{"the threads of " + loop(s.id) + " reduce nothing; bind a loop inside it"};
  }
  if (s.into >= 0) set_aside(s.into, reduce);
  const std::string begin = print_index(s.begin, n_);
  line(fmt::format("const {0} {1} = {2}({0}){3};", n_.index_type(), loop(s.id),
                   begin == "0" ? "" : begin + " + ", kThreadsThread[axis]));
  int64_t b = 0, e = 0;
  const bool all = is_const(s.begin, &b) && is_const(s.end, &e) &&
                   e - b == out_.block[static_cast<size_t>(axis)];
  bool waits = false;
  for (const StmtRef& x : s.body) waits |= collective(*x);
  if (!all) inside.only.push_back(loop(s.id) + " < " + print_index(s.end, n_));
  if (waits) {
    emit_all(s, inside);
  } else {
    conditional(inside, [&] {
      Scope free = without_conditions(inside);
      const bool apart = all && axis == 0 && (emit_matrices(s) || emit_quads(s, free));
      if (!apart) emit_all(s, free);
    });
  }
  if (s.into >= 0) put_together(s.into, reduce, axis);
  close();
  n_.lane = around;
}

/// Threads reduce from the identity; what was there before is added once, at the end.
void LaunchPrinter::set_aside(int buffer, Reduce reduce) {
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
void LaunchPrinter::share_parts(Reduce reduce, int axis, DType type) {
  const int x = out_.block[0];
  const bool along = axis == 0;
  if (along && x <= 32 && (x & (x - 1)) == 0) return;
  if (role_ != ThreadRole::kAll) {
    throw Unprintable{"launch " + launch_.name +
                      " combines threads of several warps, which waits for all threads of a block, "
                      "and some only fill its pipeline; leave out specialize, or reduce in a warp"};
  }
  const int64_t words = along && x % 32 == 0 ? threads() / 32 : threads();
  parts_[fmt::format("{} {} {}", combiner(reduce), axis, computed_type(type))] =
      words * size_of(type == DType::kF16 || type == DType::kBF16 ? DType::kF32 : type);
}

void LaunchPrinter::put_together(int buffer, Reduce reduce, int axis) {
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
void LaunchPrinter::each_element(const NestBuffer& b,
                                 const std::function<void(const std::string&)>& f) {
  int64_t n = 0;
  if (is_const(b.elements, &n) && n == 1) return f("0");
  line("#pragma unroll");
  open(fmt::format("for (i32 i = 0; i < {}; ++i) {{", print_index(b.elements, n_)));
  f("i");
  close();
}

LaunchPrinter::Scope LaunchPrinter::without_conditions(Scope scope) {
  scope.only.clear();
  return scope;
}

/// Runs `f` inside an `if` of the scope's conditions.
void LaunchPrinter::conditional(const Scope& scope, const Print& f) {
  std::string all;
  for (const std::string& c : scope.only) all += (all.empty() ? "" : " && ") + c;
  if (all.empty()) return f();
  open("if (" + all + ") {");
  f();
  close();
}

/// A leaf under the scope's conditions; what goes to memory, by one thread of those along axes that
/// it does not loop over.
void LaunchPrinter::guarded(const Scope& scope, const Stmt& s, const Print& f) {
  Scope all = scope;
  const bool to_memory = s.kind == Stmt::kCheck || (s.kind == Stmt::kStore && !own(s.id));
  for (int a = 0; a < 3 && to_memory; ++a) {
    if (out_.block[static_cast<size_t>(a)] > 1 && !scope.axes.contains(a)) {
      all.only.push_back(std::string(kThreadsThread[a]) + " == 0");
    }
  }
  conditional(all, f);
}

}  // namespace hone::jit
