// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "jit/cuda/print_value.h"
#include "jit/cuda/source.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Thrown inside the printer only.
struct Refused {
  std::string message;
};

constexpr const char* kThread[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};
constexpr const char* kBlock[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};

template <class F>
void each_stmt(const Stmt& s, const F& f) {
  f(s);
  for (const StmtRef& b : s.body) each_stmt(*b, f);
}

const char* combiner(Reduce r) {
  constexpr const char* kNames[] = {"", "Sum", "Prod", "Max", "Min", "Any", "All"};
  return kNames[static_cast<int>(r)];
}

/// What holds where a statement stands.
struct Scope {
  std::vector<std::string> only;  ///< conditions that a thread must meet, for lack of an `if`
  std::set<int> loops;            ///< thread loops that are open, of the team
  std::set<int> axes;             ///< their axes
};

/// Prints one launch.
class LaunchPrinter {
 public:
  LaunchPrinter(const Nest& nest, const Launch& launch, CudaNames& names, CudaLaunch& out)
      : nest_(nest), launch_(launch), n_(names), out_(out) {}

  std::string print() {
    n_.facts.define_loop(launch_.range, Poly(), Poly::of(launch_.extent, &n_.facts));
    measure(*launch_.body);
    each_stmt(*launch_.body, [&](const Stmt& s) { checks_ |= s.kind == Stmt::kCheck; });
    Scope scope;
    const auto range = static_cast<size_t>(launch_.range);
    const std::string& r = n_.loops[range];
    if (is_block(launch_.mark)) {
      block_extent(launch_.mark, launch_.extent);
      line(fmt::format("const {0} {1} = ({0}){2};", n_.index_type(), r,
                       kBlock[axis_of(launch_.mark)]));
      emit(*launch_.body, scope);
    } else {
      open(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1}) {{", n_.index_type(), r,
                       print_index(launch_.extent, n_)));
      emit(*launch_.body, scope);
      close();
    }
    return head() + body_ + "}\n";
  }

 private:
  // --- what the launch needs ---

  /// Threads along each axis: as many as the largest loop bound to it.
  void measure(const Stmt& s) {
    if (s.kind == Stmt::kFor) {
      n_.facts.define_loop(s.id, Poly::of(s.begin, &n_.facts), Poly::of(s.end, &n_.facts));
      if (is_thread(s.mark)) {
        const auto most = n_.facts.upper(Poly::of(s.end, &n_.facts));
        if (!most) throw Refused{"the extent of " + loop(s.id) + " has no upper bound"};
        int& threads = out_.block[static_cast<size_t>(axis_of(s.mark))];
        threads = std::max(threads, static_cast<int>(*most));
      }
    }
    for (const StmtRef& b : s.body) measure(*b);
    if (threads() > 1024) {
      throw Refused{fmt::format("launch {} has blocks of {} threads; a block has at most 1024",
                                launch_.name, threads())};
    }
  }

  int threads() const { return out_.block[0] * out_.block[1] * out_.block[2]; }

  void block_extent(Mark mark, const Expr& extent) {
    visit(extent, [&](const Expr& e) {
      if (e->op == Op::kVar || e->op == Op::kLoad) {
        throw Refused{"the number of blocks along " + std::string(name_of(mark)) + " of launch " +
                      launch_.name + " depends on a loop"};
      }
    });
    Expr& grid = out_.grid[static_cast<size_t>(axis_of(mark))];
    grid = grid ? make_binary(Op::kMax, grid, extent) : extent;
  }

  std::string head() {
    std::string text =
        fmt::format("\nHONE_KERNEL({}) {}(const Args args) {{\n", threads(), out_.symbol);
    if (checks_) {
      text += "  i64* const status = (i64*)args.slot[0];\n";
    } else {
      text += "  if (*(const i64*)args.slot[0] != 9223372036854775807ll) return;\n";
    }
    for (size_t b = 0; b < nest_.buffers.size(); ++b) {
      if (used_.contains(static_cast<int>(b))) text += declaration(nest_.buffers[b], n_.buffers[b]);
    }
    return text;
  }

  std::string declaration(const NestBuffer& b, const std::string& name) {
    const std::string elements = print_index(b.elements, n_);
    const std::string type = stored_type(b.type);
    switch (b.home) {
      case Home::kArgument:
      case Home::kBound:
      case Home::kShared: {
        const std::string slot =
            b.home == Home::kShared
                ? fmt::format("args.slot[{}] + {}", +ArgsLayout::kWorkspace, b.offset)
                : fmt::format("args.slot[{}]", b.slot);
        return fmt::format("  HONE_GLOBAL({}{}, {}, {}, {});\n",
                           written_.contains(&b) ? "" : "const ", type, name, slot, elements);
      }
      case Home::kTeam:
        out_.shared_bytes += b.max_bytes;
        return fmt::format("  HONE_TEAM({}, {}, {});\n", type, name, elements);
      default:
        return fmt::format("  HONE_OWN({}, {}, {});\n", type, name, elements);
    }
  }

  // --- statements ---

  const std::string& loop(int id) const { return n_.loops[static_cast<size_t>(id)]; }

  /// All threads of a block must come by: it has a barrier inside, or combines threads.
  bool collective(const Stmt& s) const {
    bool found = false;
    each_stmt(s, [&](const Stmt& x) {
      found |= x.kind == Stmt::kTeam || x.kind == Stmt::kBarrier ||
               (x.kind == Stmt::kFor && x.into >= 0);
    });
    return found;
  }

  bool own(int buffer) const {
    const Home home = nest_.buffers[static_cast<size_t>(buffer)].home;
    return home == Home::kRegisters || home == Home::kWorker;
  }

  /// How the threads of a loop reduce.
  static Reduce reduction_of(const Stmt& s) {
    Reduce found = Reduce::kNone;
    each_stmt(s, [&](const Stmt& x) {
      if (x.kind == Stmt::kStore && x.id == s.into) found = x.reduce;
    });
    return found;
  }

  bool depends(const Expr& e, const Scope& scope) const {
    bool found = false;
    visit(e, [&](const Expr& x) { found |= x->op == Op::kVar && scope.loops.contains(x->id); });
    return found;
  }

  void emit(const Stmt& s, Scope& scope) {
    switch (s.kind) {
      case Stmt::kBlock:
        for (const StmtRef& b : s.body) emit(*b, scope);
        return;
      case Stmt::kFor:
        if (is_block(s.mark)) return emit_block(s, scope);
        if (is_thread(s.mark)) return emit_threads(s, scope);
        return emit_serial(s, scope);
      case Stmt::kIf:
        return emit_if(s, scope);
      case Stmt::kTeam: {
        Scope team;
        for (const StmtRef& b : s.body) emit(*b, team);
        return;
      }
      case Stmt::kBarrier:
        return line("__syncthreads();");
      default:
        return guarded(scope, s, [&] { emit_leaf(s); });
    }
  }

  void emit_block(const Stmt& s, Scope& scope) {
    note(s.begin);
    note(s.end);
    block_extent(s.mark, s.end);
    line(fmt::format("const {0} {1} = ({0}){2};", n_.index_type(), loop(s.id),
                     kBlock[axis_of(s.mark)]));
    std::string runs = loop(s.id) + " < " + print_index(s.end, n_);
    int64_t begin = 0;
    if (!is_const(s.begin, &begin) || begin != 0) {
      runs = print_index(s.begin, n_) + " <= " + loop(s.id) + " && " + runs;
    }
    open("if (" + runs + ") {");  // the same for all threads of a block
    body_of(s, scope);
    close();
  }

  void body_of(const Stmt& s, Scope& scope) {
    for (const StmtRef& b : s.body) emit(*b, scope);
  }

  void emit_serial(const Stmt& s, Scope& scope) {
    note(s.begin);
    note(s.end);
    const bool together = collective(s);
    if (together && (depends(s.begin, scope) || depends(s.end, scope))) {
      throw Refused{"threads would run loop " + loop(s.id) +
                    " differently often, and it waits for all of them; keep what it computes in "
                    "shared memory outside, or in=registers"};
    }
    const auto run = [&] {
      if (s.mark == Mark::kUnroll || s.mark == Mark::kVector) line("#pragma unroll");
      open(fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{", n_.index_type(), loop(s.id),
                       print_index(s.begin, n_), print_index(s.end, n_)));
      Scope inside = together ? scope : without_conditions(scope);
      body_of(s, inside);
      close();
    };
    if (together) {
      run();
    } else {
      conditional(scope, run);
    }
  }

  static Scope without_conditions(const Scope& scope) {
    Scope out = scope;
    out.only.clear();
    return out;
  }

  /// Runs `f` inside an `if` of the scope's conditions.
  template <class F>
  void conditional(const Scope& scope, const F& f) {
    std::string all;
    for (const std::string& c : scope.only) all += (all.empty() ? "" : " && ") + c;
    if (all.empty()) return f();
    open("if (" + all + ") {");
    f();
    close();
  }

  void emit_if(const Stmt& s, Scope& scope) {
    note(s.condition);
    const std::string condition = print_condition(s.condition, n_);
    if (!collective(s)) {
      return conditional(scope, [&] {
        Scope inside = without_conditions(scope);
        open("if (" + condition + ") {");
        emit(*s.body[0], inside);
        if (s.body.size() > 1) {
          close();
          open("else {");
          emit(*s.body[1], inside);
        }
        close();
      });
    }
    if (depends(s.condition, scope)) {
      // Both sides wait for all threads, so both are walked; the first may change what was asked.
      const std::string taken = "taken_" + std::to_string(++choices_);
      line("const bool " + taken + " = " + condition + ";");
      for (size_t side = 0; side < s.body.size(); ++side) {
        Scope inside = scope;
        inside.only.push_back(side == 0 ? taken : "!" + taken);
        emit(*s.body[side], inside);
      }
      return;
    }
    open("if (" + condition + ") {");
    emit(*s.body[0], scope);
    if (s.body.size() > 1) {
      close();
      open("else {");
      emit(*s.body[1], scope);
    }
    close();
  }

  void emit_threads(const Stmt& s, Scope& scope) {
    note(s.begin);
    note(s.end);
    const int axis = axis_of(s.mark);
    Scope inside = scope;
    inside.loops.insert(s.id);
    inside.axes.insert(axis);
    open("{");
    if (s.into >= 0) set_aside(s.into, reduction_of(s));
    const std::string begin = print_index(s.begin, n_);
    line(fmt::format("const {0} {1} = {2}({0}){3};", n_.index_type(), loop(s.id),
                     begin == "0" ? "" : begin + " + ", kThread[axis]));
    int64_t b = 0, e = 0;
    const bool all = is_const(s.begin, &b) && is_const(s.end, &e) &&
                     e - b == out_.block[static_cast<size_t>(axis)];
    bool waits = false;
    for (const StmtRef& x : s.body) waits |= collective(*x);
    if (!all) inside.only.push_back(loop(s.id) + " < " + print_index(s.end, n_));
    if (waits) {
      body_of(s, inside);
    } else {
      conditional(inside, [&] {
        Scope free = without_conditions(inside);
        body_of(s, free);
      });
    }
    if (s.into >= 0) put_together(s.into, reduction_of(s), axis);
    close();
  }

  /// Threads reduce from the identity; what was there before is added once, at the end.
  void set_aside(int buffer, Reduce reduce) {
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

  void put_together(int buffer, Reduce reduce, int axis) {
    const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
    const std::string& name = n_.buffers[static_cast<size_t>(buffer)];
    each_element(b, [&](const std::string& i) {
      const std::string element = name + "[" + i + "]";
      const std::string combined =
          fmt::format("combine_threads<{}, {}, {}, {}, {}>({})", combiner(reduce), axis,
                      out_.block[0], out_.block[1], out_.block[2],
                      from_stored(b.type, "(" + std::string(stored_type(b.type)) + ")" + element));
      line(element + " = " +
           to_stored(b.type,
                     fmt::format("{}::of({}, {})", combiner(reduce),
                                 from_stored(b.type, name + "before[" + i + "]"), combined)) +
           ";");
    });
  }

  template <class F>
  void each_element(const NestBuffer& b, const F& f) {
    int64_t n = 0;
    if (is_const(b.elements, &n) && n == 1) return f("0");
    line("#pragma unroll");
    open(fmt::format("for (i32 i = 0; i < {}; ++i) {{", print_index(b.elements, n_)));
    f("i");
    close();
  }

  /// A leaf under the scope's conditions; what goes to memory, by one thread of those along axes
  /// that it does not loop over.
  template <class F>
  void guarded(const Scope& scope, const Stmt& s, const F& f) {
    Scope all = scope;
    const bool to_memory = s.kind == Stmt::kCheck || (s.kind == Stmt::kStore && !own(s.id));
    for (int a = 0; a < 3 && to_memory; ++a) {
      if (out_.block[static_cast<size_t>(a)] > 1 && !scope.axes.contains(a)) {
        all.only.push_back(std::string(kThread[a]) + " == 0");
      }
    }
    conditional(all, f);
  }

  void note(const Expr& e) {
    visit(e, [&](const Expr& x) {
      if (x->op == Op::kLoad) used_.insert(x->id);
    });
  }

  void emit_leaf(const Stmt& s) {
    note(s.offset);
    note(s.value);
    note(s.condition);
    if (s.kind == Stmt::kCheck) {
      line("if (!" + print_condition(s.condition, n_) + ") lowest(status, " +
           print_value(s.value, n_) + ");");
      return;
    }
    const NestBuffer& b = nest_.buffers[static_cast<size_t>(s.id)];
    used_.insert(s.id);
    const std::string place =
        n_.buffers[static_cast<size_t>(s.id)] + "[" + print_index(s.offset, n_) + "]";
    if (s.kind == Stmt::kPrefetch) return line("prefetch(HONE_ADDRESS(" + place + "));");
    written_.insert(&b);
    std::string value = print_value(s.value, n_);
    if (s.reduce != Reduce::kNone) {
      value = fmt::format("{}::of({}, {})", combiner(s.reduce),
                          from_stored(b.type, "(" + std::string(stored_type(b.type)) + ")" + place),
                          value);
    }
    line(place + " = " + to_stored(b.type, value) + ";");
  }

  void line(const std::string& text) {
    body_ += std::string(2 * static_cast<size_t>(depth_), ' ') + text + "\n";
  }
  void open(const std::string& text) {
    line(text);
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }

  const Nest& nest_;
  const Launch& launch_;
  CudaNames& n_;
  CudaLaunch& out_;
  std::string body_;
  int depth_ = 1;
  int choices_ = 0;  ///< conditions that were given names
  bool checks_ = false;
  std::set<int> used_;
  std::set<const NestBuffer*> written_;
};

