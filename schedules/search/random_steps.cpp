// SPDX-License-Identifier: Apache-2.0
#include "schedules/search/random_steps.h"

#include <algorithm>

#include "jit/ir/product.h"
#include "jit/ir/recurrence.h"
#include "jit/ir/scan.h"
#include "jit/ir/scatter.h"
#include "jit/passes/lower.h"
#include "schedules/step.h"
#include "schedules/steps/build.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/parts.h"
#include "schedules/steps/tensor.h"

namespace hone::schedules {
namespace {

/// A reason with names and numbers taken out, so that equal causes count together.
std::string generic(std::string_view reason) {
  std::string out;
  for (size_t i = 0; i < reason.size();) {
    const bool word = std::isalnum(static_cast<unsigned char>(reason[i])) || reason[i] == '_';
    size_t end = i + 1;
    bool specific = word && std::isdigit(static_cast<unsigned char>(reason[i]));
    while (word && end < reason.size() &&
           (std::isalnum(static_cast<unsigned char>(reason[end])) || reason[end] == '_' ||
            reason[end] == '/' ||
            (reason[end] == '.' && end + 1 < reason.size() && reason[end + 1] != ' '))) {
      specific |= std::isdigit(static_cast<unsigned char>(reason[end])) || reason[end] == '/' ||
                  reason[end] == '.';
      ++end;
    }
    specific |= word && (end - i == 1 || std::isupper(static_cast<unsigned char>(reason[i]))) &&
                reason[i] != 'a';
    out += specific ? "_" : std::string(reason.substr(i, end - i));
    i = end;
  }
  return out;
}

void note_reject(StepUses* uses, const std::string& kind, std::string_view reason) {
  if (!uses) return;
  StepUse& use = (*uses)[kind];
  ++use.rejected;
  ++use.reasons[generic(reason)];
}

std::vector<std::string> buffers_of(const ir::Stage& s) {
  std::vector<std::string> out = {s.output};
  ir::visit(s.value, [&](const ir::Expr& n) {
    if (n->op == ir::Op::kLoad) out.push_back(n->name);
  });
  return out;
}

/// True where each reader of a stage loads it and does no more.
bool loaded_alone(const ir::Program& p, const ir::Stage& stage) {
  return std::all_of(p.stages.begin(), p.stages.end(), [&](const ir::Stage& reader) {
    const bool loads = reader.value->op == ir::Op::kLoad && reader.value->name == stage.output;
    return loads || !reads(reader, stage.output);
  });
}

}  // namespace

std::vector<std::string> kinds_of(const Step& step) {
  const std::string verb = step.row->verb;
  std::vector<std::string> kinds = {verb};
  for (size_t i = 0; i < step.values.size(); ++i) {
    const Param& p = step.row->params[i];
    const Value& v = step.values[i];
    const std::string name = p.name;
    if (name == "tail") kinds.push_back(verb + " tail=" + v.names[0]);
    if (name == "in" && v.names[0] == "registers") kinds.push_back(verb + " in=registers");
    if (p.kind == Arg::kClause && v.present) kinds.push_back(verb + " " + name);
    if (p.kind == Arg::kLayout && !v.layout.empty()) kinds.push_back(verb + " " + name);
  }
  return kinds;
}

ir::Place RandomSchedules::loop_of(const ir::Stage& s) { return {s.name, pick(s.loops).name}; }

ir::Place RandomSchedules::reduction_loop_of(const ir::Stage& s) {
  std::vector<std::string> loops;
  for (const ir::Loop& l : s.loops) {
    if (is_reduction(s, l.name)) loops.push_back(l.name);
  }
  if (loops.empty() || chance(5)) return loop_of(s);
  return {s.name, pick(loops)};
}

const ir::Stage& RandomSchedules::stage_where(const ir::Program& p,
                                              bool (*wanted)(const ir::Program&,
                                                             const ir::Stage&)) {
  std::vector<const ir::Stage*> stages;
  for (const ir::Stage& s : p.stages) {
    if (wanted(p, s)) stages.push_back(&s);
  }
  return stages.empty() || chance(5) ? pick(p.stages) : *pick(stages);
}

std::optional<Step> RandomSchedules::propose_reorder(const ir::Stage& s) {
  if (s.loops.size() < 2) return {};
  std::vector<std::string> loops;
  for (const ir::Loop& l : s.loops) loops.push_back(l.name);
  for (size_t i = loops.size(); i > 1; --i) {
    std::swap(loops[i - 1], loops[static_cast<size_t>(below(static_cast<int>(i)))]);
  }
  loops.resize(static_cast<size_t>(2 + below(static_cast<int>(loops.size()) - 1)));
  return step::reorder(loops_of(s.name, loops));
}

std::optional<Step> RandomSchedules::propose_shape(const ir::Stage& s) {
  const int kind = below(100);
  if (kind < 60) {
    constexpr ir::Tail kTails[] = {ir::Tail::kMask,  ir::Tail::kPeel, ir::Tail::kOverlap,
                                   ir::Tail::kExact, ir::Tail::kPeel, ir::Tail::kPad};
    const std::vector<int> factors = {2, 3, 4, 5, 6, 7, 8, 8, 10, 16, 16, 20, 32, 64};
    const std::string base = fresh("l");
    const ir::Place loop = loop_of(s);
    const int factor = pick(factors);
    const ir::Tail tail = kTails[below(target_.is_cuda() ? 6 : 5)];
    return step::split(loop, factor, base + ".o", base + ".i", tail);
  }
  if (kind < 75) {
    if (s.loops.size() < 2) return {};
    const auto at = static_cast<size_t>(below(static_cast<int>(s.loops.size()) - 1));
    return step::fuse({s.name, s.loops[at].name}, {s.name, s.loops[at + 1].name}, fresh("f"));
  }
  return propose_reorder(s);
}

/// A stage in a loop of any that comes later, which need not read it.
std::optional<Step> RandomSchedules::propose_join(const ir::Program& p) {
  const int stages = static_cast<int>(p.stages.size());
  if (stages < 2) return {};
  const auto first = static_cast<size_t>(below(stages - 1));
  const size_t left = p.stages.size() - first - 1;
  const ir::Stage &s = p.stages[first],
                  &owner = p.stages[first + 1 + static_cast<size_t>(below(static_cast<int>(left)))];
  if (owner.loops.empty()) return {};
  const ir::Buffer* b = p.buffer(s.output);
  const ir::Place at = chance(60) ? ir::Place{owner.name, owner.loops[0].name} : loop_of(owner);
  if (!b || b->role != ir::Role::kTemp) return step::compute({s.name}, at);
  if (owner.at.root() || chance(30)) return step::compute_kept({s.name}, at);
  return step::compute({s.name}, at, ir::Space::kScratch, chance(70) ? owner.at : ir::Place{});
}

/// A max reduction and the sums that depend on it in one pass.
std::optional<Step> RandomSchedules::propose_running(const ir::Program& p) {
  std::vector<const ir::Stage*> maxima;
  for (const ir::Stage& s : p.stages) {
    if (s.reduce == ir::Reduce::kMax && !s.rvars.empty()) maxima.push_back(&s);
  }
  if (maxima.empty()) return {};
  const ir::Stage& s = *pick(maxima);
  const int terms = 1 + below(chance(50) ? 8 : 40);
  return step::running({s.name, pick(s.rvars).name}, terms, fresh("R"));
}

std::optional<Step> RandomSchedules::propose_compute(const ir::Program& p) {
  if (chance(25)) return propose_join(p);
  // A stage and a reader that stands after it.
  std::vector<std::pair<const ir::Stage*, const ir::Stage*>> pairs;
  for (const ir::Stage& s : p.stages) {
    for (const ir::Stage& reader : p.stages) {
      if (&s != &reader && reads(reader, s.output) && !reader.loops.empty()) {
        pairs.emplace_back(&s, &reader);
      }
    }
  }
  if (pairs.empty()) return {};
  const auto& [s, reader] = pick(pairs);
  const auto at = static_cast<size_t>(below(static_cast<int>(reader->loops.size())));
  ir::Place store;
  if (at > 0 && chance(25)) {
    store = {reader->name, reader->loops[static_cast<size_t>(below(static_cast<int>(at)))].name};
  }
  const ir::Space in = chance(35) ? ir::Space::kRegisters : ir::Space::kScratch;
  return step::compute({s->name}, {reader->name, reader->loops[at].name}, in, store);
}

Step RandomSchedules::propose_copy(const ir::Program& p, const ir::Stage& s) {
  const std::string tensor = pick(buffers_of(s));
  const bool root = chance(25);
  const ir::Place place = root ? ir::Place{} : loop_of(s);
  const std::string copy = fresh("T");
  CopyOptions options;
  if (!root && chance(40)) options.in = ir::Space::kRegisters;
  const ir::Buffer* b = p.buffer(tensor);
  if (b && !b->shape.empty() && tensor != s.output && !chance(50)) {
    // A packed layout: one dim cut in two, the piece innermost.
    const auto cut = static_cast<size_t>(below(static_cast<int>(b->shape.size())));
    const int factor = 2 << below(4);
    options.layout.push_back({dim_name(cut), factor});
    for (size_t d = 0; d < b->shape.size(); ++d) {
      if (d != cut) options.layout.push_back({dim_name(d)});
    }
    options.layout.push_back({dim_name(cut), 1, factor});
  }
  return step::stage(tensor, place, copy, std::move(options));
}

Step RandomSchedules::propose_part(const ir::Stage& s) {
  const std::vector<Part> parts = parts_of(s);
  const auto place = static_cast<size_t>(below(static_cast<int>(parts.size())));
  const bool own = s.reduce != ir::Reduce::kNone || ir::is_recurrence(s);
  const bool bare = own && s.relations.empty() && s.at.root();
  const bool results = bare && chance(60);
  std::vector<LayoutAxis> layout;
  if (chance(50)) {
    const ir::Expr& value = parts[place].value;
    for (const ir::IndexVar& v : results ? s.vars : variables_in(s, value)) {
      layout.push_back({v.name});
    }
    std::reverse(layout.begin(), layout.end());
  }
  if (results) return step::cache_write(s.name, fresh("P"), std::move(layout));
  return step::precompute(s.name, place, fresh("P"), std::move(layout));
}

std::optional<Step> RandomSchedules::propose_place(const ir::Program& p, const ir::Stage& s) {
  const int kind = below(100);
  if (kind < 40) return propose_compute(p);
  if (kind < 55) {
    return step::inline_stage(
        stage_where(p, [](const ir::Program& program, const ir::Stage& stage) {
          const ir::Buffer* b = program.buffer(stage.output);
          const bool fits = stage.reduce == ir::Reduce::kNone || loaded_alone(program, stage);
          return fits && b && b->role == ir::Role::kTemp;
        }).name);
  }
  if (kind < 62) return propose_part(s);
  if (kind < 76) return propose_copy(p, s);
  if (kind < 90) {
    if (std::optional<Step> step = propose_running(p)) return step;
  }
  const ir::Stage& reduced = stage_where(p, [](const ir::Program&, const ir::Stage& stage) {
    return stage.reduce != ir::Reduce::kNone;
  });
  if (reduced.loops.empty()) return {};
  if (chance(30) && !reduced.rvars.empty()) {
    const int terms = 1 + below(40);
    return step::split_reduction({reduced.name, reduced.rvars[0].name}, terms, fresh("R"));
  }
  const ir::Place loop = reduction_loop_of(reduced);
  return step::rfactor(loop, fresh("R"));
}

std::optional<Step> RandomSchedules::propose_mark(const ir::Program& p, const ir::Stage& s) {
  const int kind = below(100);
  const ir::Place last{s.name, s.loops.back().name};
  if (kind < 30) return step::vectorize(chance(80) ? last : loop_of(s));
  if (kind < 45) return step::unroll(loop_of(s));
  if (kind < 57) {
    const ir::Stage& root =
        stage_where(p, [](const ir::Program&, const ir::Stage& stage) { return stage.at.root(); });
    if (root.loops.empty()) return {};
    return step::parallel({root.name, root.loops.front().name});
  }
  if (kind < 67) return step::partition({loop_of(s)});
  if (kind < 82) {
    const std::vector<std::string> read = buffers_of(s);
    const std::string tensor = chance(90) ? read.back() : pick(read);
    const ir::Place loop = loop_of(s);
    const bool inside = !s.at.root() && chance(30);
    return step::prefetch(tensor, loop, 1 + below(8), inside ? s.at : ir::Place{});
  }
  if (kind < 92) {
    return step::stream(stage_where(p, [](const ir::Program& program, const ir::Stage& stage) {
                          const ir::Buffer* b = program.buffer(stage.output);
                          return stage.reduce == ir::Reduce::kNone && b &&
                                 b->role == ir::Role::kOutput;
                        }).output);
  }
  return propose_reorder(s);
}

/// Packs a factor as an instruction takes it: groups of the reduction innermost.
std::optional<Step> RandomSchedules::propose_groups(const ir::Stage& s,
                                                    const ir::Instruction& row) {
  const Factors factors = factors_of(s);
  const ir::Expr& load = chance(50) ? factors.a : factors.b;
  std::vector<std::string> dims;
  int reduced = -1;
  for (size_t d = 0; d < load->args.size(); ++d) {
    dims.push_back(dim_name(d));
    const bool var = load->args[d]->op == ir::Op::kVar;
    if (var && s.is_reduction_var(load->args[d]->name)) reduced = static_cast<int>(d);
  }
  if (reduced < 0) return {};
  constexpr int kPanel = 16;  // Fixed by: the lanes of 32 bits of AVX-512.
  const std::string k = dims[static_cast<size_t>(reduced)];
  CopyOptions options;
  std::vector<LayoutAxis> inner;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (static_cast<int>(d) == reduced) continue;
    const bool cut = d + 2 >= dims.size() && inner.empty();
    options.layout.push_back({dims[d], cut ? kPanel : 1});
    if (cut) inner.push_back({dims[d], 1, kPanel});
  }
  options.layout.push_back({k, row.group});
  options.layout.insert(options.layout.end(), inner.begin(), inner.end());
  options.layout.push_back({k, 1, row.group});
  return step::stage(load->name, {}, fresh("T"), std::move(options));
}

