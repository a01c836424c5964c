// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/recurrence.h"

#include <algorithm>

#include "jit/ir/carrying_loop.h"
#include "jit/ir/group.h"
#include "jit/ir/poly.h"

namespace hone::ir {
namespace {

using Distance = std::vector<std::optional<int64_t>>;

Distance distance_of(const Stage& stage, const Expr& load) {
  Distance out;
  for (const IndexVar& v : stage.vars) {
    std::optional<int64_t> apart;
    int64_t extent = 0;
    if (!v.lo && is_const(v.hi, &extent) && extent == 1) apart = 0;
    for (size_t d = 0; d < stage.out_index.size() && d < load->args.size(); ++d) {
      const Expr& written = stage.out_index[d];
      if (written->op != Op::kVar || written->name != v.name) continue;
      const Poly gap = Poly::of(load->args[d]) - Poly::of(written);
      if (gap.is_constant() && !gap.wraps()) apart = gap.constant();
    }
    if (apart && v.backward) apart = -*apart;
    out.push_back(apart);
  }
  return out;
}

bool is_number(const Expr& e) { return e->op == Op::kFloat || e->op == Op::kInt; }

}  // namespace

std::vector<CarriedRead> carried_reads(const Stage& stage) {
  std::vector<CarriedRead> out;
  each_read(stage, [&](const Expr& load) {
    if (load->name != stage.output) return;
    CarriedRead read{load, distance_of(stage, load)};
    bool own = true;  // every index is the one that is written
    for (size_t d = 0; d < stage.out_index.size(); ++d) {
      own = own && Poly::of(load->args[d]) == Poly::of(stage.out_index[d]);
    }
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const CarriedRead& r) { return equal(r.load, load); });
    if (!own && !known) out.push_back(std::move(read));
  });
  return out;
}

bool is_recurrence(const Stage& stage) { return !carried_reads(stage).empty(); }

bool has_recurrence(const Program& program) {
  return std::any_of(program.stages.begin(), program.stages.end(), is_recurrence) ||
         !Groups(program).none();
}

std::vector<std::string> independent_vars(const Stage& stage) {
  const std::vector<CarriedRead> reads = carried_reads(stage);
  std::vector<std::string> out;
  for (size_t v = 0; v < stage.vars.size(); ++v) {
    const bool same = std::all_of(reads.begin(), reads.end(),
                                  [&](const CarriedRead& r) { return is_same(r.distance[v]); });
    if (same) out.push_back(stage.vars[v].name);
  }
  return out;
}

std::optional<CarriedRead> put_in_order(Stage& stage) {
  std::vector<CarriedRead> open = carried_reads(stage);
  std::vector<Loop> first;
  const auto taken = [&](const Loop& loop) {
    return std::any_of(first.begin(), first.end(),
                       [&](const Loop& l) { return l.name == loop.name; });
  };
  // A var along which no read that is left goes the other way can only help to stand outside.
  for (size_t v = 0; v < stage.vars.size() && !open.empty(); ++v) {
    const auto way = [&](bool later) {
      return std::all_of(open.begin(), open.end(), [&](const CarriedRead& r) {
        return r.distance[v] && (later ? *r.distance[v] >= 0 : *r.distance[v] <= 0);
      });
    };
    const bool forward = way(false), backward = !forward && way(true);
    if (!forward && !backward) continue;
    const size_t before = open.size();
    std::erase_if(open, [&](const CarriedRead& r) { return *r.distance[v] != 0; });
    if (open.size() == before) continue;
    stage.vars[v].backward = backward;
    first.push_back({stage.vars[v].name});
    v = static_cast<size_t>(-1);  // reads that are gone may have stood in another one's way
  }
  if (!open.empty()) return open.front();
  if (!broken_order(stage)) return std::nullopt;
  for (const Loop& loop : stage.loops) {
    if (!taken(loop)) first.push_back(loop);
  }
  stage.loops = std::move(first);
  return std::nullopt;
}

int64_t goes_back(const Expr& index) {
  const Poly at = Poly::of(index);
  const auto& terms = at.terms();
  const bool moves = terms.size() == 1 && terms[0].coef == 1 && terms[0].factors.size() == 1 &&
                     terms[0].factors[0]->op == Op::kVar;
  return moves && at.constant() < 0 ? -at.constant() : 0;
}

std::optional<CarriedState> carried_state(const Program& program, const Stage& stage) {
  const Buffer* buffer = program.buffer(stage.output);
  if (!buffer || buffer->role != Role::kTemp) return {};
  const bool around = !stage.at.root() && !stage.store.root() && buffer->space != Space::kRoot;
  return buffer->space == Space::kWarp || around ? youngest_read(program, stage) : std::nullopt;
}

