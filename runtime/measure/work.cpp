// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/work.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "runtime/call/plan.h"
#include "schedules/model/model.h"
#include "schedules/steps/tensor.h"

namespace hone::runtime {
namespace {

/// The value of `e`, unless it depends on data or indices.
std::optional<double> value_of(const ir::Expr& e, std::span<const ir::Dim> names,
                               std::span<const int64_t> dims) {
  bool closed = true;
  ir::visit(e, [&](const ir::Expr& x) {
    closed = closed && x->op != ir::Op::kLoad && x->op != ir::Op::kVar;
  });
  if (!closed) return std::nullopt;
  return static_cast<double>(evaluate(number_dims(e, names), dims));
}

bool is_arithmetic(ir::Op op) {
  switch (op) {
    case ir::Op::kAdd:
    case ir::Op::kSub:
    case ir::Op::kMul:
    case ir::Op::kDiv:
    case ir::Op::kMod:
    case ir::Op::kMin:
    case ir::Op::kMax:
    case ir::Op::kNeg:
    case ir::Op::kCall:
      return true;
    default:
      return false;
  }
}

/// Needs no multiplier: no function, no product, nor an addition that takes one in.
bool is_addition(const ir::Node& e) {
  for (ir::Op multiplies : {ir::Op::kCall, ir::Op::kMul, ir::Op::kDiv, ir::Op::kMod}) {
    if (e.op == multiplies) return false;
  }
  return std::none_of(e.args.begin(), e.args.end(),
                      [](const ir::Expr& a) { return a && a->op == ir::Op::kMul; });
}

/// What one evaluation of a value takes; equal parts count once, indices of loads not at all.
class ValueCounter {
 public:
  explicit ValueCounter(bool summed) : summed_(summed) {}

  void add(const ir::Expr& e) { add(e, summed_); }

  double operations = 0;  ///< one each
  double slots = 0;       ///< instructions of an arithmetic port: functions at their length
  double adds = 0;        ///< of those, ones that a port without a multiplier may take
  bool doubles = false;

 private:
  /// `added`: the value goes into a sum, which takes a product in the same instruction.
  void add(const ir::Expr& e, bool added) {
    if (!e || e->op == ir::Op::kLoad || e->args.empty()) return;
    if (!seen_.insert(ir::print(e)).second) return;
    const bool sum = e->op == ir::Op::kAdd || e->op == ir::Op::kSub;
    for (const ir::Expr& a : e->args) add(a, sum && is_float(e->type));
    double own = schedules::operations_of(e);
    for (const ir::Expr& a : e->args) own -= schedules::operations_of(a);
    if (!(e->op == ir::Op::kMul && added)) slots += own;
    if (is_addition(*e)) adds += own;
    if (!is_arithmetic(e->op)) return;
    operations += 1;
    doubles |= e->type == DType::kF64;
  }

  bool summed_;
  std::set<std::string> seen_;
};

class Counter {
 public:
  Counter(const ir::Program& program, std::span<const int64_t> dims, const ir::Target& target)
      : program_(program), dims_(dims), target_(target), reads_(program.buffers.size()) {}

  Work run() {
    for (const ir::Stage& stage : program_.stages) {
      const double points = points_of(stage);
      const double reduces = stage.reduce == ir::Reduce::kNone ? 0 : 1;
      ValueCounter value(stage.reduce == ir::Reduce::kSum && is_float(stage.accumulate));
      value.add(stage.value);
      work_.operations += points * (value.operations + reduces);
      if (const ir::Instruction* row = schedules::instruction_for(stage, target_, true)) {
        work_.dots.push_back({row, points});
      } else {
        work_.slots += points * (value.slots + reduces);
        const bool fused = stage.value && stage.value->op == ir::Op::kMul;
        work_.adds += points * (value.adds + (fused ? 0 : reduces));
      }
      work_.doubles |= value.doubles;
      for (size_t i = 0; i < program_.buffers.size(); ++i) {
        if (program_.buffers[i].role != ir::Role::kTemp) read(i, stage, points);
      }
    }
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const ir::Buffer& b = program_.buffers[i];
      if (b.role == ir::Role::kTemp) continue;
      const double bytes = elements(b) * size_of(b.type);
      if (b.role != ir::Role::kInput) work_.bytes_written += bytes;
      const double read = std::min(bytes, reads_[i] * size_of(b.type));
      work_.bytes_read += read;
      work_.footprint += b.role == ir::Role::kInput ? read : bytes;
    }
    return work_;
  }

 private:
  double closed(const ir::Expr& e) const { return value_of(e, program_.dims, dims_).value_or(1); }

  double elements(const ir::Buffer& b) const {
    double count = 1;
    for (const ir::Expr& e : b.shape) count *= closed(e);
    return count;
  }

  /// Points of a stage's domain. A variable whose range is read from data replaces the index that
  /// selects the range. Together they walk the variable's tensor once.
  double points_of(const ir::Stage& stage) const {
    double points = 1;
    std::vector<std::string> covered;
    for (const ir::IndexVar& v : stage.rvars) {
      const auto hi = value_of(v.hi, program_.dims, dims_);
      const auto lo = v.lo ? value_of(v.lo, program_.dims, dims_) : std::optional<double>(0);
      if (hi && lo) {
        points *= std::max(0.0, *hi - *lo);
        continue;
      }
      points *= walked(stage, v.name);
      ir::visit(v.hi, [&](const ir::Expr& e) {
        if (e->op == ir::Op::kVar) covered.push_back(e->name);
      });
    }
    for (const ir::IndexVar& v : stage.vars) {
      if (std::find(covered.begin(), covered.end(), v.name) != covered.end()) continue;
      points *= std::max(0.0, closed(v.hi) - (v.lo ? closed(v.lo) : 0));
    }
    return points;
  }

  /// The extent of the tensor dim that variable `name` indexes alone.
  double walked(const ir::Stage& stage, const std::string& name) const {
    double extent = 1;
    ir::visit(stage.value, [&](const ir::Expr& e) {
      if (e->op != ir::Op::kLoad) return;
      const ir::Buffer* b = program_.buffer(e->name);
      for (size_t i = 0; b && i < b->shape.size() && i < e->args.size(); ++i) {
        if (e->args[i]->op == ir::Op::kVar && e->args[i]->name == name) {
          extent = std::max(extent, closed(b->shape[i]));
        }
      }
    });
    return extent;
  }

  /// Adds what `stage` reads of buffer `index`: all of it, or for a gather as much as it has
  /// points.
  void read(size_t index, const ir::Stage& stage, double points) {
    const ir::Buffer& b = program_.buffers[index];
    const auto look = [&](const ir::Expr& root) {
      ir::visit(root, [&](const ir::Expr& e) {
        if (e->op != ir::Op::kLoad || e->name != b.name) return;
        bool gathers = false;
        for (const ir::Expr& a : e->args) {
          ir::visit(a, [&](const ir::Expr& x) { gathers = gathers || x->op == ir::Op::kLoad; });
        }
        reads_[index] += gathers ? points : elements(b);
      });
    };
    look(stage.value);
    look(stage.where);
    for (const ir::IndexVar& v : stage.rvars) {
      look(v.lo);
      look(v.hi);
    }
    for (const ir::Expr& e : stage.out_index) look(e);
  }

  const ir::Program& program_;
  std::span<const int64_t> dims_;
  const ir::Target& target_;
  Work work_;
  std::vector<double> reads_;
};

}  // namespace

Work work_of(const ir::Program& program, std::span<const int64_t> dims, const ir::Target& target) {
  return Counter(program, dims, target).run();
}

}  // namespace hone::runtime
