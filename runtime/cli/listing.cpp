// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/listing.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace hone::runtime {
namespace {

/// A decoded instruction and where it may jump to.
struct Line {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  int64_t target = -1;
};

class Lister {
 public:
  explicit Lister(std::span<const uint8_t> bytes) : bytes_(bytes) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter_, ZYDIS_FORMATTER_STYLE_INTEL);
  }

  /// The instructions reached from `entry`.
  std::string run(int64_t entry) {
    follow(entry);
    name_targets();
    std::string text;
    auto out = std::back_inserter(text);
    int64_t expected = entry;
    for (const auto& [at, line] : lines_) {
      if (at != expected) fmt::format_to(out, "        ...\n");
      expected = at + line.instruction.length;
      if (const auto label = labels_.find(at); label != labels_.end()) {
        fmt::format_to(out, "{:{}}L{}:\n", "", 8 + 2 * depth(at), label->second);
      }
      fmt::format_to(out, "{:6x}  {:{}}{}\n", at, "", 2 * depth(at) + 2, describe(at, line));
    }
    return text;
  }

 private:
  void follow(int64_t entry) {
    std::vector<int64_t> pending{entry};
    while (!pending.empty()) {
      int64_t at = pending.back();
      pending.pop_back();
      while (at >= 0 && at < static_cast<int64_t>(bytes_.size()) && !lines_.contains(at)) {
        Line line;
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, bytes_.data() + at,
                                                 bytes_.size() - static_cast<size_t>(at),
                                                 &line.instruction, line.operands))) {
          break;
        }
        const ZydisInstructionCategory category = line.instruction.meta.category;
        const int64_t next = at + line.instruction.length;
        const bool jump =
            category == ZYDIS_CATEGORY_UNCOND_BR || category == ZYDIS_CATEGORY_COND_BR;
        if (jump && line.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
          line.target = next + line.operands[0].imm.value.s;
          pending.push_back(line.target);
        }
        lines_.emplace(at, line);
        if (category == ZYDIS_CATEGORY_RET || category == ZYDIS_CATEGORY_UNCOND_BR) break;
        at = next;
      }
    }
  }

  void name_targets() {
    std::set<int64_t> targets;
    for (const auto& [at, line] : lines_) {
      if (line.target < 0) continue;
      targets.insert(line.target);
      if (line.target <= at) loops_.emplace_back(line.target, at);
    }
    int number = 0;
    for (int64_t t : targets) labels_[t] = number++;
  }

  /// How many loops hold the instruction: backward jumps over it, one for each head.
  int depth(int64_t at) const {
    std::set<int64_t> heads;
    for (const auto& [head, end] : loops_) {
      if (at >= head && at <= end) heads.insert(head);
    }
    return static_cast<int>(heads.size());
  }

  std::string describe(int64_t at, const Line& line) const {
    if (line.target >= 0) {
      return fmt::format("{} L{}", ZydisMnemonicGetString(line.instruction.mnemonic),
                         labels_.at(line.target));
    }
    char text[256];
    ZydisFormatterFormatInstruction(&formatter_, &line.instruction, line.operands,
                                    line.instruction.operand_count_visible, text, sizeof text,
                                    static_cast<ZyanU64>(at), nullptr);
    return text + constant(at, line);
  }

  template <class T>
  T element(int64_t from) const {
    T value{};
    const auto size = static_cast<int64_t>(bytes_.size());
    if (from >= 0 && from + static_cast<int64_t>(sizeof value) <= size) {
      std::memcpy(&value, bytes_.data() + from, sizeof value);
    }
    return value;
  }

  /// The first element of what a rip-relative operand names.
  std::string constant(int64_t at, const Line& line) const {
    for (int i = 0; i < line.instruction.operand_count_visible; ++i) {
      const ZydisDecodedOperand& o = line.operands[i];
      if (o.type != ZYDIS_OPERAND_TYPE_MEMORY || o.mem.base != ZYDIS_REGISTER_RIP) continue;
      const int64_t from = at + line.instruction.length + o.mem.disp.value;
      const std::string_view name = ZydisMnemonicGetString(line.instruction.mnemonic);
      if (name.ends_with("pd") || name.ends_with("sd")) {
        return fmt::format("  ; f64 {:.17g}", element<double>(from));
      }
      if (name.ends_with("ps") || name.ends_with("ss")) {
        return fmt::format("  ; f32 {:.9g}", element<float>(from));
      }
      return fmt::format("  ; i32 {}", element<int32_t>(from));
    }
    return {};
  }

  std::span<const uint8_t> bytes_;
  ZydisDecoder decoder_;
  ZydisFormatter formatter_;
  std::map<int64_t, Line> lines_;
  std::map<int64_t, int> labels_;
  std::vector<std::pair<int64_t, int64_t>> loops_;  ///< head and backward jump
};

}  // namespace

std::string listing(const jit::X86Code& code, const ir::Nest& nest) {
  std::string text;
  for (size_t i = 0; i < code.entries.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "launch {}, entry {:x}\n", nest.launches[i].name,
                   code.entries[i]);
    text += Lister(code.bytes).run(code.entries[i]);
  }
  return text;
}

}  // namespace hone::runtime