/// Towards an instruction for products of two loads: the split it needs, a layout, the mark.
std::optional<Step> RandomSchedules::propose_tensor(const ir::Program& p) {
  std::vector<std::pair<const ir::Stage*, const ir::Instruction*>> fitting;
  for (const ir::Stage& s : p.stages) {
    for (const ir::Instruction& row : ir::instructions()) {
      if (row.lanes != 0) continue;
      if (available(row, target_) && sums_products_of(s, row)) fitting.emplace_back(&s, &row);
    }
  }
  if (fitting.empty()) return {};
  const auto& [s, row] = pick(fitting);
  if (chance(20)) return propose_groups(*s, *row);
  for (const ir::Loop& l : s->loops) {
    if (l.mark != ir::Mark::kSerial || !tensor_objection(*s, l.name, *row).empty()) continue;
    if (&l == &s->loops.back()) return step::tensorize({{s->name, l.name}}, *row);
    return step::reorder(loops_of(s->name, {s->loops.back().name, l.name}));
  }
  const std::string base = fresh("l");
  return step::split(reduction_loop_of(*s), row->group, base + ".o", base + ".i", ir::Tail::kPeel);
}

std::optional<Step> RandomSchedules::propose_collapse(const ir::Stage& s) {
  const int vars = static_cast<int>(s.vars.size());
  if (vars < 2) return {};
  // Most often neighbours, which run on where nothing has another order.
  const auto outer = static_cast<size_t>(below(vars - 1));
  const size_t inner = chance(85) ? outer + 1 : static_cast<size_t>(below(vars));
  return step::collapse({s.name, s.vars[outer].name}, {s.name, s.vars[inner].name}, fresh("c"));
}

