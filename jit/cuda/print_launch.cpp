// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/print_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "jit/ir/device_limits.h"
#include "jit/ir/integers.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Fixed by: TMA and wgmma.
constexpr int64_t kSharedAlign = 128;    // of buffers in shared memory
constexpr int64_t kSwizzleAlign = 1024;  // of those that tensor instructions read as swizzled

/// Fixed by: CUDA.
constexpr int kAsyncCopies = 80;  // the first sm that has them

/// Fixed by: CUDA.
constexpr int kMostThreads = 1024;  // of a block

/// Chosen: whole tiles, or few where nothing is known (not measured).
constexpr int64_t kUnrolled = 64;  // iterations at most, of a loop whose extent varies
constexpr int kAtATime = 4;        // iterations of one whose extent has no bound

constexpr const char* kBlock[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};

}  // namespace

std::string LaunchPrinter::print() {
  n_.facts.define_loop(launch_.range, Poly(), Poly::of(launch_.extent, &n_.facts));
  measure(*launch_.body);
  tiles_.check_warps();
  tiles_.measure_wgmma();
  clusters_.measure_cluster();
  each_stmt(*launch_.body, [&](const Stmt& s) {
    checks_ |= is<CheckStmt>(s);
    const auto* store = as<StoreStmt>(s);
    context_.copies_async |= store && store->async && target_.generation() >= kAsyncCopies;
  });
  if (tma_.fills_apart(*launch_.body)) {
    emit_specialized();
  } else {
    emit_range();
  }
  clusters_.check_cluster(checks_);
  return head() + context_.body + (clusters_.blocks() > 1 ? clusters_.leave_cluster() : "") + "}\n";
}

/// The launch's body, for the range that a block has of it.
void LaunchPrinter::emit_range() {
  ThreadScope scope;
  const auto range = static_cast<size_t>(launch_.range);
  const std::string& r = n_.loops[range];
  if (is_block(launch_.mark)) {
    block_extent(launch_.mark, launch_.extent);
    line(fmt::format("const {0} {1} = ({0}){2};", n_.index_type(), r,
                     block_index(launch_.mark, launch_.range, launch_.extent, *launch_.body)));
    emit(*launch_.body, scope);
  } else {
    open(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1}) {{", n_.index_type(), r,
                     print_index(launch_.extent, n_)));
    emit(*launch_.body, scope);
    close();
  }
}

/// Threads along each axis: as many as the largest loop bound to it.
void LaunchPrinter::measure(const Stmt& s) {
  if (const auto* l = as<ForStmt>(s)) {
    n_.facts.define_loop(l->loop, Poly::of(l->begin, &n_.facts), Poly::of(l->end, &n_.facts));
    if (is_thread(l->mark)) {
      const auto most = n_.facts.upper(Poly::of(l->end, &n_.facts));
      if (!most || *most > kMostThreads) {
        throw ir::Reject{fmt::format(
            "the extent of {} is not known to be at most {}, the threads of a block; split it and "
            "bind the inner loop",
            loop(l->loop), kMostThreads)};
      }
      int& threads = out_.block[static_cast<size_t>(axis_of(l->mark))];
      threads = std::max(threads, static_cast<int>(*most));
    }
  }
  for (const StmtRef& b : s.body) measure(*b);
  check_threads();
}

void LaunchPrinter::check_threads() const {
  if (threads() > kMostThreads) {
    throw ir::Reject{fmt::format("launch {} has blocks of {} threads; a block has at most {}",
                                 launch_.name, threads(), kMostThreads)};
  }
}

/// Blocks along an axis: as many as the loops bound to it have iterations at most.
void LaunchPrinter::block_extent(Mark mark, const Expr& extent) {
  bool varies = false;
  visit(extent, [&](const Expr& e) { varies |= e->op == Op::kVar || e->op == Op::kLoad; });
  const auto most = varies ? n_.facts.upper(Poly::of(extent, &n_.facts)) : std::nullopt;
  if (varies && !most) {
    throw ir::Reject{"the number of blocks along " + std::string(name_of(mark)) + " of launch " +
                     launch_.name + " depends on a loop and has no constant upper bound"};
  }
  Expr& grid = out_.grid[static_cast<size_t>(axis_of(mark))];
  const Expr blocks = most ? make_int(*most) : extent;
  grid = grid ? make_binary(Op::kMax, grid, blocks) : blocks;
}

