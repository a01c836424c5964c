// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/print_kernel.h"

#include <utility>

#include "jit/cuda/print_launch.h"

namespace hone::jit {

namespace {

/// The parts of one kernel's printing, in the order in which they build on one another.
class KernelPrinter final : public KernelRoot {
 public:
  explicit KernelPrinter(KernelContext context) : context_(std::move(context)) {
    context_.root = this;
  }
  std::string print() { return launch_printer_.print(); }

 private:
  void emit(const ir::Stmt& s, ThreadScope& scope) override { launch_printer_.emit(s, scope); }
  void emit_store(const ir::StoreStmt& s) override { launch_printer_.emit_store(s); }
  void emit_serial(const ir::ForStmt& s, ThreadScope& scope) override {
    launch_printer_.emit_serial(s, scope);
  }
  int open_loop(const ir::ForStmt& s) override { return launch_printer_.open_loop(s); }

  KernelContext context_;
  TilePrinter tiles_{context_};
  ClusterPrinter clusters_{context_};
  TmaPrinter tma_{context_, clusters_};
  LaneAccess lane_access_{context_};
  CopyPrinter copies_{context_, lane_access_};
  VectorPrinter vector_printer_{context_, lane_access_, copies_};
  ThreadPrinter threads_{context_, tiles_, vector_printer_};
  LaunchPrinter launch_printer_{context_, tiles_,          clusters_, tma_,
                                copies_,  vector_printer_, threads_};
};

}  // namespace

std::string print_kernel(KernelContext context) {
  return KernelPrinter(std::move(context)).print();
}

}  // namespace hone::jit
