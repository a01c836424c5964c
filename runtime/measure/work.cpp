// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "jit/ir/integers.h"
#include "jit/ir/operations.h"
#include "jit/ir/product.h"
#include "jit/ir/recurrence.h"
#include "jit/ir/scatter.h"
#include "runtime/measure/domain.h"
#include "runtime/measure/lines.h"
#include "runtime/measure/settled.h"
#include "runtime/measure/value_work.h"
#include "runtime/measure/windows_apart.h"
#include "schedules/space/analysis/product_order.h"
#include "schedules/steps/build.h"
#include "schedules/steps/tensor.h"
#include "schedules/steps/toom_cook.h"

namespace hone::runtime {
namespace {

/// Bytes that a CPU's caches and a GPU's memory move at once.
/// Fixed by: the hardware.
constexpr double kLine = 64, kSector = 32;

/// Names of partial products end so, which no name of an op does.
constexpr const char* kPartial = ".?";
bool is_partial(const std::string& buffer) { return buffer.ends_with(kPartial); }

/// The stage with factors that are rounded as they are read as tensors of that type, which
/// instructions on products take.
ir::Stage with_rounded(ir::Stage stage) {
  if (stage.value->op != ir::Op::kMul) return stage;
  std::vector<ir::Expr> factors = stage.value->args;
  for (ir::Expr& f : factors) {
    if (f->op != ir::Op::kCast || f->args[0]->op != ir::Op::kCast) continue;
    const ir::Expr& rounded = f->args[0];
    f = ir::make_cast(f->type, ir::make_load(stage.output, rounded->type, {}));
  }
  stage.value = ir::with_args(stage.value, std::move(factors));
  return stage;
}

/// Calls `f` with each load in `e`, and the share of `needed` in which choices by index take it.
template <class F>
void each_load(const ir::Expr& e, const Domain& domain, double needed, const F& f) {
  if (e->op == ir::Op::kLoad) f(e, needed);
  for (size_t i = 0; i < e->args.size(); ++i) {
    each_load(e->args[i], domain, needed * domain.deciding(e, i), f);
  }
}

template <class F>
void each_expr(const ir::Stage& stage, const F& f) {
  const auto each = [&](const ir::Expr& e) {
    if (e) f(e);
  };
  each(stage.value);
  each(stage.where);
  for (const ir::Expr& e : stage.out_index) each(e);
  for (const auto* vars : {&stage.vars, &stage.rvars}) {
    for (const ir::IndexVar& v : *vars) each(v.lo), each(v.hi);
  }
}

/// The variables of a scatter's terms: all but those that terms tell.
Vars vars_of_terms(const ir::Stage& stage) {
  Vars out;
  for (const auto* vars : {&stage.vars, &stage.rvars}) {
    for (const ir::IndexVar& v : *vars) {
      if (!ir::scattered_to(stage, v.name)) out.insert(v.name);
    }
  }
  return out;
}

/// Where a stage has terms that go to some element, as far as indices tell.
ir::Expr where_terms_land(const ir::Stage& stage) {
  ir::Expr where = ir::where_of_terms(stage);
  const auto add = [&](ir::Op op, const ir::Expr& a, const ir::Expr& b) {
    const ir::Expr holds = ir::make_binary(op, a, b);
    where = where ? ir::make_binary(ir::Op::kAnd, where, holds) : holds;
  };
  for (const ir::ScatteredVar& v : ir::scattered_vars(stage)) {
    if (!is_closed(v.at)) continue;
    for (const ir::IndexVar& index : stage.vars) {
      if (index.name != v.var) continue;
      add(ir::Op::kLe, index.lo ? index.lo : ir::make_int(0), v.at);
      add(ir::Op::kLt, v.at, index.hi);
    }
  }
  return where;
}

/// True of what the call decides nothing of; `bound` are tensors that it finds ready.
bool is_bound(const ir::Expr& e, const Vars& bound) {
  bool constant = true;
  ir::visit(e, [&](const ir::Expr& x) {
    constant = constant && x->op != ir::Op::kDim && x->op != ir::Op::kScalar &&
               (x->op != ir::Op::kLoad || bound.count(x->name) > 0);
  });
  return constant;
}

/// Constants, and what is computed of them alone: at bind. Stages over dims of the call are not.
Vars bound_buffers(const ir::Program& program) {
  Vars bound;
  for (const ir::Buffer& b : program.buffers) {
    if (b.constant) bound.insert(b.name);
  }
  for (const ir::Stage& stage : program.stages) {
    bool constant = program.buffer(stage.output)->role == ir::Role::kTemp;
    each_expr(stage, [&](const ir::Expr& e) { constant = constant && is_bound(e, bound); });
    if (constant) bound.insert(stage.output);
  }
  return bound;
}

class Counter {
 public:
  Counter(const ir::Program& program, std::span<const int64_t> dims, const ir::Target& target)
      : program_(program), dims_(dims), target_(target), bound_(bound_buffers(program)) {
    for (const ir::Stage& s : program.stages) domains_.emplace_back(program, s, dims);
  }

