// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "jit/cuda/narrow.h"
#include "jit/cuda/print_kernel.h"
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

Result<CudaSource, ir::Reject> print_cuda(const Nest& given, const Target& target,
                                          const CudaForms& forms) {
  const Nest nest = with_kept_loads(given);
  CudaSource out;
  out.slots = nest.slots;
  out.slot_align.assign(static_cast<size_t>(nest.slots), 1);
  CudaNames names;
  names.nest = &nest;
  for (const Dim& d : nest.dims) names.facts.define_dim(d.name, d.lo, d.hi);
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
      names.wide = needs_wide_indices(nest, l, names.facts);
      out.kernels += print_kernel({nest, l, names, made, out.slot_align, target, forms});
      for (Expr& g : made.grid) {
        if (!g) g = make_int(1);
      }
      out.launches.push_back(std::move(made));
    }
  } catch (ir::Reject& why) {
    why.kind = ir::Reject::kRefused;
    return std::move(why);
  }
  if (target.ptx != 0 && needs_sm90a(out.kernels)) {
    return ir::Reject(
        "the kernels have what only machine code for one GPU may have, boxes that go to "
        "all blocks of a cluster or registers that warps give each other; " +
            print(target) + " has none" + newer_compiler_hint(target, true),
        ir::Reject::kRefused);
  }
  return out;
}

}  // namespace hone::jit
