// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/space/analysis/gpu_product.h"
#include "schedules/steps/tensor.h"

namespace hone::schedules {

/// A GEMM, by an instruction on tiles or without one: what the steps of the rules name.
struct Gemm {
  const ir::Instruction* row = nullptr;
  std::string name;                 ///< the stage that stores the results
  std::string product;              ///< the stage that sums; `name` where it stores its own
  std::string tile;                 ///< the stage of the tile, once it is placed
  Product of;                       ///< in the variables of `product`
  std::string m, n;                 ///< the owner's variables
  std::vector<std::string> others;  ///< the owner's
  int64_t count = 1;                ///< products: iterations of `others`
};

/// The product that `name` stores, by mma: `row` is what instruction_for() finds. Where there is
/// none it is null, and `of.missing` says why.
Gemm mma_product(const Plan& plan, const std::string& name);

/// The same by wgmma, which takes tiles side by side. Where only one side has as many results as
/// the instruction has rows, that side is `m`.
Gemm wgmma_product(const Plan& plan, const std::string& name);

/// The same by scalar instructions; where there is no product, `of.m` is empty and `of.missing`
/// says why.
Gemm simt_product(const Plan& plan, const std::string& name);

/// Puts the tile at a loop of the owner, in registers that lanes hold together or each its own.
bool place_tile(Plan& plan, Gemm& t, const std::string& loop, ir::Space in = ir::Space::kWarp);

/// The dims of a tensor, the one whose neighbours lie together last; those of one element first.
std::vector<size_t> by_stride(const Plan& plan, const ir::Buffer& buffer);

/// The dim of a factor that moves with `var`, `d1`; "": none.
std::string dim_along(const ir::Expr& load, const std::string& var);

/// The factor that `m` of the product indexes, and the other; null where they are not two tensors.
Factors factors_by_side(const Plan& plan, const Gemm& t);
/// Why they are not.
std::string no_factors(const Plan& plan, const Gemm& t);

}  // namespace hone::schedules