/// Some factors of a product that is summed.
std::optional<Step> RandomSchedules::propose_factor(const ir::Stage& s) {
  std::vector<size_t> factors;
  const size_t count = ir::product_factors(s.value).size();
  for (size_t f = 0; f < count; ++f) {
    if (chance(50)) factors.push_back(f);
  }
  if (factors.empty()) factors.push_back(static_cast<size_t>(below(static_cast<int>(count))));
  return step::factor(s.name, factors, fresh("F"));
}

/// Terms go to their elements instead of being looked at by each.
std::optional<Step> RandomSchedules::propose_scatter(const ir::Program& p) {
  std::vector<ir::Place> loops;
  for (const ir::Stage& s : p.stages) {
    for (const ir::ScatteredVar& v : ir::scattered_vars(s)) {
      const ir::Loop* loop = s.loop(v.var);
      if (loop && loop->mark == ir::Mark::kSerial) loops.push_back({s.name, v.var});
    }
  }
  if (loops.empty() || chance(40)) return {};
  if (chance(25)) return step::group(pick(loops), fresh("G"));
  return step::scatter({pick(loops)});
}

std::optional<Step> RandomSchedules::propose(const ir::Program& p, bool marks) {
  if (std::optional<Step> step = propose_scatter(p)) return step;
  if (chance(25)) {
    if (std::optional<Step> tensor = propose_tensor(p)) return tensor;
  }
  const ir::Stage& s = pick(p.stages);
  if (s.loops.empty()) return {};
  if (!marks && s.relations.empty()) {
    const std::string scanned = ir::scanned_var(s);
    if (!scanned.empty() && chance(30)) {
      return step::scan({s.name, scanned}, 2 + below(chance(50) ? 6 : 40), fresh("P"));
    }
    if (ir::sums_products(s) && chance(ir::product_factors(s.value).size() > 2 ? 40 : 5))
      return propose_factor(s);
    const bool sums = s.reduce == ir::Reduce::kSum && is_int(s.accumulate);
    if (sums && chance(s.value->op == ir::Op::kMul ? 20 : 3))
      return step::expand(s.name, fresh("E"));
    if (sums && chance(15)) return step::narrow(s.name, fresh("W"));
    if (const ir::IndexVar* v = bounded_by_results(s); v && chance(40))
      return step::predicate({s.name, v->name});
    if (const auto loop = dividing_loop(s); !loop.empty() && chance(40))
      return step::reciprocal({s.name, loop});
    if (p.normwise && !s.rvars.empty() && chance(40))
      return step::winograd({s.name, pick(s.rvars).name}, 2 + below(3), fresh("W"));
    if (s.rvars.size() > 1 && chance(20))
      return step::separate({s.name, pick(s.rvars).name}, fresh("S"));
    if (chance(20)) return propose_collapse(s);
  }
  if (marks) return propose_mark(p, s);
  return chance(60) ? propose_shape(s) : propose_place(p, s);
}