  Work run() {
    // Readers come after what they read.
    for (size_t s = program_.stages.size(); s-- > 0;) {
      if (!is_bound(program_.stages[s].output)) add(program_.stages[s], domains_[s]);
    }
    for (const ir::Buffer& b : program_.buffers) add_bytes(b);
    return work_;
  }

 private:
  /// The dot product instruction that takes most products of a stage at once. Integers may be
  /// multiplied out first, `(a - x)*b` to `a*b` and a sum of its own: then narrower factors meet.
  const ir::Instruction* dots_of(const ir::Stage& stage) const {
    const ir::Instruction* best = schedules::instruction_for(with_rounded(stage), target_, true);
    if (stage.reduce != ir::Reduce::kSum || is_float(stage.accumulate)) return best;
    const std::string partial = stage.name + ".x";
    const schedules::Step step = schedules::step::expand(stage.name, partial);
    const auto apart = step.row->apply(program_, step);
    if (!apart) return best;
    const auto taken = [](const ir::Instruction* row) {
      return row ? static_cast<double>(row->group) / row->operations : 0;
    };
    for (const ir::Stage& s : apart->stages) {
      if (!s.name.starts_with(partial)) continue;
      const ir::Instruction* row = schedules::instruction_for(s, target_, true);
      if (taken(row) > taken(best)) best = row;
    }
    return best;
  }
  bool is_bound(const std::string& buffer) const { return bound_.count(buffer) > 0; }
  /// Bytes that memory moves at once.
  double unit() const { return target_.is_cuda() ? kSector : kLine; }

  void add(const ir::Stage& stage, const Domain& domain) {
    const ir::Buffer& output = *program_.buffer(stage.output);
    const double where = domain.share(where_terms_land(stage));
    // Of a temporary no more than is read, which lies inside its `where`. What goes on from earlier
    // elements needs those as well.
    const bool temporary = output.role == ir::Role::kTemp && !ir::is_recurrence(stage);
    const double read = temporary ? read_of(output.name) / size_of(output, domain) : where;
    // Of products of combinations none is left out, whichever results choose among them.
    const bool whole = std::any_of(program_.transformed.begin(), program_.transformed.end(),
                                   [&](const auto& t) { return t.products == stage.name; });
    // A reduction of no terms reads none.
    const bool some = where > 0 && domain.points() > 0;
    const double needed = some ? (whole ? 1.0 : std::min(1.0, read / where)) : 0;
    ValueWork value(program_, target_, domain, where * needed);
    value.add(stage.value, stage.reduce == ir::Reduce::kSum && is_float(stage.accumulate));
    const ir::Instruction* row = dots_of(stage);
    if (row) {
      const double products = value.points(stage.value);
      work_.dots.push_back({row, products});
      work_.operations += value.operations + products;
    } else {
      if (stage.reduce != ir::Reduce::kNone) value.add_reduction(stage);
      work_.operations += value.operations;
      add(work_.singles, value.singles);
      add(work_.doubles, value.doubles);
    }
    // In place no more elements are touched than terms go to.
    const double all = domain.elements(output.shape, stage.out_index) * where;
    const double touched =
        stage.from_old ? std::min(all, domain.points(vars_of_terms(stage)) * where) : all;
    written_[output.name] += touched;
    if (stage.from_old) read_[output.name]["old"] += touched;
    each_expr(stage, [&](const ir::Expr& root) {
      each_load(root, domain, 1, [&](const ir::Expr& e, double chosen) {
        const ir::Buffer* b = program_.buffer(e->name);
        // What a recurrence reads of itself was in a register just now.
        if (!b || (e->name == output.name && b->role != ir::Role::kInOut)) return;
        const std::span<const ir::Expr> indices(e->args.data(), b->shape.size());
        const double most = domain.points(vars_of(e)) * where;
        const bool told = std::none_of(indices.begin(), indices.end(), reads_data);
        const double from = told ? INFINITY : drawn_from(*b, indices, domain);
        const double reach = std::min(from, elements_of(*b, indices, domain));
        const double elements = std::min(most, reach) * needed * chosen;
        double& same = read_[b->name][ir::print(e)];
        same = std::max(same, elements);
        if (told) {
          double& apart = strided_[b->name];
          const double most = std::min(elements, distinct(*b, domain));
          apart = std::max(apart, most / elements_in_line(*b, indices, domain, unit()) * unit());
          return;
        }
        // Stages that read the same elements take them from memory once.
        double& lines = gathered_[b->name][ir::print(e)];
        const double row = row_of(*b, indices, domain);
        const double repeats = size_of(*b, domain) / distinct(*b, domain);
        lines = std::max(lines, gathered_lines(*b, elements / repeats, row, from));
      });
    });
  }

