// SPDX-License-Identifier: Apache-2.0
#include "ops/lower.h"

#include <utility>

#include "ops/arguments.h"
#include "ops/lowering_context.h"
#include "ops/proofs.h"
#include "ops/recurrences.h"
#include "ops/statements.h"

namespace hone::ops {

ir::Program lower(const Definition& d, const Binding& binding, Diagnostics& diagnostics) {
  LoweringContext context(d, binding, diagnostics);
  context.program.dims = binding.ranged;
  Arguments(context).declare_args();
  if (context.failed()) return {};
  Statements statements(context);
  for (const Statement& s : d.statements) statements.lower_statement(s);
  if (diagnostics.failed()) return {};
  Proofs(context).finish_drafts();
  Recurrences(context).form_groups();
  if (diagnostics.failed()) return {};
  return std::move(context.program);
}

}  // namespace hone::ops
