// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace hone::ir {
namespace {

struct IsaName {
  std::string_view name;
  Isa bit;
  uint32_t implies;  ///< everything the name stands for
};

constexpr uint32_t bit(Isa i) { return static_cast<uint32_t>(i); }

constexpr IsaName kIsaNames[] = {
    {"avx512", Isa::kAvx512, bit(Isa::kAvx512) | bit(Isa::kAvx2)},
    {"avx2", Isa::kAvx2, bit(Isa::kAvx2)},
    {"vnni", Isa::kVnni, bit(Isa::kVnni) | bit(Isa::kAvx512) | bit(Isa::kAvx2)},
    {"bf16", Isa::kBf16, bit(Isa::kBf16) | bit(Isa::kAvx512) | bit(Isa::kAvx2)},
    {"avxvnni", Isa::kAvxVnni, bit(Isa::kAvxVnni) | bit(Isa::kAvx2)},
    {"fp16", Isa::kFp16, bit(Isa::kFp16) | bit(Isa::kAvx512) | bit(Isa::kAvx2)},
};

std::string print_bytes(int64_t bytes) {
  if (bytes > 0 && bytes % (1 << 20) == 0) return fmt::format("{}M", bytes >> 20);
  if (bytes > 0 && bytes % (1 << 10) == 0) return fmt::format("{}K", bytes >> 10);
  return fmt::format("{}", bytes);
}

/// What is wrong in a target's text, each word underlined.
class Objections {
 public:
  explicit Objections(std::string_view text) : text_(text) {}

  void add(size_t at, size_t length, std::string_view why) {
    ++found_;
    told_ += fmt::format("{}target: {}\n  {}\n  {}{}", told_.empty() ? "" : "\n", why, text_,
                         std::string(at, ' '), std::string(length, '^'));
  }
  bool any() const { return found_ > 0; }
  /// True where no more are taken.
  bool full() const { return found_ >= kMost; }
  Failure failure() const { return {ErrorCode::kSyntax, told_}; }

 private:
  /// Chosen: what people read (not measured).
  static constexpr int kMost = 20;

  std::string_view text_;
  std::string told_;
  int found_ = 0;
};

bool parse_number(std::string_view digits, int64_t* value) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value);
  return error == std::errc() && end == digits.data() + digits.size() && *value >= 0;
}

/// `48K`, `1M`, `12345`; false where it is none of these or past 2^50.
bool parse_bytes(std::string_view text, int64_t* value) {
  int shift = 0;
  if (text.ends_with('K')) shift = 10;
  if (text.ends_with('M')) shift = 20;
  if (text.ends_with('G')) shift = 30;
  if (shift > 0) text.remove_suffix(1);
  if (!parse_number(text, value) || *value > (int64_t{1} << 50) >> shift) return false;
  *value <<= shift;
  return true;
}

bool parse_isa(std::string_view text, uint32_t* isa) {
  *isa = 0;
  if (text == "none") return true;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    uint32_t found = 0;
    for (const IsaName& row : kIsaNames) {
      if (row.name == name) found = row.implies;
    }
    if (found == 0) return false;
    *isa |= found;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

/// Halide's schedulers for CPUs; the first stands for the schedule's own steps.
constexpr std::string_view kAutoschedulers[] = {"none", "adams2019", "mullapudi2016", "li2018"};

bool is_cpu_name(std::string_view text) {
  for (char c : text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!word) return false;
  }
  return !text.empty();
}

/// Reads one `key=value` into `target`; what is wrong, or empty.
std::string assign(std::string_view key, std::string_view value, Target* target) {
  if (key == "isa") {
    if (parse_isa(value, &target->isa)) return {};
    return "isa takes `none` or names joined by commas: avx2 avx512 vnni bf16 avxvnni fp16";
  }
  if (key == "cpu") {
    target->cpu = value == "any" ? std::string() : std::string(value);
    return is_cpu_name(value) ? "" : "cpu takes vendor-family-model, `amd-1a-02`, or `any`";
  }
  if (key == "threads") {
    int64_t count = 0;
    if (!parse_number(value, &count) || count < 1 || count > 4096) {
      return "threads takes a number from 1 to 4096";
    }
    target->threads = static_cast<int>(count);
    return {};
  }
  int64_t* const bytes = key == "l1d"  ? &target->l1d
                         : key == "l2" ? &target->l2
                         : key == "l3" ? &target->l3
                                       : nullptr;
  if (!bytes) {
    return target->halide ? "unknown key; one of autoschedule float isa cpu threads l1d l2 l3"
                          : "unknown key; one of isa cpu threads l1d l2 l3";
  }
  return parse_bytes(value, bytes) ? "" : "a cache size is a number of bytes, `48K`, `1M`";
}

/// Reads what only Halide takes; false: `key` is none of it.
bool assign_halide(std::string_view key, std::string_view value, Target* target, std::string* why) {
  if (key == "autoschedule") {
    const auto* const row =
        std::find(std::begin(kAutoschedulers), std::end(kAutoschedulers), value);
    if (row == std::end(kAutoschedulers)) {
      *why = "autoschedule takes none, adams2019, mullapudi2016 or li2018";
    }
    target->autoschedule = value == kAutoschedulers[0] ? std::string() : std::string(value);
    return true;
  }
  if (key != "float") return false;
  if (value != "strict" && value != "fast") *why = "float takes strict or fast";
  target->fast_float = value == "fast";
  return true;
}

