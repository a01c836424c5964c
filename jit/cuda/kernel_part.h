// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jit/cuda/forms.h"
#include "jit/cuda/print_value.h"
#include "jit/cuda/source.h"
#include "jit/ir/nest.h"
#include "jit/ir/target.h"
#include "jit/ir/visit.h"

namespace hone::jit {

/// Calls `f` on `s` and all statements inside it; what a TMA copy means is not run.
template <class F>
void each_stmt(const ir::Stmt& s, const F& f) {
  f(s);
  if (ir::is<ir::TmaCopyStmt>(s)) return;
  for (const ir::StmtRef& b : s.body) each_stmt(*b, f);
}

/// The type of the prelude that combines as `r` does: `Sum`.
const char* combiner(ir::Reduce r);

/// What holds where a statement stands.
struct ThreadScope {
  std::vector<std::string> only;  ///< conditions that a thread must meet, for lack of an `if`
  std::set<int> loops;            ///< thread loops that are open, of the block's
  std::set<int> axes;             ///< their axes
};
ThreadScope without_conditions(ThreadScope scope);

/// All threads of a block must come by: it has a barrier inside, or combines threads.
bool collective(const ir::Stmt& s);
bool depends(const ir::Expr& e, const ThreadScope& scope);

/// Whose part of the launch is being printed.
enum class ThreadRole : uint8_t { kAll, kProducer, kConsumer };

/// Callbacks to the root: a part hands on statements that are not its subject.
class KernelRoot {
 public:
  virtual void emit(const ir::Stmt& s, ThreadScope& scope) = 0;
  virtual void emit_store(const ir::StoreStmt& s) = 0;
  virtual void emit_serial(const ir::ForStmt& s, ThreadScope& scope) = 0;
  virtual int open_loop(const ir::ForStmt& s) = 0;

 protected:
  ~KernelRoot() = default;
};

/// Shared by all parts of a kernel's printing: the input, the text so far, and what the text needs.
struct KernelContext {
  const ir::Nest& nest;
  const ir::Launch& launch;
  CudaNames& names;
  CudaLaunch& out;
  std::vector<int64_t>& slot_align;  ///< CudaSource::slot_align
  const ir::Target& target;
  const CudaForms& forms;

  KernelRoot* root = nullptr;
  std::string body = {};
  int depth = 1;
  int vectors = 0;  ///< that were given names
  ThreadRole role = ThreadRole::kAll;
  int consumers = 0;           ///< threads, where others fill pipes
  int producer_axis = 0;       ///< along which those stand; 0: there are none
  std::set<int> unbound = {};  ///< thread loops that producers do not run
  bool copies_async = false;   ///< the launch has copies that the GPU makes by itself
  std::set<int> used = {};     ///< buffers
  std::set<const ir::NestBuffer*> written = {};
  std::map<std::string, int64_t> parts = {};  ///< bytes of what combine_threads shares, by types
};

/// A part of a kernel's printing: one subject with the state that is its own.
class KernelPart {
 public:
  KernelPart(const KernelPart&) = delete;
  KernelPart& operator=(const KernelPart&) = delete;

 protected:
  using Print = std::function<void()>;

  explicit KernelPart(KernelContext& context)
      : context_(context),
        nest_(context.nest),
        launch_(context.launch),
        n_(context.names),
        out_(context.out),
        target_(context.target),
        forms_(context.forms),
        used_(context.used),
        written_(context.written),
        role_(context.role),
        vectors_(context.vectors) {}
  ~KernelPart() = default;

  void line(const std::string& text);
  void open(const std::string& text);
  void close();
  /// Tells that the expression is printed.
  void note(const ir::Expr& e);
  /// The kernel counts on the alignment of what the call passes.
  void rely_on(int buffer, int64_t bytes);
  const std::string& loop(int id) const { return n_.loops[static_cast<size_t>(id)]; }
  int threads() const { return out_.block[0] * out_.block[1] * out_.block[2]; }
  bool own(int buffer) const;
  /// Runs `f` inside an `if` of the scope's conditions.
  void conditional(const ThreadScope& scope, const Print& f);
  /// A leaf under the scope's conditions; what goes to memory, by one thread of those along axes
  /// that it does not loop over.
  void guarded(const ThreadScope& scope, const ir::Stmt& s, const Print& f);

  void emit(const ir::Stmt& s, ThreadScope& scope) { context_.root->emit(s, scope); }
  void emit_store(const ir::StoreStmt& s) { context_.root->emit_store(s); }
  void emit_serial(const ir::ForStmt& s, ThreadScope& scope) {
    context_.root->emit_serial(s, scope);
  }
  int open_loop(const ir::ForStmt& s) { return context_.root->open_loop(s); }
  void emit_all(const ir::Stmt& s, ThreadScope& scope) {
    for (const ir::StmtRef& b : s.body) emit(*b, scope);
  }

  KernelContext& context_;
  const ir::Nest& nest_;
  const ir::Launch& launch_;
  CudaNames& n_;
  CudaLaunch& out_;
  const ir::Target& target_;
  const CudaForms& forms_;
  std::set<int>& used_;
  std::set<const ir::NestBuffer*>& written_;
  ThreadRole& role_;
  int& vectors_;
};

}  // namespace hone::jit