std::string LaunchPrinter::head() {
  std::string text = "\n", args = "const Args args";
  if (!out_.maps.empty()) {
    text += fmt::format("struct Args_{} {{ i64 slot[{}]; TensorMap map[{}]; }};\n", out_.symbol,
                        nest_.slots, out_.maps.size());
    args = fmt::format("const HONE_PARAMETER Args_{} args", out_.symbol);
  }
  text += kernel_macro() + fmt::format(" {}({}) {{\n", out_.symbol, args);
  if (checks_) {
    text += "  i64* const status = (i64*)args.slot[0];\n";
  } else if (stops_at_bad_data()) {
    text += "  if (*(const i64*)args.slot[0] != 9223372036854775807ll) return;\n";
  }
  place_shared();
  if (!dynamic_.empty()) text += fmt::format("  HONE_DYNAMIC({});\n", out_.dynamic_bytes);
  for (size_t b = 0; b < nest_.buffers.size(); ++b) {
    if (used_.contains(static_cast<int>(b))) text += declaration(nest_.buffers[b], n_.buffers[b]);
  }
  return text + tma_.declare_pipes();
}

/// Whether some launch checks data, which calls before this one may have found bad, or all are to
/// ask.
bool LaunchPrinter::stops_at_bad_data() const {
  if (clusters_.blocks() > 1)
    return false;  // the blocks of a cluster might find the status different
  bool checked = forms_.status_always;
  for (const Launch& l : nest_.launches) {
    each_stmt(*l.body, [&](const Stmt& s) { checked |= is<CheckStmt>(s); });
  }
  return checked;
}

/// Places shared memory. More than the static limit is requested by the launch, all of it
/// dynamically. So is memory that needs a larger alignment than static memory has.
void LaunchPrinter::place_shared() {
  std::vector<const NestBuffer*> shared;
  bool swizzled = false;
  int64_t bytes = 0, parts = 0;
  for (int b : used_) {
    const NestBuffer& buffer = nest_.buffers[static_cast<size_t>(b)];
    if (buffer.home != Home::kSharedMemory) continue;
    shared.push_back(&buffer);
    swizzled |= buffer.swizzle != 0;
    bytes += round_up(buffer.max_bytes, kSharedAlign);
  }
  for (const auto& part : context_.parts) parts += round_up(part.second, kSharedAlign);
  if (tma_.any()) bytes += round_up(tma_.barrier_bytes(), kSharedAlign);
  out_.shared_bytes = parts;
  if (!swizzled && bytes + parts <= DeviceLimits::kStaticShared) {
    out_.shared_bytes += bytes;
    return;
  }
  for (const NestBuffer* b : shared) {
    const int64_t at = round_up(out_.dynamic_bytes, b->swizzle ? kSwizzleAlign : kSharedAlign);
    dynamic_[b] = at;
    out_.dynamic_bytes = at + b->max_bytes;
  }
  if (tma_.any()) {
    const int64_t at = round_up(out_.dynamic_bytes, kSharedAlign);
    tma_.place_barriers(at);
    out_.dynamic_bytes = at + tma_.barrier_bytes();
  }
  const int64_t most = device_limits(target_.sm).block_shared_bytes;
  if (parts + out_.dynamic_bytes > most) {
    throw ir::Reject{fmt::format(
        "launch {} needs {} bytes of shared memory in a block; a block of sm_{} has at most {}: "
        "stage less of what it reads, or smaller tiles",
        launch_.name, parts + out_.dynamic_bytes, target_.sm, most)};
  }
}

