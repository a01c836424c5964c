// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/build.h"

#include "jit/ir/visit.h"

namespace hone::ir {

StmtRef with_body(const Stmt& s, std::vector<StmtRef> body) {
  return visit(s, [&](auto copy) {
    copy.body = std::move(body);
    return make_stmt(std::move(copy));
  });
}

StmtRef make_sequence(std::vector<StmtRef> body) {
  SequenceStmt s;
  s.body = std::move(body);
  return make_stmt(std::move(s));
}

StmtRef make_body(std::vector<StmtRef> body) {
  return body.size() == 1 ? std::move(body[0]) : make_sequence(std::move(body));
}

StmtRef make_for(int loop, Mark mark, Expr begin, Expr end, std::vector<StmtRef> body) {
  ForStmt s;
  s.loop = loop;
  s.mark = mark;
  s.begin = std::move(begin);
  s.end = std::move(end);
  s.body = std::move(body);
  return make_stmt(std::move(s));
}

StmtRef make_if(Expr condition, StmtRef then, StmtRef otherwise) {
  IfStmt s;
  s.condition = std::move(condition);
  s.body.push_back(std::move(then));
  if (otherwise) s.body.push_back(std::move(otherwise));
  return make_stmt(std::move(s));
}

StmtRef make_store(int buffer, Expr offset, Expr value, Reduce reduce) {
  StoreStmt s;
  s.buffer = buffer;
  s.offset = std::move(offset);
  s.value = std::move(value);
  s.reduce = reduce;
  return make_stmt(std::move(s));
}

StmtRef make_prefetch(int buffer, Expr offset) {
  PrefetchStmt s;
  s.buffer = buffer;
  s.offset = std::move(offset);
  return make_stmt(std::move(s));
}

StmtRef make_check(Expr condition, Expr position) {
  CheckStmt s;
  s.condition = std::move(condition);
  s.position = std::move(position);
  return make_stmt(std::move(s));
}

}  // namespace hone::ir