/// `name` as an identifier that `taken` does not hold. It ends in `_`, as no word of C++, of CUDA
/// or of the prelude does.
std::string identifier(const std::string& name, std::set<std::string>& taken) {
  std::string base;
  for (char c : name.substr(name.find('/') + 1)) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    base += word ? c : '_';
  }
  if (base.empty() || (base[0] >= '0' && base[0] <= '9')) base = "v" + base;
  std::string out = base + "_";
  for (int i = 2; !taken.insert(out).second; ++i) out = base + "_" + std::to_string(i) + "_";
  return out;
}

/// Whether an index may not fit 32 bits: the size of a buffer, or what is compared and multiplied
/// on the way to an element, which may lie far outside it where a condition says so.
class Width {
 public:
  Width(const Nest& nest, Facts facts) : facts_(std::move(facts)) {
    for (const NestBuffer& b : nest.buffers) look(b.elements);
    for (const Launch& l : nest.launches) {
      look(l.extent);
      facts_.define_loop(l.range, Poly(), Poly::of(l.extent, &facts_));
      walk(*l.body);
    }
  }
  bool wide() const { return wide_; }

 private:
  static constexpr int64_t kMost = int64_t{1} << 30;

  bool small(const Poly& p) const {
    const auto low = facts_.lower(p), high = facts_.upper(p);
    return low && high && *low >= -kMost && *high <= kMost;
  }
  /// Every integer expression over loops in `e`, and every monomial of it.
  void look(const Expr& e) {
    visit(e, [&](const Expr& x) {
      if (wide_ || x->type != DType::kI64 || x->op == Op::kInt || x->op == Op::kLoad) return;
      const Poly p = Poly::of(x, &facts_);
      wide_ = !small(p);
      for (const Poly::Term& t : p.terms()) {
        Poly one(t.coef);
        for (const Expr& f : t.factors) one = one * Poly::atom(f);
        wide_ |= !small(one);
      }
    });
  }
  void walk(const Stmt& s) {
    for (const Expr* e : {&s.begin, &s.end, &s.condition, &s.offset, &s.value}) look(*e);
    if (s.kind == Stmt::kFor) {
      facts_.define_loop(s.id, Poly::of(s.begin, &facts_), Poly::of(s.end, &facts_));
    }
    for (const StmtRef& b : s.body) walk(*b);
  }

