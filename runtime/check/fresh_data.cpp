// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/fresh_data.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "jit/interp/scalar.h"
#include "runtime/call/plan.h"

namespace hone::runtime {
namespace {

bool loads_from(const ir::Expr& e, const std::string& tensor) {
  bool found = false;
  if (!e) return false;
  ir::visit(e, [&](const ir::Expr& x) { found |= x->op == ir::Op::kLoad && x->name == tensor; });
  return found;
}

bool is_closed(const ir::Expr& e) {
  bool closed = true;
  ir::visit(e, [&](const ir::Expr& x) {
    closed &= x->op == ir::Op::kInt || x->op == ir::Op::kDim || !x->args.empty();
    closed &= x->op != ir::Op::kLoad && x->op != ir::Op::kCall;
  });
  return closed;
}

/// The first elements that an expression reads, and nothing of what stands in their indices.
void collect_loads(const ir::Expr& e, std::vector<ir::Expr>& loads) {
  if (e->op == ir::Op::kLoad) {
    loads.push_back(e);
    return;
  }
  for (const ir::Expr& a : e->args) collect_loads(a, loads);
}

/// A sum of products with one element of data and otherwise dims and constants, `x*slope + start`.
bool is_linear_in_data(const ir::Expr& e) {
  if (e->op == ir::Op::kLoad) return !e->guarded;
  switch (e->op) {
    case ir::Op::kInt:
    case ir::Op::kDim:
      return true;
    case ir::Op::kCast:
      return is_int(e->type) && size_of(e->type) >= size_of(e->args[0]->type) &&
             is_linear_in_data(e->args[0]);
    case ir::Op::kAdd:
    case ir::Op::kSub:
    case ir::Op::kMul:
      return is_linear_in_data(e->args[0]) && is_linear_in_data(e->args[1]);
    default:
      return false;
  }
}

/// Values from lo to hi.
struct Values {
  int64_t lo, hi;
};

int64_t down(int64_t a, int64_t b) { return jit::floor_div(a, b); }

/// The values of the element of `tensor` that pass a check which reads nothing else; nothing where
/// that is not known.
std::optional<Values> passing(const ir::Check& check, const ir::Program& program,
                              std::span<const int64_t> dims) {
  std::vector<ir::Expr> loads;
  collect_loads(check.value, loads);
  if (loads.size() != 1 || !is_linear_in_data(check.value)) return std::nullopt;
  if (!is_closed(check.lo) || !is_closed(check.hi)) return std::nullopt;
  const auto at = [&](int64_t x) {
    const ir::Expr e = ir::rewrite(check.value, [&](const ir::Expr& n) -> ir::Expr {
      return n->op == ir::Op::kLoad ? ir::make_int(x, n->type) : ir::Expr();
    });
    return evaluate(number_dims(e, program.dims), dims);
  };
  const int64_t start = at(0), slope = at(1) - start;
  if (slope <= 0) return std::nullopt;
  const int64_t lo = evaluate(number_dims(check.lo, program.dims), dims);
  const int64_t hi = evaluate(number_dims(check.hi, program.dims), dims);
  return Values{-down(start - lo, slope), down(hi - start, slope)};
}

/// The values that elements of `tensor` may have, whatever the others are; nothing where others
/// have a say.
std::optional<Values> allowed(const std::string& tensor, DType type, const ir::Program& program,
                              std::span<const int64_t> dims, bool* checked) {
  const auto [least, most] = jit::integers_of(type);
  Values all{least, most};
  for (const ir::Check& check : program.checks) {
    bool elsewhere = loads_from(check.lo, tensor) || loads_from(check.hi, tensor);
    for (const ir::IndexVar& v : check.vars) {
      elsewhere |= loads_from(v.lo, tensor) || loads_from(v.hi, tensor);
    }
    if (elsewhere) return std::nullopt;
    if (!loads_from(check.value, tensor)) continue;
    const auto values = passing(check, program, dims);
    if (!values) return std::nullopt;
    all = {std::max(all.lo, values->lo), std::min(all.hi, values->hi)};
    *checked = true;
  }
  return all;
}

/// Calls f(offset) for each element.
template <class F>
void each_element(const jit::TensorView& v, size_t dim, int64_t offset, const F& f) {
  if (dim == v.shape.size()) return f(offset);
  for (int64_t i = 0; i < v.shape[dim]; ++i) {
    each_element(v, dim + 1, offset + i * v.strides[dim], f);
  }
}

/// A xorshift generator: the same numbers wherever this is built.
uint64_t next(uint64_t& state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1du;
}

}  // namespace

FreshData::FreshData(const Fixture& fixture, int64_t last_level) : cold_(fixture.params().size()) {
  const auto& params = fixture.params();
  const auto number = [&](const std::string& name) {
    size_t p = 0;
    while (p < params.size() && fixture.buffer(p).name != name) ++p;
    return p;
  };
  for (size_t p = 0; p < params.size(); ++p) cold_[p] = fixture.buffer(p).cold;
  for (const ir::Stage& stage : fixture.problem().program.stages) {
    ir::visit(stage.value, [&](const ir::Expr& e) {
      const size_t table = e->op == ir::Op::kLoad ? number(e->name) : params.size();
      if (table == params.size() || jit::bytes_of(params[table]) <= last_level) return;
      const size_t dims = e->args.size() - (e->guarded ? 1 : 0);
      for (size_t d = 0; d < dims; ++d) {
        std::vector<ir::Expr> choosers;
        collect_loads(e->args[d], choosers);
        for (const ir::Expr& chooser : choosers) {
          const size_t p = number(chooser->name);
          const bool drawn =
              p < params.size() && add_draw(fixture, p, {e, d, params[table].shape[d]});
          if (!drawn) cold_[table] = true;
        }
      }
    });
  }
  for (size_t p = 0; p < params.size(); ++p) {
    if (cold_[p]) evicted_.push_back({params[p].data, jit::bytes_of(params[p])});
  }
}

bool FreshData::add_draw(const Fixture& fixture, size_t param, const Gather& gather) {
  for (const Draw& known : draws_) {
    if (known.param == param) return true;
  }
  const ir::Buffer& b = fixture.buffer(param);
  const jit::TensorView& view = fixture.params()[param];
  if (b.role != ir::Role::kInput || b.constant || !is_int(view.type)) return false;
  bool checked = false;
  auto values = allowed(b.name, view.type, fixture.problem().program, fixture.dims(), &checked);
  if (!values) return false;
  if (!checked) {
    // Others than elements of the table are there too, where there is an `else`.
    const ir::Expr& index = gather.load->args[gather.dim];
    const ir::Expr& plain = index->op == ir::Op::kCast ? index->args[0] : index;
    if (plain->op != ir::Op::kLoad) return false;
    values = Values{std::max<int64_t>(values->lo, 0), std::min(values->hi, gather.extent - 1)};
  }
  if (values->hi <= values->lo) return false;
  draws_.push_back({param, view, values->lo, values->hi - values->lo + 1, !checked});
  return true;
}

void FreshData::run(const Draw& draw) {
  const auto count = static_cast<unsigned __int128>(draw.count);
  each_element(draw.view, 0, 0, [&](int64_t offset) {
    if (draw.inside) {
      const int64_t now = jit::read_int(draw.view.type, draw.view.data, offset) - draw.lo;
      if (now < 0 || now >= draw.count) return;
    }
    const auto drawn = static_cast<int64_t>((count * next(state_)) >> 64);
    jit::write_int(draw.view.type, draw.view.data, offset, draw.lo + drawn);
  });
}

void FreshData::make(std::span<const MemorySpan> packed) {
  for (const Draw& d : draws_) run(d);
  if (evicted_.empty() && packed.empty()) return;
  evict(evicted_);
  evict(packed);
}

}  // namespace hone::runtime