bool RandomSchedules::accept(ir::Program& p, Step step, Schedule& schedule, StepUses* uses) {
  Applied applied = step.row->apply(p, step);
  if (!applied) {
    if (uses) note_reject(uses, kinds_of(step).back(), applied.failure().reason);
    return false;
  }
  p = *std::move(applied);
  schedule.steps.push_back(std::move(step));
  return true;
}

/// Leaves out steps until the schedule applies as a whole and lowers.
void RandomSchedules::settle(Schedule& schedule, StepUses* uses) {
  const auto drop = [&](size_t at, const std::string& reason) {
    note_reject(uses, kinds_of(schedule.steps[at]).back(), reason);
    schedule.steps.erase(schedule.steps.begin() + static_cast<std::ptrdiff_t>(at));
  };
  while (!schedule.steps.empty()) {
    auto applied = apply(program_, schedule);
    if (!applied) {
      const int at = applied.failure().step;
      drop(at >= 0 ? static_cast<size_t>(at) : schedule.steps.size() - 1, applied.failure().reason);
      continue;
    }
    auto lowered = jit::lower(*applied, target_);
    if (lowered) return;
    // The step to blame is the last of the shortest prefix that applies and does not lower.
    size_t blamed = schedule.steps.size() - 1;
    Schedule prefix;
    for (size_t i = 0; i < schedule.steps.size(); ++i) {
      prefix.steps.push_back(schedule.steps[i]);
      auto part = apply(program_, prefix);
      if (part && !jit::lower(*part, target_)) {
        blamed = i;
        break;
      }
    }
    drop(blamed, "lowering: " + lowered.failure().reason);
  }
}