std::string LaunchPrinter::declaration(const NestBuffer& b, const std::string& name) {
  const std::string elements = print_index(b.elements, n_);
  const std::string type = stored_type(b.type);
  switch (b.home) {
    case Home::kArgument:
    case Home::kBound:
    case Home::kWorkspace: {
      const std::string slot =
          b.home == Home::kWorkspace
              ? fmt::format("args.slot[{}] + {}", +ArgsLayout::kWorkspace, b.offset)
              : fmt::format("args.slot[{}]", b.slot);
      return fmt::format("  HONE_GLOBAL({}{}, {}, {}, {});\n",
                         written_.contains(&b) ? "" : "const ", type, name, slot, elements);
    }
    case Home::kSharedMemory:
      if (dynamic_.contains(&b)) {
        return fmt::format("  HONE_TEAM_AT({}, {}, {}, {});\n", type, name, elements, dynamic_[&b]);
      }
      return fmt::format("  HONE_TEAM({}, {}, {});\n", type, name, elements);
    case Home::kWarp:
      return fmt::format("  HONE_WARP({}, {}, {});\n", type, name, tiles_.registers_of(b));
    default:
      return fmt::format("  HONE_OWN({}, {}, {});\n", type, name, elements);
  }
}

void LaunchPrinter::emit(const Stmt& s, ThreadScope& scope) {
  if (role_ == ThreadRole::kProducer) {
    if (!tma_.fills_apart(s)) return;
    if (const auto* l = as<ForStmt>(s); l && is_thread(l->mark)) {
      context_.unbound.insert(l->loop);
      return emit_all(s, scope);
    }
  }
  ir::visit(s, Overloaded{
                   [&](const SequenceStmt& all) { emit_all(all, scope); },
                   [&](const ForStmt& loop) { emit_for(loop, scope); },
                   [&](const IfStmt& choice) { emit_if(choice, scope); },
                   [&](const StoreStmt& x) { guarded(scope, s, [&] { emit_store(x); }); },
                   [&](const PrefetchStmt& x) { guarded(scope, s, [&] { emit_prefetch(x); }); },
                   [&](const CheckStmt& x) { guarded(scope, s, [&] { emit_check(x); }); },
                   [&](const TeamStmt& team) {
                     ThreadScope all;
                     emit_all(team, all);
                   },
                   [&](const BarrierStmt&) { emit_barrier(); },
                   [&](const CopyCommitStmt&) {
                     if (context_.copies_async) line("commit_copies();");
                   },
                   [&](const CopyWaitStmt& wait) {
                     if (context_.copies_async) {
                       line(fmt::format("wait_copies<{}>();", wait.pending));
                     }
                   },
                   [&](const WgmmaFenceStmt& x) { tiles_.emit_fence(x); },
                   [&](const WgmmaCommitStmt&) { line("wgmma_commit();"); },
                   [&](const WgmmaWaitStmt& x) { tiles_.emit_wait(x); },
                   [&](const FillStmt& x) { tma_.emit_fill(x); },
                   [&](const ReadyStmt& x) { tma_.emit_ready(x); },
                   [&](const ReleaseStmt& x) { tma_.emit_release(x); },
                   [&](const TmaCopyStmt& x) { tma_.emit_tma_copy(x); },
               });
}

void LaunchPrinter::emit_for(const ForStmt& s, ThreadScope& scope) {
  if (is_block(s.mark)) return emit_block(s, scope);
  if (is_thread(s.mark)) return threads_.emit_threads(s, scope);
  if (s.mark == Mark::kVector) return vector_printer_.emit_vector(s, scope);
  if (s.mark == Mark::kTensor) return conditional(scope, [&] { tiles_.emit_tiles(s); });
  emit_serial(s, scope);
}

void LaunchPrinter::emit_barrier() {
  if (tiles_.shows_stores()) line("fence_proxy_async();");
  line(role_ == ThreadRole::kAll ? "__syncthreads();"
                                 : fmt::format("barrier_sync(1, {});", context_.consumers));
}

