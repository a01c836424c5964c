// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "include/hone/error.h"

namespace hone::ir {

/// Instruction set extensions of x86; a Target holds a set. Avx2 implies fma and f16c; Avx512
/// implies f, cd, bw, dq, vl and avx2.
enum class Isa : uint32_t {
  kAvx2 = 1,
  kAvx512 = 2,
  kVnni = 4,      ///< AVX512-VNNI
  kBf16 = 8,      ///< AVX512-BF16
  kAvxVnni = 16,  ///< the VEX form
  kFp16 = 32,     ///< AVX512-FP16
};

/// The target: what to compile for. As text:
///   `x86 isa=avx512,vnni,bf16 cpu=amd-1a-02 threads=2 l1d=48K l2=1M l3=32M`
///   `x86 isa=none`           the interpreter
///   `cuda sm=90`             any GPU of compute capability 9.0
///   `cuda sm=90 gpu=nvidia-h200 sms=132 mhz=1980 memory_mhz=3201 l2=60M`  the GPU of a machine
///   `cuda sm=90 ptx=86`      the same GPU, running code of an earlier capability
///   `halide isa=avx2 threads=2`  an x86 for which Halide makes the code by the schedule's steps
///   `halide autoschedule=adams2019`  by Halide's own schedule
/// For a GPU, members that the text does not name have no meaning. With `float=fast` Halide may
/// round products and sums at once and need not handle NaN and infinities.
struct Target {
  int sm = 0;          ///< compute capability, ten times; 0: x86
  int ptx = 0;         ///< code is PTX of this earlier capability; 0: machine code for `sm`
  std::string gpu;     ///< name of the device; empty: any
  int sms = 0;         ///< multiprocessors; 0: not known, as are the other figures
  int mhz = 0;         ///< clock of the multiprocessors
  int memory_mhz = 0;  ///< clock of the memory
  uint32_t isa = 0;
  std::string cpu;  ///< vendor-family-model in hex; empty: any
  int threads = 1;
  int64_t l1d = 32 << 10;  ///< bytes
  int64_t l2 = 1 << 20;    ///< bytes per core
  int64_t l3 = 16 << 20;   ///< bytes shared

  bool halide = false;       ///< Halide makes the code
  bool fast_float = false;   ///< Halide's arithmetic may deviate from IEEE
  std::string autoschedule;  ///< Halide's scheduler of this name; empty: the schedule's steps

  bool is_cuda() const { return sm != 0; }
  /// The capability whose instructions code may have: memory and multiprocessors are those of `sm`.
  int generation() const { return ptx != 0 ? ptx : sm; }
  bool has(Isa i) const { return (isa & static_cast<uint32_t>(i)) != 0; }
  /// Bytes of a vector register: 64, 32, or 0 without AVX2.
  int vector_bytes() const { return has(Isa::kAvx512) ? 64 : has(Isa::kAvx2) ? 32 : 0; }
  /// Architectural vector registers: 32 or 16.
  int vector_registers() const { return has(Isa::kAvx512) ? 32 : 16; }
  bool operator==(const Target&) const = default;
};

/// `avx2,avxvnni`: the names of a set of extensions; `none` of the empty one.
std::string isa_text(uint32_t isa);

/// `target` with code for the device itself: what the device has, whatever code has.
Target device_of(Target target);

/// A hint for errors about features that code for `target` cannot have: how it could have them. It
/// applies where the device has the feature (`on_device`) and only its code is of an earlier
/// capability. Else empty.
std::string newer_compiler_hint(const Target& target, bool on_device);

/// Canonical text; parse(print(t)) == t.
std::string print(const Target& target);

/// Parses target text. Parts left out are taken from `base` (the host, usually): `x86 isa=avx2`
/// is the host capped to AVX2.
Result<Target> parse_target(std::string_view text, const Target& base);

}  // namespace hone::ir
