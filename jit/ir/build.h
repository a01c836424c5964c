// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/stmt.h"

namespace hone::ir {

/// The statements one after the other.
StmtRef make_sequence(std::vector<StmtRef> body);
/// One statement that does what `body` does: the only one of it, or a sequence.
StmtRef make_body(std::vector<StmtRef> body);
/// Loop number `loop` over `begin` to `end` (exclusive).
StmtRef make_for(int loop, Mark mark, Expr begin, Expr end, std::vector<StmtRef> body);
/// `otherwise` may be null.
StmtRef make_if(Expr condition, StmtRef then, StmtRef otherwise = nullptr);
/// buffer[offset] = value, or combined with what is there by `reduce`.
StmtRef make_store(int buffer, Expr offset, Expr value, Reduce reduce = Reduce::kNone);
StmtRef make_prefetch(int buffer, Expr offset);
/// Unless `condition` holds, the status becomes at most `position`.
StmtRef make_check(Expr condition, Expr position);

}  // namespace hone::ir
