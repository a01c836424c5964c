// SPDX-License-Identifier: Apache-2.0
#include "tests/support/programs.h"

#include <stdexcept>

#include "jit/ir/functions/function.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "schedules/space/space.h"

namespace hone::tests {
namespace {

using ir::Expr;

Expr v(const char* name) { return ir::make_var(name); }

struct Maker {
  ir::Program p;

  void tensor(const char* name, ir::Role role, std::vector<int64_t> shape,
              DType type = DType::kF32) {
    ir::Buffer b;
    b.name = name;
    b.role = role;
    b.type = type;
    for (int64_t n : shape) b.shape.push_back(ir::make_int(n));
    p.buffers.push_back(std::move(b));
  }
  Expr load(const char* name, std::vector<Expr> indices, Expr otherwise = {}) const {
    return ir::make_load(name, p.buffer(name)->type, std::move(indices), otherwise);
  }
  /// A stage over the dims of its output, `vars` naming them; `rvars` with their ranges.
  ir::Stage& stage(const char* name, std::vector<const char*> vars, Expr value,
                   ir::Reduce reduce = ir::Reduce::kNone, std::vector<ir::IndexVar> rvars = {}) {
    ir::Stage s;
    s.name = s.output = name;
    s.reduce = reduce;
    const ir::Buffer& out = *p.buffer(name);
    for (size_t i = 0; i < vars.size(); ++i) {
      s.vars.push_back({vars[i], {}, out.shape[i]});
      s.out_index.push_back(v(vars[i]));
      s.loops.push_back({vars[i], ir::Mark::kSerial, false});
    }
    s.rvars = std::move(rvars);
    for (const ir::IndexVar& r : s.rvars) s.loops.push_back({r.name, ir::Mark::kSerial, false});
    s.value = std::move(value);
    p.stages.push_back(std::move(s));
    return p.stages.edit(p.stages.size() - 1);
  }
};

Expr call(const char* fn, Expr x) { return ir::make_call(ir::function_named(fn), {x}); }

ir::Program chain() {
  Maker m;
  m.tensor("X", ir::Role::kInput, {8, 100});
  m.tensor("Y", ir::Role::kOutput, {8, 100});
  m.tensor("e", ir::Role::kTemp, {8, 100});
  m.stage("e", {"i", "j"}, call("exp", m.load("X", {v("i"), v("j")})));
  m.stage("Y", {"i", "j"}, m.load("e", {v("i"), v("j")}) * ir::make_float(2, DType::kF32));
  return m.p;
}

ir::Program product() {
  Maker m;
  m.tensor("A", ir::Role::kInput, {31, 100});
  m.tensor("B", ir::Role::kInput, {100, 40});
  m.tensor("C", ir::Role::kOutput, {31, 40});
  m.stage("C", {"m", "n"}, m.load("A", {v("m"), v("k")}) * m.load("B", {v("k"), v("n")}),
          ir::Reduce::kSum, {{"k", {}, ir::make_int(100)}});
  return m.p;
}

/// A product of bytes, of a depth that no group divides, with an addition after it.
ir::Program bytes() {
  Maker m;
  m.tensor("A", ir::Role::kInput, {13, 38}, DType::kU8);
  m.tensor("B", ir::Role::kInput, {38, 40}, DType::kI8);
  m.tensor("b", ir::Role::kInput, {40}, DType::kI32);
  m.tensor("C", ir::Role::kOutput, {13, 40}, DType::kI32);
  m.tensor("C.1", ir::Role::kTemp, {13, 40}, DType::kI32);
  m.p.buffers.edit(1).constant = true;
  const auto wide = [](Expr e) { return ir::make_cast(DType::kI32, std::move(e)); };
  m.stage("C.1", {"m", "n"},
          wide(m.load("A", {v("m"), v("k")})) * wide(m.load("B", {v("k"), v("n")})),
          ir::Reduce::kSum, {{"k", {}, ir::make_int(38)}})
      .accumulate = DType::kI32;
  m.stage("C", {"m", "n"}, m.load("C.1", {v("m"), v("n")}) + m.load("b", {v("n")})).accumulate =
      DType::kI32;
  return m.p;
}

ir::Program layer() {
  Maker m;
  m.tensor("A", ir::Role::kInput, {31, 100});
  m.tensor("W", ir::Role::kInput, {100, 160});
  m.tensor("b", ir::Role::kInput, {160});
  m.tensor("Y", ir::Role::kOutput, {31, 160});
  m.tensor("Y.1", ir::Role::kTemp, {31, 160});
  m.p.buffers.edit(1).constant = true;
  m.stage("Y.1", {"m", "n"}, m.load("A", {v("m"), v("k")}) * m.load("W", {v("k"), v("n")}),
          ir::Reduce::kSum, {{"k", {}, ir::make_int(100)}});
  m.stage("Y", {"m", "n"},
          ir::make_binary(ir::Op::kMax, m.load("Y.1", {v("m"), v("n")}) + m.load("b", {v("n")}),
                          ir::make_float(0, DType::kF32)));
  return m.p;
}

ir::Program rows() {
  Maker m;
  m.tensor("X", ir::Role::kInput, {8, 100});
  m.tensor("Y", ir::Role::kOutput, {8, 100});
  m.tensor("m", ir::Role::kTemp, {8});
  m.tensor("e", ir::Role::kTemp, {8, 100});
  m.tensor("s", ir::Role::kTemp, {8});
  const ir::IndexVar j{"j", {}, ir::make_int(100)};
  m.stage("m", {"i"}, m.load("X", {v("i"), v("j")}), ir::Reduce::kMax, {j});
  m.stage(
      "e", {"i", "j"},
      call("exp", make_binary(ir::Op::kSub, m.load("X", {v("i"), v("j")}), m.load("m", {v("i")}))));
  m.stage("s", {"i"}, m.load("e", {v("i"), v("j")}), ir::Reduce::kSum, {j});
  m.stage("Y", {"i", "j"},
          make_binary(ir::Op::kDiv, m.load("e", {v("i"), v("j")}), m.load("s", {v("i")})));
  return m.p;
}

ir::Program bag() {
  Maker m;
  m.tensor("E", ir::Role::kInput, {1000, 64});
  m.tensor("ids", ir::Role::kInput, {200}, DType::kI64);
  m.tensor("offs", ir::Role::kInput, {11}, DType::kI64);
  m.tensor("Y", ir::Role::kOutput, {10, 64});
  const Expr lo = m.load("offs", {v("b")}), hi = m.load("offs", {v("b") + ir::make_int(1)});
  m.stage("Y", {"b", "d"}, m.load("E", {m.load("ids", {v("j")}), v("d")}), ir::Reduce::kSum,
          {{"j", lo, hi}});
  const Expr rows = ir::make_int(999), ids = ir::make_int(200), bags = ir::make_int(10);
  m.p.checks = {
      {{{"j", {}, ids}}, m.load("ids", {v("j")}), ir::make_int(0), rows, "ids", v("j")},
      {{{"b", {}, bags}}, lo, ir::make_int(0), ids, "offs", v("b")},
      {{{"b", {}, bags}}, hi, lo, ids, "offs", v("b") + ir::make_int(1)},
  };
  return m.p;
}

ir::Program border() {
  Maker m;
  m.tensor("X", ir::Role::kInput, {100});
  m.tensor("t", ir::Role::kTemp, {100});
  m.tensor("Y", ir::Role::kOutput, {100});
  const Expr before = make_binary(ir::Op::kSub, v("i"), ir::make_int(1));
  m.stage("t", {"i"}, m.load("X", {v("i")}) * m.load("X", {v("i")}));
  m.stage("Y", {"i"},
          m.load("t", {before}, ir::make_float(0, DType::kF32)) + m.load("t", {v("i")}));
  return m.p;
}

ir::Program masked() {
  Maker m;
  m.tensor("X", ir::Role::kInput, {20, 20});
  m.tensor("Y", ir::Role::kOutput, {20});
  m.tensor("t", ir::Role::kTemp, {20, 20});
  const Expr below = make_binary(ir::Op::kLe, v("j"), v("i"));
  m.stage("t", {"i", "j"}, m.load("X", {v("i"), v("j")}) * ir::make_float(2, DType::kF32)).where =
      below;
  m.stage("Y", {"i"}, m.load("t", {v("i"), v("j")}), ir::Reduce::kSum,
          {{"j", {}, ir::make_int(20)}})
      .where = below;
  return m.p;
}

/// Two outputs of the same elements.
ir::Program pair() {
  Maker m;
  m.tensor("X", ir::Role::kInput, {100});
  m.tensor("Y", ir::Role::kOutput, {100});
  m.tensor("Z", ir::Role::kOutput, {100});
  m.stage("Y", {"k"}, m.load("X", {v("k")}) + ir::make_float(1, DType::kF32));
  m.stage("Z", {"i"}, m.load("X", {v("i")}) * m.load("X", {v("i")}));
  return m.p;
}

/// What a loop reads of `t` is a diagonal, and of `u` every other element.
ir::Program gaps() {
  Maker m;
  m.tensor("X", ir::Role::kInput, {20, 20});
  m.tensor("t", ir::Role::kTemp, {20, 20});
  m.tensor("u", ir::Role::kTemp, {20});
  m.tensor("Y", ir::Role::kOutput, {10});
  m.tensor("Z", ir::Role::kOutput, {20, 20});
  m.stage("t", {"i", "j"}, m.load("X", {v("i"), v("j")}) * ir::make_float(2, DType::kF32));
  m.stage("u", {"i"}, m.load("X", {v("i"), v("i")}) * ir::make_float(3, DType::kF32));
  const Expr twice = v("i") * ir::make_int(2);
  m.stage("Y", {"i"}, m.load("t", {v("i"), v("i")}) * m.load("u", {twice}));
  m.stage("Z", {"i", "j"}, m.load("t", {v("i"), v("j")}) + m.load("u", {v("i")}));
  return m.p;
}

/// The greatest of each row, and a sum that depends on it by its square.
ir::Program squares() {
  Maker m;
  m.tensor("X", ir::Role::kInput, {8, 100});
  m.tensor("m", ir::Role::kTemp, {8});
  m.tensor("Y", ir::Role::kOutput, {8});
  const ir::IndexVar j{"j", {}, ir::make_int(100)};
  m.stage("m", {"i"}, m.load("X", {v("i"), v("j")}), ir::Reduce::kMax, {j});
  const Expr less = make_binary(ir::Op::kSub, m.load("X", {v("i"), v("j")}), m.load("m", {v("i")}));
  m.stage("Y", {"i"}, less * less, ir::Reduce::kSum, {j});
  return m.p;
}

/// A product of rows with what exp makes of others, up to the diagonal.
ir::Program triangle() {
  Maker m;
  m.tensor("X", ir::Role::kInput, {20, 20});
  m.tensor("V", ir::Role::kInput, {20, 4});
  m.tensor("m", ir::Role::kTemp, {20});
  m.tensor("Y", ir::Role::kOutput, {20, 4});
  const Expr below = make_binary(ir::Op::kLe, v("j"), v("i"));
  const ir::IndexVar j{"j", {}, ir::make_int(20)};
  const Expr x = m.load("X", {v("i"), v("j")});
  m.stage("m", {"i"}, x, ir::Reduce::kMax, {j}).where = below;
  const Expr e = call("exp", make_binary(ir::Op::kSub, x, m.load("m", {v("i")})));
  m.stage("Y", {"i", "d"}, e * m.load("V", {v("j"), v("d")}), ir::Reduce::kSum, {j}).where = below;
  return m.p;
}

}  // namespace

ir::Program example_program(std::string_view name) {
  if (name == "chain") return chain();
  if (name == "product") return product();
  if (name == "bytes") return bytes();
  if (name == "layer") return layer();
  if (name == "rows") return rows();
  if (name == "bag") return bag();
  if (name == "border") return border();
  if (name == "masked") return masked();
  if (name == "pair") return pair();
  if (name == "gaps") return gaps();
  if (name == "squares") return squares();
  if (name == "triangle") return triangle();
  // What is no name may be a problem.
  const auto problem = ops::parse_problem(std::string(name));
  if (!problem) throw std::invalid_argument(problem.failure().message);
  return problem->program;
}

ir::Target target_named(std::string_view text) {
  const auto target = ir::parse_target(text, {});
  if (!target) throw std::invalid_argument(target.failure().message);
  return *target;
}

ir::Program by_default(const std::string& problem, const ir::Target& target) {
  const auto parsed = ops::parse_problem(problem);
  if (!parsed) throw std::invalid_argument(parsed.failure().message);
  auto applied =
      schedules::apply(parsed->program, schedules::default_schedule(parsed->program, target));
  if (!applied) throw std::invalid_argument(applied.failure().text());
  return *std::move(applied);
}

}  // namespace hone::tests
