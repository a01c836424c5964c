// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup, PTX ISA wgmma.mma_async: a 64 x N tile of sums in the registers of 128
// threads, `wgmma_m64n128k16_bf16(d, a, b, accumulate)`. Both a and b are matrix descriptors, or a
// is four registers (`..._registers`). Thread t holds in d[i] row `16 * (t / 32) + t % 32 / 4 + 8 *
// (i / 2 % 2)`, column `8 * (i / 4) + 2 * (t % 4) + i % 2`.
#include <fmt/format.h>

#include "jit/cuda/sm90_rows.h"
#include "jit/ir/instructions.h"

namespace hone::jit {
namespace {

struct Kind {
  const char* name;   ///< in the row's name, and of emulation::Kind
  int k;              ///< length of the sum
  const char* types;  ///< of d, a, b in the instruction
  char constraint;    ///< of a register of d
  bool scales;        ///< takes signs for a and b
  bool transposes;    ///< takes operands whose rows along k are apart
};

constexpr Kind kKinds[] = {
    {"bf16", 16, "f32.bf16.bf16", 'f', true, true}, {"f16", 16, "f32.f16.f16", 'f', true, true},
    {"tf32", 8, "f32.tf32.tf32", 'f', true, false}, {"i8i8", 32, "s32.s8.s8", 'r', false, false},
    {"u8u8", 32, "s32.u8.u8", 'r', false, false},   {"i8u8", 32, "s32.s8.u8", 'r', false, false},
    {"u8i8", 32, "s32.u8.s8", 'r', false, false},
};

/// The instruction with `a_registers` registers as a, or a descriptor if 0.
std::string instruction(const Kind& kind, int columns, int a_registers) {
  const int sums = columns / 2;
  std::string list, outputs, a_list, inputs;
  for (int i = 0; i < sums; ++i) {
    list += fmt::format("{}%{}", i ? ", " : "", i);
    outputs += fmt::format("{}\"+{}\"(d[{}])", i ? ", " : "", kind.constraint, i);
  }
  int next = sums;
  if (a_registers == 0) {
    a_list = fmt::format("%{}", next++);
    inputs = "\"l\"(a)";
  } else {
    for (int i = 0; i < a_registers; ++i) {
      a_list += fmt::format("{}%{}", i ? ", " : "{", next++);
      inputs += fmt::format("{}\"r\"(a[{}])", i ? ", " : "", i);
    }
    a_list += "}";
  }
  std::string rest = kind.scales ? ", 1, 1" : "";
  inputs += ", \"l\"(b), \"r\"((int)accumulate)";
  const int b = next, flag = next + 1;
  next += 2;
  if (kind.transposes && a_registers == 0)
    rest += fmt::format(", %{}", next++), inputs += ", \"n\"(TA)";
  if (kind.transposes) rest += fmt::format(", %{}", next++), inputs += ", \"n\"(TB)";
  return fmt::format(
      "asm volatile(\"{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{}, 0;\\n\"\n"
      "               \"wgmma.mma_async.sync.aligned.m64n{}k{}.{} {{{}}}, {}, %{}, p{};\\n}}\"\n"
      "               : {}\n               : {});",
      flag, columns, kind.k, kind.types, list, a_list, b, rest, outputs, inputs);
}

}  // namespace

std::vector<Sm90Row> sm90_wgmma() {
  std::vector<Sm90Row> rows;
  for (const Kind& kind : kKinds) {
    for (const int columns : ir::side_by_side()) {
      const std::string name = fmt::format("wgmma_m64n{}k{}_{}", columns, kind.k, kind.name);
      const std::string what = fmt::format("emulation::Kind::k{}, {}, ", kind.name, columns);
      // 1: the operand's neighbours in memory lie along the tile, not along the sum.
      rows.push_back(
          {kind.transposes ? "template <int TA = 0, int TB = 0, class P>" : "template <class P>",
           fmt::format("void {}(P d, u64 a, u64 b, bool accumulate)", name),
           instruction(kind, columns, 0),
           fmt::format("emulation::wgmma({}{}, d, a, b, accumulate);", what,
                       kind.transposes ? "TA, TB" : "0, 0"),
           true});
      rows.push_back({kind.transposes ? "template <int TB = 0, class P, class A>"
                                      : "template <class P, class A>",
                      fmt::format("void {}_registers(P d, A a, u64 b, bool accumulate)", name),
                      instruction(kind, columns, 4),
                      fmt::format("emulation::wgmma_registers({}{}, d, a, b, accumulate);", what,
                                  kind.transposes ? "TB" : "0"),
                      true});
    }
  }
  return rows;
}

}  // namespace hone::jit
