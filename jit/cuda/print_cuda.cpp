// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "jit/cuda/print_launch.h"
#include "jit/cuda/sm90_rows.h"
#include "jit/passes/keep_loads.h"

namespace hone::jit {

using namespace ir;

namespace {

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
    for (const Expr* e : {&s.begin, &s.end, &s.condition, &s.offset, &s.value, &s.position}) {
      look(*e);
    }
    for (const Expr& e : s.at) look(e);
    if (s.kind == Stmt::kFor) {
      facts_.define_loop(s.id, Poly::of(s.begin, &facts_), Poly::of(s.end, &facts_));
    }
    for (const StmtRef& b : s.body) walk(*b);
  }

  Facts facts_;
  bool wide_ = false;
};

}  // namespace

bool has_cuda() { return true; }

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

Result<CudaSource, Refusal> print_cuda(const Nest& given, const Target& target) {
  const Nest nest = with_kept_loads(given);
  CudaSource out;
  out.slots = nest.slots;
  out.slot_align.assign(static_cast<size_t>(nest.slots), 1);
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
      out.kernels += LaunchPrinter(nest, l, names, made, out.slot_align, target).print();
      for (Expr& g : made.grid) {
        if (!g) g = make_int(1);
      }
      out.launches.push_back(std::move(made));
    }
  } catch (const Unprintable& r) {
    return Refusal{r.message};
  }
  if (target.ptx != 0 && needs_sm90a(out.kernels)) {
    return Refusal{
        "the kernels have what only machine code for one GPU may have, boxes that go to "
        "all blocks of a cluster or registers that warps give each other; " +
        print(target) + " has none" + newer_compiler_hint(target, true)};
  }
  return out;
}

}  // namespace hone::jit