  double read_of(const std::string& buffer) const {
    double sum = 0;
    const auto reads = read_.find(buffer);
    if (reads == read_.end()) return 0;
    for (const auto& [text, elements] : reads->second) sum += elements;
    return sum;
  }

  /// Elements that may be chosen: all along dims that data index, as far as their type reaches,
  /// else those that indices reach.
  static double drawn_from(const ir::Buffer& b, std::span<const ir::Expr> indices,
                           const Domain& domain) {
    std::vector<ir::Expr> shape, closed;
    double all = 1;
    for (size_t d = 0; d < indices.size(); ++d) {
      if (is_repeated(b, d, domain)) continue;
      if (reads_data(indices[d])) {
        const auto range = ir::range_before_wrap(indices[d]);
        const double most = range ? static_cast<double>(range->hi - range->lo + 1) : INFINITY;
        all *= std::min(domain.closed(b.shape[d]), std::max(most, 1.0));
      } else {
        shape.push_back(b.shape[d]);
        closed.push_back(indices[d]);
      }
    }
    return std::max(1.0, all * domain.elements(shape, closed));
  }

  /// Bytes of the lines that rows of `row` elements lie in, which are drawn from `from` elements.
  double gathered_lines(const ir::Buffer& b, double elements, double row, double from) const {
    const double bytes = row * hone::size_of(b.type), rows = elements / row;
    if (bytes >= unit()) return rows * std::ceil(bytes / unit()) * unit();
    // A line is not read if none of its rows is. Those drawn from lie together at best.
    const double all = from / row, a_line = unit() / bytes;
    const double missed = std::pow(std::max(0.0, 1 - rows / all), a_line);
    return (1 - missed) * std::max(1.0, all / a_line) * unit();
  }

  static void add(Work::Slots& all, const Work::Slots& more) {
    all.all += more.all;
    all.adds += more.adds;
  }
  static double size_of(const ir::Buffer& b, const Domain& domain) {
    double count = 1;
    for (const ir::Expr& e : b.shape) count *= domain.closed(e);
    return std::max(count, 1.0);
  }

  /// Bytes between neighbouring elements at best: what memory moves for each, up to its unit.
  double bytes_apart(const ir::Buffer& b) const {
    const double each = hone::size_of(b.type);
    double least = b.strides.empty() ? 1 : unit();
    for (size_t a = 0; a < b.strides.size(); ++a) {
      const auto dim = b.axes.empty() ? a : static_cast<size_t>(b.axes[a].dim);
      if (domains_[0].closed(b.shape[dim]) <= 1) continue;
      const double stride = domains_[0].closed(b.strides[a]);
      if (stride > 0) least = std::min(least, stride);
    }
    return std::clamp(least * each, each, std::max(unit(), each));
  }

  /// Of a tensor, or of the constants that it is made of: a call may read those instead.
  double bytes_behind(const ir::Buffer& b) {
    if (const auto known = behind_.find(b.name); known != behind_.end()) return known->second;
    const double own = size_of(b, domains_[0]) * hone::size_of(b.type);
    const ir::Stage* made = b.role == ir::Role::kTemp ? program_.producer(b.name) : nullptr;
    if (!made) return own;
    Vars behind;
    each_expr(*made, [&](const ir::Expr& root) {
      ir::visit(root, [&](const ir::Expr& e) {
        if (e->op == ir::Op::kLoad && e->name != b.name) behind.insert(e->name);
      });
    });
    double bytes = 0;
    for (const std::string& name : behind) bytes += bytes_behind(*program_.buffer(name));
    return behind_[b.name] = is_partial(b.name) ? bytes : std::min(own, bytes);
  }

