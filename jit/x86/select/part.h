// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "jit/x86/encode/instructions.h"
#include "jit/x86/select/context.h"

namespace hone::jit {

/// A part of selection: one subject with the state that is its own, over the shared context.
class SelectionPart {
 public:
  SelectionPart(const SelectionPart&) = delete;
  SelectionPart& operator=(const SelectionPart&) = delete;

 protected:
  explicit SelectionPart(Context& context)
      : context_(context),
        code_(context.code),
        lanes_(context.lanes),
        bindings_(context.bindings),
        nest_(context.nest),
        target_(context.target) {}
  ~SelectionPart() = default;

  /// Gives the launch up: throws an ir::Reject, which select() returns.
  [[noreturn]] static void refuse(std::string why);

  /// True where AVX-512 is: masks in registers of their own, vectors of 64 bytes.
  bool wide() const { return target_.has(ir::Isa::kAvx512); }
  /// Bytes of a vector of the lanes at hand.
  int width(DType type) const;
  /// The type of a buffer's elements as registers hold them before `loaded` and after `stored`:
  /// bools are bytes.
  DType element_type(int buffer) const;
  /// Where the call's arguments have a slot.
  Mem argument(int slot) const;
  Reg constant_gpr(int64_t value);

  Value value(const ir::Expr& e) { return context_.root->value(e); }
  Reg integer(const ir::Expr& e) { return context_.root->integer(e); }
  void walk(const ir::Stmt& s) { context_.root->walk(s); }
  void walk_body(const ir::Stmt& s) {
    for (const ir::StmtRef& child : s.body) walk(*child);
  }

  /// Buffers that the statement stores to, see Scope::written.
  uint64_t written_by(const ir::Stmt& s) const;
  void open(Scope::Kind kind, uint64_t written, bool certain = true) {
    context_.open(kind, written, certain);
  }
  Scope close() { return context_.close(); }
  /// Runs `body` in a scope of its own, whose code follows what there is.
  template <class Body>
  void inside(Scope::Kind kind, uint64_t written, bool certain, const Body& body) {
    open(kind, written, certain);
    body();
    const Scope done = close();
    code_.splice(code_.top().body, done.pre);
    code_.splice(code_.top().body, done.body);
  }
  /// The same for code that a branch around it may skip.
  template <class Body>
  void branch(uint64_t written, const Body& body) {
    inside(Scope::kBranch, written, false, body);
  }
  /// Runs `body` with one lane: the vector loop's variable has the value of lane `i`.
  template <class Body>
  void at_lane(int i, const Body& body) {
    const Lanes outer = lanes_;
    Binding saved;
    if (outer.loop >= 0) {
      saved = bindings_[outer.loop];
      bindings_[outer.loop] = {true, 0, saved.at(i)};
    }
    lanes_ = {};
    body();
    lanes_ = outer;
    if (outer.loop >= 0) bindings_[outer.loop] = saved;
  }

  Context& context_;
  CodeWriter& code_;
  Lanes& lanes_;
  std::vector<Binding>& bindings_;  ///< by loop number
  const ir::Nest& nest_;
  const ir::Target& target_;
};

}  // namespace hone::jit
