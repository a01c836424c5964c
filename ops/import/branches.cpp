// SPDX-License-Identifier: Apache-2.0
// Branches whose conditions are known before a call: the nodes of one stand in the graph.
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

void import_if(const ImportNode& node) {
  const std::vector<int64_t>& condition = node.known(0, "conditions");
  if (condition.size() != 1) throw Unsupported{"its condition has several elements"};
  node.importer().enter(node.node(), condition[0] != 0);
}

}  // namespace

std::vector<ImportEntry> rows_of_branches() { return {{"If", import_if}}; }

}  // namespace hone::ops