Schedule RandomSchedules::next(int length, StepUses* uses) {
  Schedule schedule;
  ir::Program p = program_;
  const int shapes = length > 1 ? length / 2 + below(length / 2) : length;
  for (int tries = 0; tries < 6 * length && static_cast<int>(schedule.steps.size()) < length;
       ++tries) {
    const bool marks = static_cast<int>(schedule.steps.size()) >= shapes || tries > 4 * length;
    if (std::optional<Step> step = propose(p, marks)) {
      accept(p, *std::move(step), schedule, uses);
    }
  }
  settle(schedule, uses);
  for (const Step& step : schedule.steps) {
    for (const std::string& kind : kinds_of(step)) {
      if (uses) ++(*uses)[kind].accepted;
    }
  }
  return schedule;
}

std::string print(const StepUses& uses) {
  constexpr size_t kReasons = 4;  // Fixed by: what people read.
  std::string out = "accepted rejected  step\n";
  const auto column = [](int n, size_t width) {
    const std::string digits = std::to_string(n);
    return std::string(width - std::min(width, digits.size()), ' ') + digits;
  };
  for (const auto& [kind, use] : uses) {
    out += column(use.accepted, 8) + " " + column(use.rejected, 8) + "  " + kind + "\n";
    std::vector<std::pair<int, std::string>> reasons;
    for (const auto& [reason, count] : use.reasons) reasons.emplace_back(-count, reason);
    std::sort(reasons.begin(), reasons.end());
    for (size_t i = 0; i < reasons.size() && i < kReasons; ++i) {
      out += std::string(19, ' ') + std::to_string(-reasons[i].first) + "x " + reasons[i].second +
             "\n";
    }
  }
  return out;
}

}  // namespace hone::schedules