  Facts facts_;
  bool wide_ = false;
};

}  // namespace

std::array<int64_t, 3> grid_of(const CudaLaunch& launch, std::span<const int64_t> dims) {
  std::array<int64_t, 3> out{};
  for (size_t axis = 0; axis < 3; ++axis) {
    const Expr fixed = rewrite(launch.grid[axis], [&](const Expr& e) {
      return e->op == Op::kDim ? make_int(dims[static_cast<size_t>(e->id)]) : Expr();
    });
    is_const(fixed, &out[axis]);
  }
  return out;
}

Result<CudaSource, Refusal> print_cuda(const Nest& nest, const Target&) {
  CudaSource out;
  out.slots = nest.slots;
  CudaNames names;
  names.nest = &nest;
  for (const Dim& d : nest.dims) names.facts.define_dim(d.name, d.lo, d.hi);
  names.wide = Width(nest, names.facts).wide();
  std::set<std::string> taken;
  for (const NestBuffer& b : nest.buffers) names.buffers.push_back(identifier(b.name, taken));
  for (const std::string& l : nest.loops) names.loops.push_back(identifier(l, taken));
  out.kernels = fmt::format("struct Args {{ i64 slot[{}]; }};\n", std::max(1, nest.slots));
  try {
    for (size_t i = 0; i < nest.launches.size(); ++i) {
      const Launch& l = nest.launches[i];
      CudaLaunch made;
      made.name = l.name;
      made.symbol = fmt::format("hone_{}", i);
      made.at_bind = l.at_bind;
      out.kernels += LaunchPrinter(nest, l, names, made).print();
      for (Expr& g : made.grid) {
        if (!g) g = make_int(1);
      }
      out.launches.push_back(std::move(made));
    }
  } catch (const Refused& r) {
    return Refusal{r.message};
  }
  return out;
}

}  // namespace hone::jit