  void add_bytes(const ir::Buffer& b) {
    if (domains_.empty() || (b.role == ir::Role::kTemp && !is_bound(b.name))) return;
    const double each = hone::size_of(b.type);
    const double bytes = std::min(distinct(b, domains_[0]) * each, bytes_behind(b));
    const double read = std::min(bytes, read_of(b.name) * each);
    const double written = b.role == ir::Role::kOutput || b.role == ir::Role::kInOut
                               ? std::min(bytes, written_[b.name] * each)
                               : 0;
    work_.bytes_read += read;
    work_.bytes_written += written;
    // Of a constant bind may make a copy in which what is read lies side by side.
    const double apart = b.constant ? 1 : bytes_apart(b) / each;
    double lines = apart * read, gathered = 0;
    // From a near cache loads take elements, not lines.
    const double strided = b.constant ? 0 : std::min(strided_[b.name], apart * bytes);
    if (strided > 2 * static_cast<double>(target_.l1d)) lines = std::max(lines, strided);
    if (const auto chosen = gathered_.find(b.name); chosen != gathered_.end()) {
      for (const auto& [text, own] : chosen->second) gathered += own;
      gathered = std::min(gathered, apart * bytes);
      lines = std::max(lines, gathered);
    }
    work_.read_lines += lines;
    work_.written_lines += apart * written;
    work_.footprint += std::max(lines, apart * written);
    work_.updates |= read > 0 && written > 0;
    if (target_.is_cuda()) return;
    // The last level may hold so much of what is drawn from at any time.
    const double held = std::min(1.0, static_cast<double>(target_.l3) / std::max(bytes, 1.0));
    work_.memory_lines += b.cold ? lines : (1 - held) * gathered;
  }

  const ir::Program& program_;
  std::span<const int64_t> dims_;
  const ir::Target& target_;
  Work work_;
  std::vector<Domain> domains_;            ///< per stage
  Vars bound_;                             ///< buffers that the call finds ready
  std::map<std::string, double> written_;  ///< elements, by the buffer
  /// The same, by the text of the read as well: what is read again is in a register.
  std::map<std::string, std::map<std::string, double>> read_;
  std::map<std::string, double> behind_;   ///< bytes, of temporaries that the call finds ready
  std::map<std::string, double> strided_;  ///< bytes of lines that one access reads, at best
  /// Bytes of lines that data choose, by the buffer and the text of the read.
  std::map<std::string, std::map<std::string, double>> gathered_;
};

/// The program with sums of products in the order of least arithmetic.
ir::Program in_cheapest_orders(const ir::Program& program, std::span<const int64_t> dims) {
  ir::Program out = program;
  std::vector<std::string> names;
  for (const ir::Stage& s : program.stages) {
    if (ir::sums_products(s)) names.push_back(s.name);
  }
  const Vars bound = bound_buffers(program);
  for (const std::string& name : names) {
    const Domain domain(out, *out.stage(name), dims);
    schedules::ProductCosts costs;
    costs.points = [&](const std::vector<std::string>& vars) {
      return domain.points({vars.begin(), vars.end()});
    };
    costs.ready = [&](const std::vector<ir::Expr>& factors) {
      return std::all_of(factors.begin(), factors.end(),
                         [&](const ir::Expr& e) { return is_bound(e, bound); });
    };
    const auto order = schedules::cheapest_order(out, *out.stage(name), costs);
    for (const std::vector<size_t>& factors : order.steps) {
      std::string partial = name + kPartial;
      while (out.stage(partial) || out.buffer(partial)) partial += kPartial;
      const schedules::Step step = schedules::step::factor(name, factors, partial);
      if (auto next = step.row->apply(out, step)) out = *std::move(next);
    }
  }
  return out;
}

/// The program with the results of `stage` computed together along one index, where that takes
/// fewer operations; nothing where it takes more.
std::optional<ir::Program> with_fewer_products(const ir::Program& program, const std::string& stage,
                                               std::span<const int64_t> dims,
                                               const ir::Target& target) {
  std::optional<ir::Program> best;
  double least = Counter(program, dims, target).run().operations;
  for (const ir::IndexVar& v : program.stage(stage)->rvars) {
    for (int64_t outputs = 2; outputs < schedules::kMostProducts; ++outputs) {
      const schedules::Step step = schedules::step::winograd({stage, v.name}, outputs, stage + ".");
      auto fewer = step.row->apply(program, step);
      if (!fewer) continue;
      const double operations = Counter(*fewer, dims, target).run().operations;
      if (operations >= least) continue;
      least = operations;
      best = *std::move(fewer);
    }
  }
  return best;
}

/// The program with sums of products as few products as errors admit.
ir::Program with_fewest_products(ir::Program program, std::span<const int64_t> dims,
                                 const ir::Target& target) {
  if (!program.normwise) return program;
  std::vector<std::string> names;
  for (const ir::Stage& s : program.stages) names.push_back(s.name);
  while (!names.empty()) {
    const std::string name = names.back();
    names.pop_back();
    auto fewer = with_fewer_products(program, name, dims, target);
    if (!fewer) continue;
    program = *std::move(fewer);
    names.push_back(program.transformed.back().products);
  }
  return program;
}

}  // namespace

Work work_of(const ir::Program& program, std::span<const int64_t> dims, const ir::Target& target) {
  const ir::Program ordered = in_cheapest_orders(with_settled_indices(program, dims), dims);
  const ir::Program least = with_windows_apart(with_fewest_products(ordered, dims, target), dims);
  return Counter(least, dims, target).run();
}

}  // namespace hone::runtime