std::optional<CarriedState> youngest_read(const Program& program, const Stage& stage) {
  const std::vector<CarriedRead> reads = carried_reads(stage);
  if (reads.empty() || stage.reduce != Reduce::kNone) return {};
  CarriedState out;
  for (size_t v = 0; v < stage.vars.size(); ++v) {
    const auto& step = reads[0].distance[v];
    if (step && *step != 0) out.var = stage.vars[v].name;
  }
  for (const CarriedRead& read : reads) {
    for (size_t v = 0; v < stage.vars.size(); ++v) {
      const int64_t step = stage.vars[v].name == out.var ? -1 : 0;
      if (!read.distance[v] || *read.distance[v] != step || stage.vars[v].backward) return {};
    }
  }
  while (out.dim < stage.out_index.size() &&
         !(stage.out_index[out.dim]->op == Op::kVar && stage.out_index[out.dim]->name == out.var)) {
    ++out.dim;
  }
  if (out.dim == stage.out_index.size()) return {};
  bool fits = true;
  for (const Stage& reader : program.stages) {
    each_read(reader, [&](const Expr& load) {
      if (load->name != stage.output) return;
      const int64_t back = goes_back(load->args[out.dim]);
      if (back == 0) return;
      // What another stage's indices say is not known where the first is stored.
      const bool told = reader.name == stage.name || is_number(load->args.back());
      fits = fits && load->guarded && told && (!out.first || equal(out.first, load->args.back()));
      if (load->guarded) out.first = load->args.back();
      if (reader.name != stage.name) out.kept = std::max(out.kept, back + 1);
    });
  }
  constexpr int64_t kMostKept = 2;  // Chosen: the youngest and the one before (not measured).
  return fits && out.first && out.kept <= kMostKept ? std::optional(out) : std::nullopt;
}

std::optional<Reject> broken_order(const Stage& stage) {
  return broken_order(stage, stage.at.root());
}

std::optional<Reject> broken_order(const Stage& stage, bool may_carry) {
  for (const CarriedRead& read : carried_reads(stage)) {
    const std::string reads = "stage " + stage.name + " reads its own " + print(read.load);
    if (!may_carry) {
      return Reject(stage.name, "",
                    reads + ", so it is computed at the root, not at " + stage.at.stage + "/" +
                        stage.at.loop);
    }
    if (stage.reduce != Reduce::kNone || !stage.factored.empty()) {
      return Reject(stage.name, "", reads + ", which a reduction may not do");
    }
    CarryingLoop order(stage, read.distance, stage.loops.size());
    std::string why = order.broken();
    if (why.empty() && !order.carrier()) why = "no loop runs from what is read to what is written";
    if (why.empty()) continue;
    if (!order.at_loop()) return Reject(stage.name, "", reads + ", and " + why);
    return Reject(stage.name, order.loop(), "loop " + order.loop() + ": " + reads + ", and " + why);
  }
  return std::nullopt;
}

bool holds_chains(const Program& program, const Stage& stage) {
  const Buffer* buffer = program.buffer(stage.output);
  return !stage.at.root() && stage.store.root() && buffer && buffer->role == Role::kTemp &&
         buffer->space == Space::kScratch && is_recurrence(stage);
}

std::optional<Reject> broken_order(const Program& program) {
  const Groups groups(program);
  if (auto broken = groups.broken()) return broken;
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const Stage& stage = program.stages[s];
    if (!groups.of(s)) {
      const bool may_carry =
          stage.at.root() || carried_state(program, stage) || holds_chains(program, stage);
      if (auto broken = broken_order(stage, may_carry)) return broken;
    }
    std::string missing;
    each_read(stage, [&](const Expr& load) {
      if (load->name == stage.output) return;
      const Buffer* buffer = program.buffer(load->name);
      const Stage* made = program.producer(load->name);
      const size_t by = made ? program.stages.index_of(*made) : s;
      const bool later = by > s && !groups.together(by, s);
      const bool absent = !buffer || (!made && buffer->role == Role::kTemp);
      // The old value of an inout is there before the stage that updates it.
      if (absent || (later && buffer->role != Role::kInOut)) missing = load->name;
    });
    if (missing.empty()) continue;
    return Reject(stage.name, "",
                  "stage " + stage.name + " reads " + missing +
                      " before it is computed: what reads itself is computed by one stage, from "
                      "its definition");
  }
  return std::nullopt;
}

}  // namespace hone::ir
