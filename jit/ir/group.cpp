// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/group.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "jit/ir/carrying_loop.h"
#include "jit/ir/poly.h"
#include "jit/ir/recurrence.h"

namespace hone::ir {
namespace {

/// Per stage: the stages whose tensors it reads. The old value of an inout is nobody's.
std::vector<std::vector<size_t>> writers_of(const Program& program) {
  std::unordered_map<std::string, size_t> makes;
  for (size_t s = 0; s < program.stages.size(); ++s) makes.emplace(program.stages[s].output, s);
  std::vector<std::vector<size_t>> out(program.stages.size());
  for (size_t s = 0; s < program.stages.size(); ++s) {
    each_read(program.stages[s], [&](const Expr& load) {
      const auto at = makes.find(load->name);
      if (at == makes.end()) return;
      const bool old = at->second >= s && program.buffer(load->name)->role == Role::kInOut;
      if (!old) out[s].push_back(at->second);
    });
  }
  return out;
}

bool reads_ahead(const std::vector<std::vector<size_t>>& writers) {
  for (size_t s = 0; s < writers.size(); ++s) {
    if (std::any_of(writers[s].begin(), writers[s].end(), [&](size_t w) { return w > s; })) {
      return true;
    }
  }
  return false;
}

/// Strongly connected components (Tarjan), each in the program's order; every one after those that
/// it reads.
class Components {
 public:
  explicit Components(const std::vector<std::vector<size_t>>& writers)
      : writers_(writers), number_(writers.size(), 0), low_(writers.size(), 0) {
    for (size_t s = 0; s < writers.size(); ++s) {
      if (number_[s] == 0) visit(s);
    }
  }
  const std::vector<std::vector<size_t>>& all() const { return all_; }

 private:
  bool is_open(size_t s) const { return std::find(open_.begin(), open_.end(), s) != open_.end(); }

  void visit(size_t s) {
    number_[s] = low_[s] = ++next_;
    open_.push_back(s);
    for (const size_t w : writers_[s]) {
      if (number_[w] == 0) {
        visit(w);
        low_[s] = std::min(low_[s], low_[w]);
      } else if (is_open(w)) {
        low_[s] = std::min(low_[s], number_[w]);
      }
    }
    if (low_[s] != number_[s]) return;
    const auto from = std::find(open_.begin(), open_.end(), s);
    std::vector<size_t> one(from, open_.end());
    open_.erase(from, open_.end());
    std::sort(one.begin(), one.end());
    all_.push_back(std::move(one));
  }

  const std::vector<std::vector<size_t>>& writers_;
  std::vector<size_t> number_, low_, open_;
  std::vector<std::vector<size_t>> all_;
  size_t next_ = 0;
};

/// The dim of what a stage writes that the index `var` alone is; out_index.size() where there is
/// none.
size_t dim_of(const Stage& stage, const std::string& var) {
  const auto at = std::find_if(stage.out_index.begin(), stage.out_index.end(),
                               [&](const Expr& e) { return e->op == Op::kVar && e->name == var; });
  return static_cast<size_t>(at - stage.out_index.begin());
}

bool has_index(const Stage& stage, const std::string& var) {
  return std::any_of(stage.vars.begin(), stage.vars.end(),
                     [&](const IndexVar& v) { return v.name == var; });
}

/// Chooses the indices of a group that run in order.
class Ordering {
 public:
  Ordering(const Stage& leader, std::vector<GroupRead> reads)
      : leader_(leader), open_(std::move(reads)) {}

  GroupOrder order;

  /// A read that no order serves.
  std::optional<GroupRead> stuck() {
    for (size_t v = 0; v < leader_.vars.size(); ++v) {
      const bool forward = goes(v, 1), backward = !forward && goes(v, -1);
      if (!forward && !backward) continue;
      order.shared.push_back({leader_.vars[v].name, backward});
      std::erase_if(open_,
                    [&](const GroupRead& r) { return r.distance[v] && *r.distance[v] != 0; });
      v = static_cast<size_t>(-1);  // reads that are gone may have stood in another one's way
    }
    for (const GroupRead& r : open_) {
      if (is_ahead(r)) return r;
    }
    return std::nullopt;
  }

 private:
  /// Of what has not been written in the iteration that reads.
  static bool is_ahead(const GroupRead& r) { return r.writer >= r.reader; }

  /// Whether all reads that are left are of the same or an earlier iteration of var `v`. One that
  /// needs an earlier one is among them.
  bool goes(size_t v, int64_t way) const {
    bool any = false;
    for (const GroupRead& r : open_) {
      const auto& step = r.distance[v];
      if (!step && is_ahead(r)) return false;
      if (step && *step * way > 0) return false;
      any |= step && *step != 0 && is_ahead(r);
    }
    return any;
  }