void LaunchPrinter::emit_serial(const ForStmt& s, ThreadScope& scope) {
  const bool together = collective(s);
  if (together && (depends(s.begin, scope) || depends(s.end, scope))) {
    throw ir::Reject{"threads would run loop " + loop(s.loop) +
                     " differently often, and it waits for all of them; keep what it computes in "
                     "shared memory outside, or in=registers"};
  }
  const auto run = [&] {
    const int levels = open_loop(s);
    ThreadScope inside = together ? scope : without_conditions(scope);
    emit_all(s, inside);
    for (int i = 0; i < levels; ++i) close();
  };
  if (together) {
    run();
  } else {
    conditional(scope, run);
  }
}

/// Opens the loop of `s`, one iteration after the other; the number of brackets. What is unrolled
/// runs as often for all threads and asks inside, so that registers are numbered by constants.
int LaunchPrinter::open_loop(const ForStmt& s) {
  note(s.begin);
  note(s.end);
  const bool copied = s.mark == Mark::kUnroll || s.mark == Mark::kVector;
  const bool unrolled = copied || tiles_.numbers_registers(s);
  const std::string end = print_index(s.end, n_);
  std::optional<int64_t> most;
  if (unrolled && is_const(s.begin) && !is_const(s.end)) {
    most = n_.facts.upper(Poly::of(s.end, &n_.facts));
    if (most && *most > kUnrolled) most.reset();
  }
  const std::string last = most ? std::to_string(*most) : end;
  const bool data = unrolled && !most && !is_const(s.end);
  if (unrolled) line(data ? fmt::format("#pragma unroll {}", kAtATime) : "#pragma unroll");
  if (!unrolled && tiles_.starts_wgmma(s)) line("#pragma unroll 1");
  open(fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{", n_.index_type(), loop(s.loop),
                   print_index(s.begin, n_), last));
  if (!most) return 1;
  open(fmt::format("if ({} < {}) {{", loop(s.loop), end));
  return 2;
}

void LaunchPrinter::emit_if(const IfStmt& s, ThreadScope& scope) {
  note(s.condition);
  const std::string condition = print_condition(s.condition, n_);
  if (!collective(s)) {
    return conditional(scope, [&] {
      ThreadScope inside = without_conditions(scope);
      emit_choice(s, condition, inside);
    });
  }
  if (!depends(s.condition, scope)) return emit_choice(s, condition, scope);
  // Both sides wait for all threads, so both are walked; the first may change what was asked.
  const std::string taken = "taken_" + std::to_string(++choices_);
  line("const bool " + taken + " = " + condition + ";");
  for (size_t side = 0; side < s.body.size(); ++side) {
    ThreadScope inside = scope;
    inside.only.push_back(side == 0 ? taken : "!" + taken);
    emit(*s.body[side], inside);
  }
}

/// A sum in registers under a condition whose terms may be computed whether it holds or not. Then
/// what the terms of several sums have in common is computed once.
const StoreStmt* LaunchPrinter::speculative(const IfStmt& s) const {
  const Stmt* only = &s.then();
  while (is<SequenceStmt>(*only) && only->body.size() == 1) only = only->body[0].get();
  const auto* store = as<StoreStmt>(*only);
  if (s.otherwise() || !store || store->reduce == Reduce::kNone) return nullptr;
  const auto near = [&](int buffer) {
    const Home home = nest_.buffers[static_cast<size_t>(buffer)].home;
    return home == Home::kRegisters || home == Home::kSharedMemory;
  };
  bool safe = nest_.buffers[static_cast<size_t>(store->buffer)].home == Home::kRegisters;
  visit(store->value, [&](const Expr& e) {
    if (e->op != Op::kLoad) return;
    const NestBuffer& b = nest_.buffers[static_cast<size_t>(e->id)];
    int64_t elements = 0;
    const Poly at = Poly::of(e->args[0], &n_.facts);
    const auto first = n_.facts.lower(at), last = n_.facts.upper(at);
    safe = safe && near(e->id) && is_const(b.elements, &elements) && first && last && *first >= 0 &&
           *last < elements;
  });
  return safe ? store : nullptr;
}

