// SPDX-License-Identifier: Apache-2.0
// Launches whose blocks run in clusters: they begin when the mbarriers of all blocks are made. They
// leave together, since others write to a block's memory and arrive at its mbarriers.
#include "jit/cuda/print_clusters.h"

#include <fmt/format.h>

namespace hone::jit {

using namespace ir;

namespace {

/// Whether a statement finds in a tensor where to read or write another, or how often to run.
bool follows_data(const Stmt& s) {
  bool found = false;
  const auto look = [&](const Expr& at) { found |= mentions_load(at); };
  const auto look_inside = [&](const Expr& e) {
    visit(e, [&](const Expr& x) {
      if (x->op == Op::kLoad) look(x->args[0]);
    });
  };
  const auto steers = [&](const auto& x) { each_expr(x, look); };
  visit(s, Overloaded{
               [&](const StoreStmt& x) {
                 look(x.offset);
                 look_inside(x.value);
               },
               [&](const IfStmt& x) { look_inside(x.condition); },
               [&](const CheckStmt& x) {
                 look_inside(x.condition);
                 look_inside(x.position);
               },
               [&](const ForStmt& x) { steers(x); },
               [&](const PrefetchStmt& x) { steers(x); },
               [&](const TmaCopyStmt& x) { steers(x); },
               [](const SequenceStmt&) {},
               [](const GpuStmt&) {},
           });
  return found;
}

}  // namespace

/// Blocks of a cluster along each axis.
void ClusterPrinter::measure_cluster() {
  const auto along = [&](Mark mark, int blocks) {
    if (blocks == 1) return;
    cluster_ = blocks;
    out_.cluster[static_cast<size_t>(axis_of(mark))] = blocks;
  };
  along(launch_.mark, launch_.cluster);
  each_stmt(*launch_.body, [&](const Stmt& s) {
    if (const auto* loop = as<ForStmt>(s)) along(loop->mark, loop->gpu.cluster);
  });
}

/// Requires that the grid has whole clusters, and that the launch does not depend on data checked
/// by an earlier launch. If that stopped it, blocks of a cluster would leave one by one.
void ClusterPrinter::check_cluster(bool checks) const {
  if (cluster_ == 1) return;
  each_stmt(*launch_.body, [&](const Stmt& s) {
    if (checks || !follows_data(s)) return;
    throw ir::Reject{fmt::format(
        "launch {} runs in clusters and reads where data that an earlier launch checks say; leave "
        "out cluster",
        launch_.name)};
  });
  for (size_t a = 0; a < 3; ++a) {
    if (out_.cluster[a] == 1) continue;
    if (is_multiple(Poly::of(out_.grid[a], &n_.facts), out_.cluster[a])) continue;
    throw ir::Reject{fmt::format(
        "launch {} has {} blocks along an axis where clusters have {}, which must divide them; "
        "bind one loop to the axis",
        launch_.name, ir::print(out_.grid[a]), out_.cluster[a])};
  }
}

/// Until all blocks are here. What they show one another are mbarriers, which have a fence of their
/// own, and that they are done.
std::string ClusterPrinter::meet_cluster() const {
  const char* arrive = forms_.fenced_cluster ? "cluster_arrive" : "cluster_arrive_relaxed";
  return fmt::format("  {}();\n  cluster_wait();\n", arrive);
}

/// Lanes of a warp come here by different ways.
std::string ClusterPrinter::leave_cluster() const { return "  warp_barrier();\n" + meet_cluster(); }

}  // namespace hone::jit
