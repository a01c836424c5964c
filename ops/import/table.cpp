// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "ops/import/import.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Operators with rows of their own.
const std::map<std::string_view, ImportRow>& own_rows() {
  static const std::map<std::string_view, ImportRow> kRows = [] {
    std::map<std::string_view, ImportRow> all;
    for (const auto& rows :
         {rows_of_values(),    rows_of_products(),  rows_of_windows(),    rows_of_reductions(),
          rows_of_movement(),  rows_of_cuts(),      rows_of_shapes(),     rows_of_places(),
          rows_of_losses(),    rows_of_norms(),     rows_of_resizing(),   rows_of_transposed(),
          rows_of_signals(),   rows_of_quantized(), rows_of_scatters(),   rows_of_order(),
          rows_of_recurrent(), rows_of_sampling(),  rows_of_matrices(),   rows_of_grams(),
          rows_of_grids(),     rows_of_casts(),     rows_of_remainders(), rows_of_branches(),
          rows_of_data()}) {
      for (const ImportEntry& e : rows) all[e.op] = e.row;
    }
    return all;
  }();
  return kRows;
}

}  // namespace

ImportRow import_row(std::string_view op_type) {
  const auto at = own_rows().find(op_type);
  if (at != own_rows().end()) return at->second;
  return is_elementwise(op_type) ? import_elementwise : nullptr;
}

std::vector<std::string_view> imported_operators() {
  std::vector<std::string_view> names = elementwise_operators();
  for (const auto& [op, row] : own_rows()) names.push_back(op);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace hone::ops
