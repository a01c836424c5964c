// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace hone::ops {

/// One file of ops/library, as it was when the library was built.
struct StockFile {
  std::string_view name;
  std::string_view text;
};

/// The files of the stock library; generated.
const std::vector<StockFile>& stock_files();

/// The stock op of that name, if there is one; parses that op alone.
std::optional<Op> find_stock(std::string_view name);

/// Names of all stock ops, in the order of their files.
std::vector<std::string_view> stock_names();

}  // namespace hone::ops
