// SPDX-License-Identifier: Apache-2.0
#include "tests/support/isa_check.h"

#include <Zydis/Zydis.h>

#include <iterator>
#include <set>
#include <string_view>
#include <vector>

namespace hone::tests {
namespace {

/// What an ISA set of the disassembler wants of a target; the first row that fits its name counts.
struct Rule {
  std::string_view prefix;
  uint32_t needs;  ///< bits of ir::Isa; 0: every x86-64
};

constexpr uint32_t bit(ir::Isa isa) { return static_cast<uint32_t>(isa); }

constexpr Rule kRules[] = {
    {"AVX512_VNNI", bit(ir::Isa::kVnni)},
    {"AVX512_BF16", bit(ir::Isa::kBf16)},
    {"AVX512_FP16", bit(ir::Isa::kFp16)},
    {"AVX512F_", bit(ir::Isa::kAvx512)},
    {"AVX512CD_", bit(ir::Isa::kAvx512)},
    {"AVX512BW_", bit(ir::Isa::kAvx512)},
    {"AVX512DQ_", bit(ir::Isa::kAvx512)},
    {"AVX_VNNI", bit(ir::Isa::kAvxVnni)},
    {"AVX2GATHER", bit(ir::Isa::kAvx2)},
    {"AVX2", bit(ir::Isa::kAvx2)},
    {"AVXAES", ~0u},
    {"AVX", bit(ir::Isa::kAvx2)},
    {"FMA", bit(ir::Isa::kAvx2)},
    {"F16C", bit(ir::Isa::kAvx2)},
    {"BMI1", bit(ir::Isa::kAvx2)},
    {"BMI2", bit(ir::Isa::kAvx2)},
    {"LZCNT", bit(ir::Isa::kAvx2)},
    {"POPCNT", bit(ir::Isa::kAvx2)},
    {"I86", 0},
    {"I186", 0},
    {"I286", 0},
    {"I386", 0},
    {"I486", 0},
    {"LONGMODE", 0},
    {"CMOV", 0},
    {"FAT_NOP", 0},
    {"PPRO", 0},
    {"SSE_PREFETCH", 0},
    {"SSEMXCSR", 0},
    {"SSE", 0},
    {"PREFETCH_NOP", 0},
    {"PENTIUMREAL", 0},
};

bool allowed(std::string_view set, const ir::Target& target) {
  for (const Rule& rule : kRules) {
    if (set.substr(0, rule.prefix.size()) == rule.prefix) {
      return (target.isa & rule.needs) == rule.needs;
    }
  }
  return false;
}

std::string describe(size_t offset, const ZydisDecodedInstruction& instruction,
                     const ZydisDecodedOperand* operands, std::string_view why) {
  ZydisFormatter formatter;
  ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
  char text[128];
  ZydisFormatterFormatInstruction(&formatter, &instruction, operands,
                                  instruction.operand_count_visible, text, sizeof text, offset,
                                  nullptr);
  return std::to_string(offset) + ": " + text + " (" + std::string(why) + ")";
}

}  // namespace

std::string isa_violation(std::span<const uint8_t> code, size_t entry, const ir::Target& target) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  std::set<size_t> seen;
  std::vector<size_t> pending{entry};
  while (!pending.empty()) {
    size_t at = pending.back();
    pending.pop_back();
    while (seen.insert(at).second) {
      if (at >= code.size()) return std::to_string(at) + ": control leaves the code";
      ZydisDecodedInstruction instruction;
      ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
      if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data() + at, code.size() - at,
                                               &instruction, operands))) {
        return std::to_string(at) + ": does not decode";
      }
      const std::string_view set = ZydisISASetGetString(instruction.meta.isa_set);
      if (!allowed(set, target)) return describe(at, instruction, operands, set);
      const ZydisInstructionCategory category = instruction.meta.category;
      const size_t next = at + instruction.length;
      if (category == ZYDIS_CATEGORY_RET) break;
      if (category == ZYDIS_CATEGORY_CALL || instruction.mnemonic == ZYDIS_MNEMONIC_INT3) {
        return describe(at, instruction, operands, "calls and traps have no place in a kernel");
      }
      if (category == ZYDIS_CATEGORY_UNCOND_BR || category == ZYDIS_CATEGORY_COND_BR) {
        if (operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) {
          return describe(at, instruction, operands, "an indirect jump");
        }
        const size_t goal = next + static_cast<size_t>(operands[0].imm.value.s);
        if (category == ZYDIS_CATEGORY_COND_BR) {
          pending.push_back(goal);
        } else {
          at = goal;
          continue;
        }
      }
      at = next;
    }
  }
  return {};
}

}  // namespace hone::tests
