// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/encode/print.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "jit/x86/encode/forms.h"

namespace hone::jit {
namespace {

constexpr std::string_view kGprNames[16][4] = {
    {"al", "ax", "eax", "rax"},      {"cl", "cx", "ecx", "rcx"},
    {"dl", "dx", "edx", "rdx"},      {"bl", "bx", "ebx", "rbx"},
    {"spl", "sp", "esp", "rsp"},     {"bpl", "bp", "ebp", "rbp"},
    {"sil", "si", "esi", "rsi"},     {"dil", "di", "edi", "rdi"},
    {"r8b", "r8w", "r8d", "r8"},     {"r9b", "r9w", "r9d", "r9"},
    {"r10b", "r10w", "r10d", "r10"}, {"r11b", "r11w", "r11d", "r11"},
    {"r12b", "r12w", "r12d", "r12"}, {"r13b", "r13w", "r13d", "r13"},
    {"r14b", "r14w", "r14d", "r14"}, {"r15b", "r15w", "r15d", "r15"}};

using Out = std::back_insert_iterator<std::string>;

char letter(int width) { return width == 64 ? 'z' : width == 32 ? 'y' : 'x'; }

void print_reg(Out out, Reg r, RegClass cls, int width, bool physical) {
  switch (cls) {
    case RegClass::kVec:
      if (physical) {
        fmt::format_to(out, "{}mm{}", letter(width), r.id);
      } else {
        fmt::format_to(out, "v{}{}", r.id, letter(width));
      }
      return;
    case RegClass::kMask:
      fmt::format_to(out, "k{}", r.id);
      return;
    case RegClass::kGpr: {
      const int size = width == 8 ? 3 : width == 4 ? 2 : width == 2 ? 1 : 0;
      if (physical) {
        fmt::format_to(out, "{}", kGprNames[r.id & 15][size]);
      } else {
        constexpr std::string_view suffix[] = {"b", "w", "d", ""};
        fmt::format_to(out, "g{}{}", r.id, suffix[size]);
      }
      return;
    }
  }
}

void print_mem(Out out, const Operand& o, bool gather, bool physical) {
  const Mem& m = o.mem;
  if (o.width > 0 && !gather) fmt::format_to(out, "m{}", o.width * 8);
  fmt::format_to(out, "[");
  bool first = true;
  auto plus = [&] {
    if (!first) fmt::format_to(out, " + ");
    first = false;
  };
  if (m.pool >= 0) {
    plus();
    fmt::format_to(out, "pool");
  }
  if (m.slot >= 0) {
    plus();
    fmt::format_to(out, "frame");
  }
  if (m.base.valid()) {
    plus();
    print_reg(out, m.base, RegClass::kGpr, 8, physical);
  }
  if (m.index.valid()) {
    plus();
    print_reg(out, m.index, gather ? RegClass::kVec : RegClass::kGpr, gather ? o.width : 8,
              physical);
    if (m.scale != 1) fmt::format_to(out, "*{}", m.scale);
  }
  const int64_t disp = int64_t{m.disp} + std::max(m.pool, 0) + std::max(m.slot, 0);
  if (first) {
    fmt::format_to(out, "{}", disp);
  } else if (disp != 0) {
    fmt::format_to(out, " {} {}", disp < 0 ? '-' : '+', disp < 0 ? -disp : disp);
  }
  fmt::format_to(out, "]{}", m.broadcast ? "{bcst}" : "");
}

bool names_label(Opcode op) {
  return op == Pseudo::label || op == Pseudo::loop_begin || op == Pseudo::loop_end ||
         (op >= Pseudo::jump && op <= Pseudo::jump_above_equal);
}

void print_inst(Out out, const Inst& inst, bool physical) {
  fmt::format_to(out, "{}", name_of(inst.op));
  const Form* form = form_of(inst);
  const bool gather = form && form->access == Access::kGather;
  const char* before = " ";
  for (int i = 0; i < 4; ++i) {
    const Operand& o = inst.operands[i];
    if (o.kind == Operand::kNone) break;
    fmt::format_to(out, "{}", before);
    before = ", ";
    if (o.kind == Operand::kReg) print_reg(out, o.reg, class_of(o), o.width, physical);
    if (o.kind == Operand::kMem) print_mem(out, o, gather, physical);
    if (o.kind == Operand::kImm) {
      fmt::format_to(out, "{}{}", names_label(inst.op) ? "L" : "", o.imm);
    }
    if (i == 0 && inst.mask.valid()) {
      fmt::format_to(out, "{{k{}}}{}", inst.mask.id, inst.zeroing ? "{z}" : "");
    }
  }
  if (!is_pseudo(inst.op) && !form) fmt::format_to(out, "  ; no form has these operands");
}

}  // namespace

std::string print(const Inst& inst, bool physical) {
  std::string text;
  print_inst(Out(text), inst, physical);
  return text;
}

std::string print(const Lir& lir) {
  std::string text;
  Out out(text);
  fmt::format_to(out, "entry");
  for (Reg r : lir.entry) {
    fmt::format_to(out, " ");
    if (r.valid()) {
      print_reg(out, r, RegClass::kGpr, 8, lir.physical);
    } else {
      fmt::format_to(out, "-");
    }
  }
  fmt::format_to(out, "\n");
  int depth = 1;
  for (const Inst& inst : lir.code) {
    if (inst.op == Pseudo::loop_end) --depth;
    const bool outdent = inst.op == Pseudo::label;
    fmt::format_to(out, "{:{}}", "", 2 * std::max(0, depth - outdent));
    print_inst(out, inst, lir.physical);
    fmt::format_to(out, "\n");
    if (inst.op == Pseudo::loop_begin) ++depth;
  }
  if (!lir.pool.empty()) fmt::format_to(out, "pool {} bytes\n", lir.pool.size());
  return text;
}

}  // namespace hone::jit