void LaunchPrinter::emit_choice(const IfStmt& s, const std::string& condition, ThreadScope& scope) {
  if (const StoreStmt* store = speculative(s)) return emit_store(*store, condition);
  open("if (" + condition + ") {");
  emit(s.then(), scope);
  if (s.otherwise()) {
    close();
    open("else {");
    emit(*s.otherwise(), scope);
  }
  close();
}

void LaunchPrinter::emit_check(const CheckStmt& s) {
  note(s.position);
  note(s.condition);
  line("if (!" + print_condition(s.condition, n_) + ") lowest(status, " +
       print_value(s.position, n_) + ");");
}

void LaunchPrinter::emit_prefetch(const PrefetchStmt& s) {
  note(s.offset);
  used_.insert(s.buffer);
  line("prefetch(HONE_ADDRESS(" + print_place(s.buffer, s.offset, n_) + "));");
}

/// Stores where `condition` holds, if one is given.
void LaunchPrinter::emit_store(const StoreStmt& s, const std::string& condition) {
  note(s.offset);
  note(s.value);
  if (copies_.emit_copies(s, nullptr)) return;
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(s.buffer)];
  used_.insert(s.buffer);
  const std::string place = print_place(s.buffer, s.offset, n_);
  written_.insert(&b);
  if (s.reduce == Reduce::kNone && s.value->type == b.type) {
    return line(place + " = " + print_stored(s.value, n_) + ";");
  }
  std::string value = print_operand(s.value, n_);
  if (s.reduce != Reduce::kNone) {
    value = fmt::format("{}::of({}, {})", combiner(s.reduce),
                        from_stored(b.type, "(" + std::string(stored_type(b.type)) + ")" + place),
                        value);
  }
  value = to_stored(b.type, value);
  if (condition.empty()) return line(place + " = " + value + ";");
  line(fmt::format("{{ const {0} sum = {1}; {2} = {3} ? sum : {2}; }}", stored_type(b.type), value,
                   place, condition));
}

std::string LaunchPrinter::kernel_macro() const {
  const char* alone = alone_ ? "_ALONE" : "";
  if (clusters_.blocks() == 1) return fmt::format("HONE_KERNEL{}({})", alone, threads());
  return fmt::format("HONE_CLUSTER_KERNEL{}({}, {}, {}, {})", alone, threads(), out_.cluster[0],
                     out_.cluster[1], out_.cluster[2]);
}

/// Blocks start in the order of their index. Where the work of one grows with it, the last index
/// comes first, so that what runs at the end of the launch is short.
std::string LaunchPrinter::block_index(Mark mark, int loop, const Expr& extent, const Stmt& body) {
  const std::string index = kBlock[axis_of(mark)];
  bool varies = false, grows = false, shrinks = false;
  visit(extent, [&](const Expr& e) { varies |= e->op == Op::kVar || e->op == Op::kLoad; });
  each_stmt(body, [&](const Stmt& s) {
    const auto* l = as<ForStmt>(s);
    if (!l) return;
    const int64_t more =
        (Poly::of(l->end, &n_.facts) - Poly::of(l->begin, &n_.facts)).loop_coef(loop);
    grows |= more > 0;
    shrinks |= more < 0;
  });
  if (varies || !grows || shrinks || clusters_.blocks() > 1 || forms_.ascending_blocks)
    return index;
  return fmt::format("({} - 1 - {})", print_index(extent, n_), index);
}

void LaunchPrinter::emit_block(const ForStmt& s, ThreadScope& scope) {
  note(s.begin);
  note(s.end);
  block_extent(s.mark, s.end);
  line(fmt::format("const {0} {1} = ({0}){2};", n_.index_type(), loop(s.loop),
                   block_index(s.mark, s.loop, s.end, s)));
  std::string runs = loop(s.loop) + " < " + print_index(s.end, n_);
  int64_t begin = 0;
  if (!is_const(s.begin, &begin) || begin != 0) {
    runs = print_index(s.begin, n_) + " <= " + loop(s.loop) + " && " + runs;
  }
  open("if (" + runs + ") {");  // the same for all threads of a block
  emit_all(s, scope);
  close();
}

}  // namespace hone::jit
