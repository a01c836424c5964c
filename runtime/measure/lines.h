// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "jit/ir/program.h"
#include "runtime/measure/domain.h"

namespace hone::runtime {

/// True of a dim along which all elements are one.
bool is_repeated(const ir::Buffer& b, size_t dim, const Domain& domain);

/// Elements of a tensor in memory.
double distinct(const ir::Buffer& b, const Domain& domain);

/// True of an index that is read from data.
bool reads_data(const ir::Expr& index);

/// Elements in memory that an access reads or writes, each once.
double elements_of(const ir::Buffer& b, std::span<const ir::Expr> indices, const Domain& domain);

/// Elements that lie in a row wherever data choose one.
double row_of(const ir::Buffer& b, std::span<const ir::Expr> indices, const Domain& domain);

/// The most elements in one line of `unit` bytes that an access without data reads.
double elements_in_line(const ir::Buffer& b, std::span<const ir::Expr> indices,
                        const Domain& domain, double unit);

}  // namespace hone::runtime
