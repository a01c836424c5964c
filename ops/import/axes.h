// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/import/importer.h"

namespace hone::ops {

/// How a node's input is gone over: some of its dims are reduced, the others stay.
struct Axes {
  std::vector<bool> reduced;  ///< per dim
  std::string all;            ///< declared dims of the input, `D0,D1,D2`
  std::string at;             ///< indices with reduced ones as `r1`
  std::string plain;          ///< indices of all dims, `i0,i1,i2`
  std::string over;           ///< the reduced indices, `r1`
  std::string kept;           ///< indices of dims that stay, `i0,i2`
  std::string count;          ///< reduced elements, `D1`

  Axes(const ImportValue& x, std::vector<bool> which);
  bool none() const { return over.empty(); }
};

/// The axes that a reduction names: an attribute, later an input.
std::vector<bool> reduced_axes(const ImportNode& node);

/// A number of elements, in the type of arithmetic on a value.
std::string counted(const ImportValue& x, const std::string& count);

/// The shape of a reduction's result, with its declaration and indices.
struct Reduced {
  ImportShape shape;
  std::string dims, at;
};
Reduced reduced_shape(const ImportValue& x, const Axes& axes, bool keep);

}  // namespace hone::ops
