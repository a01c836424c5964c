// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jit/ir/nest.h"
#include "jit/ir/target.h"
#include "jit/native/code_writer.h"
#include "jit/x86/select/value.h"

namespace hone::jit {

/// Callbacks to the root: a part hands on statements that are not its subject.
class Root {
 public:
  virtual void walk(const ir::Stmt& s) = 0;
  /// The expression in all lanes.
  virtual Value value(const ir::Expr& e) = 0;
  /// An integer or bool in a general register, the same in all lanes.
  virtual Reg integer(const ir::Expr& e) = 0;

 protected:
  ~Root() = default;
};

/// A listener whose state follows the scopes of the code.
class ScopeListener {
 public:
  /// A scope was opened; buffers of `written` are stored to inside.
  virtual void opened(Scope::Kind /*kind*/, uint64_t /*written*/) {}
  /// The scope at `depth` was closed.
  virtual void closed(int depth, uint64_t written) = 0;

 protected:
  ~ScopeListener() = default;
};

/// Shared by all parts of selection: the nest, the code so far, the position in the nest, and the
/// failure.
struct Context {
  Context(const ir::Nest& nest, const ir::Launch& launch, const ir::Target& target);

  const ir::Nest& nest;
  const ir::Launch& launch;
  const ir::Target& target;
  const ir::ArgsLayout layout;

  CodeWriter code;
  Reg args, begin, end, scratch;
  Lanes lanes;
  std::vector<Binding> bindings;  ///< by loop number
  Root* root = nullptr;
  std::vector<ScopeListener*> listeners;

  /// Opens a scope in which buffers of `written` are stored to.
  void open(Scope::Kind kind, uint64_t written, bool certain);
  Scope close();
};

}  // namespace hone::jit
