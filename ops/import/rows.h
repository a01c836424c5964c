// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/import/importer.h"

namespace hone::ops {

/// Operators of one expression; elementwise.cpp has a table of them.
bool is_elementwise(std::string_view op);
std::vector<std::string_view> elementwise_operators();
void import_elementwise(const ImportNode& node);

/// Operators with rows of their own, by kind.
struct ImportEntry {
  std::string_view op;
  ImportRow row;
};
std::vector<ImportEntry> rows_of_values();
std::vector<ImportEntry> rows_of_products();
std::vector<ImportEntry> rows_of_windows();
std::vector<ImportEntry> rows_of_reductions();
std::vector<ImportEntry> rows_of_cuts();
std::vector<ImportEntry> rows_of_movement();
std::vector<ImportEntry> rows_of_shapes();
std::vector<ImportEntry> rows_of_places();
std::vector<ImportEntry> rows_of_losses();
std::vector<ImportEntry> rows_of_norms();
std::vector<ImportEntry> rows_of_resizing();
std::vector<ImportEntry> rows_of_transposed();
std::vector<ImportEntry> rows_of_signals();
std::vector<ImportEntry> rows_of_quantized();
std::vector<ImportEntry> rows_of_scatters();
std::vector<ImportEntry> rows_of_order();
std::vector<ImportEntry> rows_of_recurrent();
std::vector<ImportEntry> rows_of_sampling();
std::vector<ImportEntry> rows_of_matrices();
std::vector<ImportEntry> rows_of_grams();
std::vector<ImportEntry> rows_of_grids();
std::vector<ImportEntry> rows_of_casts();
std::vector<ImportEntry> rows_of_remainders();
std::vector<ImportEntry> rows_of_branches();
std::vector<ImportEntry> rows_of_data();

}  // namespace hone::ops
