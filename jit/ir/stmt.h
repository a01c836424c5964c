// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "include/hone/error.h"
#include "jit/ir/gpu_loop.h"
#include "jit/ir/program.h"

namespace hone::ir {

/// Kinds of statements: a struct each, here or in gpu.h.
enum class StmtKind : uint8_t {
  kSequence,
  kFor,
  kIf,
  kStore,
  kPrefetch,
  kCheck,
  // of a GPU
  kTeam,
  kBarrier,
  kCopyCommit,
  kCopyWait,
  kWgmmaFence,
  kWgmmaCommit,
  kWgmmaWait,
  kTmaCopy,
  kFill,
  kReady,
  kRelease,
};

struct Stmt;
using StmtRef = std::shared_ptr<const Stmt>;

/// A statement of a lowered program: an immutable value, shared. Besides the statements
/// inside it, each kind has members of its own; visit() in visit.h tells kinds apart.
struct Stmt {
  StmtKind kind;
  std::vector<StmtRef> body;  ///< statements inside, in order

 protected:
  explicit Stmt(StmtKind k) : kind(k) {}
  // A copy as a plain Stmt would lose what its kind holds.
  Stmt(const Stmt&) = default;
  Stmt(Stmt&&) = default;
  Stmt& operator=(const Stmt&) = default;
  Stmt& operator=(Stmt&&) = default;
  ~Stmt() = default;
};

/// A statement of one kind. `kExprs` are its expressions, as pointers to members.
template <StmtKind kOwn, class Base = Stmt>
struct StmtOf : Base {
  static constexpr StmtKind kKind = kOwn;
  static constexpr std::tuple<> kExprs{};

 protected:
  StmtOf() : Base(kOwn) {}
};

/// Runs its body in order.
struct SequenceStmt : StmtOf<StmtKind::kSequence> {};

/// Runs its body for loop number `loop` from `begin` to `end` (exclusive), step 1.
struct ForStmt : StmtOf<StmtKind::kFor> {
  int loop = -1;
  Mark mark = Mark::kSerial;
  Expr begin, end;
  bool scan = false;  ///< of a vector loop: iterations go on from one another
  const Instruction* instruction = nullptr;  ///< of a loop marked kTensor
  GpuFor gpu;
  static constexpr auto kExprs = std::make_tuple(&ForStmt::begin, &ForStmt::end);
};

/// Runs then() where `condition` (bool) holds, else otherwise() where there is one.
struct IfStmt : StmtOf<StmtKind::kIf> {
  Expr condition;
  const Stmt& then() const { return *body[0]; }
  const Stmt* otherwise() const { return body.size() > 1 ? body[1].get() : nullptr; }
  static constexpr auto kExprs = std::make_tuple(&IfStmt::condition);
};

/// buffer[offset] = value, or with `reduce`: combine(buffer[offset], value).
struct StoreStmt : StmtOf<StmtKind::kStore> {
  int buffer = -1;
  Expr offset;  ///< in elements
  Expr value;
  Reduce reduce = Reduce::kNone;
  bool async = false;  ///< of a load as it is: may land as late as at the wait for its group
  static constexpr auto kExprs = std::make_tuple(&StoreStmt::offset, &StoreStmt::value);
};

/// Asks for the cache line of element `offset` of a buffer; never faults.
struct PrefetchStmt : StmtOf<StmtKind::kPrefetch> {
  int buffer = -1;
  Expr offset;
  static constexpr auto kExprs = std::make_tuple(&PrefetchStmt::offset);
};

/// Unless `condition` holds: status = min(status, position).
struct CheckStmt : StmtOf<StmtKind::kCheck> {
  Expr condition;
  Expr position;
  static constexpr auto kExprs = std::make_tuple(&CheckStmt::condition, &CheckStmt::position);
};

/// Whether a statement is of one of the kinds.
template <class... T>
bool is(const Stmt& s) {
  return ((s.kind == T::kKind) || ...);
}

/// The statement as one of kind T; null where it is of another.
template <class T>
const T* as(const Stmt& s) {
  return is<T>(s) ? static_cast<const T*>(&s) : nullptr;
}

/// The statement as one of kind T, which it is.
template <class T>
const T& to(const Stmt& s) {
  if (!is<T>(s)) throw InternalError("a statement is of another kind");
  return static_cast<const T&>(s);
}

/// The statement as a shared, immutable value.
template <class T>
StmtRef make_stmt(T s) {
  return std::make_shared<const T>(std::move(s));
}

}  // namespace hone::ir