  const Stage& leader_;
  std::vector<GroupRead> open_;
};

}  // namespace

Groups::Groups(const Program& program) : program_(program) {
  const std::vector<std::vector<size_t>> writers = writers_of(program);
  if (!reads_ahead(writers)) return;
  group_of_.assign(program.stages.size(), -1);
  const Components components(writers);
  for (const std::vector<size_t>& one : components.all()) {
    if (one.size() < 2) continue;
    for (const size_t s : one) group_of_[s] = static_cast<int>(groups_.size());
    groups_.push_back({one});
  }
}

const Group* Groups::of(size_t stage) const {
  if (groups_.empty() || group_of_[stage] < 0) return nullptr;
  return &groups_[static_cast<size_t>(group_of_[stage])];
}

bool Groups::together(size_t a, size_t b) const { return of(a) && of(a) == of(b); }

GroupRead Groups::read(const Group& group, size_t reader, size_t writer, const Expr& load) const {
  GroupRead out{reader, writer, load, {}};
  const Stage &from = program_.stages[reader], &to = program_.stages[writer];
  for (const IndexVar& v : program_.stages[group.leader()].vars) {
    std::optional<int64_t> apart;
    const size_t d = dim_of(to, v.name);
    if (d < to.out_index.size() && has_index(from, v.name)) {
      const Poly gap = Poly::of(load->args[d]) - Poly::of(make_var(v.name));
      if (gap.is_constant() && !gap.wraps()) apart = gap.constant();
    }
    if (apart && v.backward) apart = -*apart;
    out.distance.push_back(apart);
  }
  return out;
}

std::vector<GroupRead> Groups::reads(const Group& group) const {
  std::vector<GroupRead> out;
  for (const size_t reader : group.stages) {
    const Stage& stage = program_.stages[reader];
    each_read(stage, [&](const Expr& load) {
      for (const size_t writer : group.stages) {
        if (program_.stages[writer].output != load->name) continue;
        const bool old = writer >= reader && program_.buffer(load->name)->role == Role::kInOut;
        if (!old) out.push_back(read(group, reader, writer, load));
      }
    });
  }
  return out;
}

/// The loops of its leader that a stage stands in.
size_t Groups::depth_of(const Group& group, size_t stage) const {
  const Stage& leader = program_.stages[group.leader()];
  if (stage == group.leader()) return leader.loops.size();
  for (const Stage* s = &program_.stages[stage]; s && !s->at.root();) {
    if (s->at.stage == leader.name) {
      const auto at = std::find_if(leader.loops.begin(), leader.loops.end(),
                                   [&](const Loop& l) { return l.name == s->at.loop; });
      return at == leader.loops.end() ? 0 : static_cast<size_t>(at - leader.loops.begin()) + 1;
    }
    s = program_.stage(s->at.stage);
  }
  return 0;
}

bool Groups::carried(size_t reader, const Expr& load) const {
  const Group* group = of(reader);
  if (!group) return false;
  for (const size_t writer : group->stages) {
    if (program_.stages[writer].output != load->name) continue;
    const GroupRead r = read(*group, reader, writer, load);
    CarryingLoop loops(program_.stages[group->leader()], r.distance,
                       std::min(depth_of(*group, reader), depth_of(*group, writer)));
    return writer >= reader || (loops.broken().empty() && loops.carrier());
  }
  return false;
}

bool Groups::is_carried(size_t stage) const {
  const Group* group = of(stage);
  if (!group) return false;
  const std::vector<GroupRead> all = reads(*group);
  return std::any_of(all.begin(), all.end(), [&](const GroupRead& r) {
    return r.writer == stage && carried(r.reader, r.load);
  });
}

Result<GroupOrder, GroupRead> Groups::order(const Group& group) const {
  const Stage& leader = program_.stages[group.leader()];
  std::vector<GroupRead> all = reads(group);
  // Directions are found anew.
  for (GroupRead& r : all) {
    for (size_t v = 0; v < leader.vars.size(); ++v) {
      if (leader.vars[v].backward && r.distance[v]) r.distance[v] = -*r.distance[v];
    }
  }
  Ordering found(leader, all);
  if (auto stuck = found.stuck()) return *std::move(stuck);
  GroupOrder& order = found.order;
  const auto position = [&](const std::string& var) {
    return static_cast<size_t>(std::find_if(leader.vars.begin(), leader.vars.end(),
                                            [&](const IndexVar& v) { return v.name == var; }) -
                               leader.vars.begin());
  };
  // Inside a loop each iteration computes a part, so its readers there are to want that part.
  for (const size_t stage : group.stages) {
    size_t depth = 0;
    std::vector<GroupRead> same;
    std::copy_if(all.begin(), all.end(), std::back_inserter(same),
                 [&](const GroupRead& r) { return r.writer == stage || r.reader == stage; });
    for (; depth < order.shared.size(); ++depth) {
      const size_t v = position(order.shared[depth].var);
      const bool known = std::all_of(same.begin(), same.end(),
                                     [&](const GroupRead& r) { return r.distance[v].has_value(); });
      if (stage != group.leader() && !known) break;
      std::erase_if(same, [&](const GroupRead& r) { return r.distance[v] && *r.distance[v] != 0; });
    }
    if (depth == 0) return same.front();
    order.depth.push_back(depth);
  }
  for (size_t v = 0; v < leader.vars.size(); ++v) {
    const bool apart = std::all_of(all.begin(), all.end(),
                                   [&](const GroupRead& r) { return is_same(r.distance[v]); });
    if (apart) order.chains.push_back(leader.vars[v].name);
  }
  return std::move(order);
}

/// What one thread writes another one would read in a later iteration, and nobody waits.
std::optional<Reject> Groups::torn_apart(const Group& group) const {
  const Stage& leader = program_.stages[group.leader()];
  size_t around = leader.loops.size();
  for (const size_t s : group.stages) around = std::min(around, depth_of(group, s));
  for (size_t s = 0; s < program_.stages.size(); ++s) {
    if (s != group.leader() && depth_of(group, s) == 0) continue;
    const Stage& stage = program_.stages[s];
    for (size_t l = s == group.leader() ? around : 0; l < stage.loops.size(); ++l) {
      const Loop& loop = stage.loops[l];
      if (!is_block(loop.mark) && !is_thread(loop.mark)) continue;
      Reject reject("loop " + loop.name + " of " + stage.name +
                    " is for threads, inside a loop of " + leader.name +
                    " whose iterations read what earlier ones write; bind loops "
                    "around it");
      reject.stage = stage.name;
      reject.loop = loop.name;
      return reject;
    }
  }
  return std::nullopt;
}

std::optional<Reject> Groups::broken() const {
  for (const Group& group : groups_) {
    if (auto why = torn_apart(group)) return why;
    for (const GroupRead& r : reads(group)) {
      if (auto why = broken(group, r)) return why;
    }
  }
  return std::nullopt;
}

std::optional<Reject> Groups::broken(const Group& group, const GroupRead& r) const {
  const Stage &leader = program_.stages[group.leader()], &reader = program_.stages[r.reader],
              &writer = program_.stages[r.writer];
  const auto rejected = [&](const std::string& why, const Stage& stage, const std::string& loop) {
    Reject reject((loop.empty() ? "" : "loop " + loop + ": ") + "stage " + reader.name + " reads " +
                  print(r.load) + ", which depends on " + reader.name + " in turn, and " + why);
    reject.stage = stage.name;
    reject.loop = loop;
    return reject;
  };
  if (!leader.at.root() || leader.reduce != Reduce::kNone) {
    return rejected(leader.name + ", the last of them, is to be at the root and to reduce nothing",
                    leader, "");
  }
  for (const Stage* s : {&reader, &writer}) {
    const size_t index = program_.stages.index_of(*s);
    if (depth_of(group, index) > 0 || leader.loops.empty()) continue;
    return rejected(s->name + " is to be computed inside a loop of " + leader.name +
                        ", the last of "
                        "them",
                    *s, "");
  }
  const size_t inner = depth_of(group, r.writer);
  CarryingLoop order(leader, r.distance, std::min(depth_of(group, r.reader), inner));
  if (const std::string why = order.broken(); !why.empty()) {
    return rejected(why, leader, order.at_loop() ? order.loop() : "");
  }
  if (!order.carrier()) {
    if (r.writer >= r.reader) {
      return rejected("no loop around both runs from what is read to what is written", leader, "");
    }
    if (depth_of(group, r.reader) >= inner) return std::nullopt;
    return rejected(writer.name + " is computed inside of what reads it", writer, "");
  }
  const Buffer& kept = *program_.buffer(writer.output);
  if (writer.at.root() || kept.role != Role::kTemp || kept.space == Space::kRoot) {
    return std::nullopt;
  }
  return rejected(
      writer.output + " is not kept from one iteration to the next; keep it at the root", writer,
      "");
}

std::optional<GroupRead> form_groups(Program& program) {
  const std::vector<std::vector<size_t>> writers = writers_of(program);
  if (!reads_ahead(writers)) return std::nullopt;
  const Components components(writers);
  CowVector<Stage> stages;
  for (const std::vector<size_t>& one : components.all()) {
    for (const size_t s : one) stages.push_back(program.stages[s]);
  }
  program.stages = std::move(stages);
  const Groups groups(program);
  for (const Group& group : groups.all()) {
    const auto order = groups.order(group);
    if (!order) return order.failure();
    Stage& leader = program.stages.edit(group.leader());
    std::vector<Loop> loops;
    for (const GroupOrder::Shared& shared : order->shared) {
      loops.push_back({shared.var});
      for (IndexVar& v : leader.vars) {
        if (v.name == shared.var) v.backward = shared.backward;
      }
    }
    for (const Loop& l : leader.loops) {
      const auto taken = [&](const Loop& other) { return other.name == l.name; };
      if (std::none_of(loops.begin(), loops.end(), taken)) loops.push_back(l);
    }
    leader.loops = std::move(loops);
    for (size_t s = 0; s + 1 < group.stages.size(); ++s) {
      program.stages.edit(group.stages[s]).at = {leader.name,
                                                 order->shared[order->depth[s] - 1].var};
    }
  }
  if (!groups.broken()) return std::nullopt;
  return groups.reads(groups.all().front()).front();
}

}  // namespace hone::ir