/// The words that name Halide and how it is to work.
std::string halide_words(const Target& t) {
  std::string text = "halide";
  if (!t.autoschedule.empty()) text += " autoschedule=" + t.autoschedule;
  return text + (t.fast_float ? " float=fast" : "");
}

}  // namespace

std::string isa_text(uint32_t isa) {
  std::string text;
  for (const IsaName& row : kIsaNames) {
    const bool implied = row.bit == Isa::kAvx2 && (isa & bit(Isa::kAvx512)) != 0;
    if ((isa & bit(row.bit)) == 0 || implied) continue;
    if (!text.empty()) text += ',';
    text += row.name;
  }
  return text.empty() ? "none" : text;
}

Target device_of(Target target) {
  target.ptx = 0;
  return target;
}

std::string newer_compiler_hint(const Target& t, bool on_device) {
  if (t.ptx == 0 || !on_device) return {};
  return fmt::format(
      "; PTX for sm_{} is what an NVRTC makes that does not know sm_{}: install one that does, or "
      "name it in HONE_NVRTC",
      t.ptx, t.sm);
}

std::string print(const Target& t) {
  if (t.is_cuda()) {
    std::string text = fmt::format("cuda sm={}", t.sm);
    if (t.ptx != 0) text += fmt::format(" ptx={}", t.ptx);
    if (t.gpu.empty()) return text;
    return text + fmt::format(" gpu={} sms={} mhz={} memory_mhz={} l2={}", t.gpu, t.sms, t.mhz,
                              t.memory_mhz, print_bytes(t.l2));
  }
  return fmt::format("{} isa={} cpu={} threads={} l1d={} l2={} l3={}",
                     t.halide ? halide_words(t) : "x86", isa_text(t.isa),
                     t.cpu.empty() ? "any" : t.cpu, t.threads, print_bytes(t.l1d),
                     print_bytes(t.l2), print_bytes(t.l3));
}

namespace {

/// Reads one `key=value` of a GPU into `target`; what is wrong, or empty.
std::string assign_cuda(std::string_view key, std::string_view value, Target* target) {
  if (key == "gpu") {
    target->gpu = std::string(value);
    return is_cpu_name(value) ? "" : "gpu takes a name in small letters, `nvidia-h200`";
  }
  if (key == "l2") {
    return parse_bytes(value, &target->l2) ? "" : "a cache size is a number of bytes, `48K`, `1M`";
  }
  int64_t number = 0;
  const bool read = parse_number(value, &number) && number < 1000000;
  if (key == "sm") {
    if (!read || number < 50 || number > 999) {
      return "sm takes a compute capability without its point, 75 to 999: `sm=90`";
    }
    const int sm = static_cast<int>(number);
    // Another GPU than the one at hand: nothing else is known of it.
    if (sm != target->sm) *target = Target{};
    target->sm = sm;
    return {};
  }
  if (key == "ptx") {
    target->ptx = static_cast<int>(number);
    if (read && number >= 50 && number < target->sm) return {};
    return "ptx takes an earlier compute capability than the sm before it: `sm=90 ptx=86`";
  }
  int* const figure = key == "sms"          ? &target->sms
                      : key == "mhz"        ? &target->mhz
                      : key == "memory_mhz" ? &target->memory_mhz
                                            : nullptr;
  if (!figure) return "unknown key; a GPU has sm ptx gpu sms mhz memory_mhz l2";
  *figure = static_cast<int>(number);
  return read ? "" : std::string(key) + " takes a number";
}

}  // namespace

Result<Target> parse_target(std::string_view text, const Target& base) {
  Target target = base;
  Objections wrong(text);
  bool first = true, cuda = false;
  size_t at = 0;
  while (!wrong.full() && (at = text.find_first_not_of(' ', at)) != std::string_view::npos) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const size_t equals = word.find('=');
    std::string why;
    if (first) {
      cuda = word == "cuda";
      const bool halide = word == "halide";
      if (!cuda && !halide && word != "x86") {
        // What its words would mean is not known.
        wrong.add(at, word.size(),
                  "a target starts with its kind; those known are `x86`, `halide` and `cuda`");
        return wrong.failure();
      }
      if (cuda != base.is_cuda()) target = Target{};
      target.halide = halide, target.fast_float = false, target.autoschedule.clear();
    } else if (equals == std::string_view::npos) {
      why = "expected key=value";
    } else {
      const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
      if (!target.halide || !assign_halide(key, value, &target, &why)) {
        why = cuda ? assign_cuda(key, value, &target) : assign(key, value, &target);
      }
    }
    if (!why.empty()) wrong.add(at, word.size(), why);
    first = false;
    at = end;
  }
  if (cuda && target.sm == 0 && !wrong.any()) {
    wrong.add(0, text.size(), "which GPU to compile for is not said; add `sm=90` or so");
  }
  if (wrong.any()) return wrong.failure();
  return target;
}

}  // namespace hone::ir
