// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "ops/import/rows.h"

namespace hone::ops {

ImportRow import_row(std::string_view op_type) {
  static const std::map<std::string_view, ImportRow> kRows = [] {
    std::map<std::string_view, ImportRow> all;
    for (const auto& rows :
         {rows_of_values(), rows_of_products(), rows_of_windows(), rows_of_reductions(),
          rows_of_movement(), rows_of_shapes(), rows_of_places(), rows_of_losses(), rows_of_norms(),
          rows_of_resizing(), rows_of_transposed(), rows_of_signals(), rows_of_quantized(),
          rows_of_scatters(), rows_of_order(), rows_of_recurrent(), rows_of_sampling(),
          rows_of_matrices(), rows_of_grams()}) {
      for (const ImportEntry& e : rows) all[e.op] = e.row;
    }
    return all;
  }();
  if (const auto at = kRows.find(op_type); at != kRows.end()) return at->second;
  return is_elementwise(op_type) ? import_elementwise : nullptr;
}

}  // namespace hone::ops
