// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "jit/ir/scan.h"

namespace hone::jit {

/// The most points that a tape evaluates at once.
/// Chosen: rows of values that a near cache holds (not measured).
inline constexpr int kLanes = 256;

/// One instruction of a tape; instruction i writes register i.
struct TapeInstr {
  enum Kind : uint8_t {
    kConst,    ///< `i` or `f`
    kEnv,      ///< environment value `slot`, the same for all lanes
    kLane,     ///< the value of the lane variable
    kInRange,  ///< 0 <= a < i, as bool
    kLoad,     ///< element at offset `a` of memory `slot`, where `b` (if any) holds, else `c`
    kExpr,     ///< `op` of a, b, c
  } kind = kConst;
  ir::Op op = ir::Op::kInt;
  DType type = DType::kI64;  ///< of the result
  DType from = DType::kI64;  ///< of operand a
  bool varying = false;      ///< differs between lanes
  bool broadcast = false;    ///< uniform, but read by a varying instruction
  bool inexact = false;      ///< may carry an error bound
  int a = -1, b = -1, c = -1;
  /// Of a sum that vectors may make as a prefix, as ir::Scan has them; -1: it has none.
  int term = -1, factor = -1, earlier = -1;
  int slot = -1;
  int64_t i = 0;
  double f = 0;
  const ir::Function* fn = nullptr;

  bool operator==(const TapeInstr&) const = default;
};

/// Expressions in a flat form: evaluated for up to kLanes points at once, registers in f64 or i64.
struct Tape {
  std::vector<TapeInstr> code;
};

/// Builds a tape from expressions; equal instructions are shared.
class TapeBuilder {
 public:
  /// Lowers a leaf of the owner's kind (kVar, kDim, kScalar, kLoad) to a register.
  using Leaf = std::function<int(TapeBuilder&, const ir::Expr&)>;
  explicit TapeBuilder(Leaf leaf) : leaf_(std::move(leaf)) {}

  /// The register that holds `e`.
  int add(const ir::Expr& e);
  /// The register of an instruction; sets `varying` and `inexact` from its operands.
  int push(TapeInstr instr);
  int constant(int64_t value);
  /// `op` of registers, all of type `type` (kBool for the results of comparisons).
  int binary(ir::Op op, DType type, int a, int b);
  /// A sum that vectors may make as a prefix, and how.
  struct Prefix {
    ir::Expr sum;
    ir::Scan scan;
  };
  /// Adds such sums; the parts of all prefixes come before them.
  void add_prefixes(const std::vector<Prefix>& prefixes);

  bool varying(int reg) const { return tape_.code[static_cast<size_t>(reg)].varying; }
  DType type(int reg) const { return tape_.code[static_cast<size_t>(reg)].type; }
  /// The tape; registers in `results` are readable for every lane.
  Tape take(const std::vector<int>& results);

 private:
  int add_new(const ir::Expr& e);

  Leaf leaf_;
  Tape tape_;
  std::unordered_map<const ir::Node*, int> memo_;
};

/// What float arithmetic rounds to.
enum class Arithmetic : uint8_t {
  kWide,     ///< f64 throughout: the definition
  kRounded,  ///< each result to the type that computes it (f32 for f16 and bf16), as code does
};

/// Registers and surroundings of a running tape.
struct Frame {
  /// Fetches `n` elements of instruction `instr`; lanes that must not be written are poisoned.
  using Load = void (*)(void* self, const TapeInstr& instr, Frame& frame, int n, int dst);

  Frame() = default;
  /// Registers for `tape`, each `width` lanes wide; with `with_bounds` error bounds beside them.
  Frame(const Tape& tape, bool with_bounds, int width = kLanes);

  /// Register `r` of a float type.
  double* f(int r) { return values_.get() + static_cast<ptrdiff_t>(r) * width_; }
  /// Register `r` of an integer type or bool.
  int64_t* i(int r) { return reinterpret_cast<int64_t*>(f(r)); }
  /// Error bounds of register `r`; only with bounds.
  double* e(int r) { return bounds_.get() + static_cast<ptrdiff_t>(r) * width_; }
  bool has_bounds() const { return bounds_ != nullptr; }

  const int64_t* env = nullptr;       ///< integers by slot
  const double* float_env = nullptr;  ///< floats by slot
  const int64_t* lane = nullptr;      ///< the lane variable
  Load load = nullptr;
  void* self = nullptr;
  Arithmetic arithmetic = Arithmetic::kWide;
  bool any_poison = false;
  double largest_whole_term = 0;  ///< of sums with TapeInstr::term, while they were exact
  double largest_factor = 1;      ///< TapeInstr::factor so far
  double largest_operand = 1;     ///< of sums with a factor: terms and earlier results so far
  uint8_t poison[kLanes] = {};    ///< lanes that touched what does not exist

  /// Marks lane `l`, or, for an instruction all lanes share, every one.
  void poison_lane(const TapeInstr& instr, int l);
  /// Clears the marks.
  void clear_poison();

 private:
  int width_ = kLanes;
  std::unique_ptr<double[]> values_;
  std::unique_ptr<double[]> bounds_;
};

/// Runs `tape` for `n` lanes; results stand in the frame's registers.
void run_tape(const Tape& tape, Frame& frame, int n);

/// True where the integer `v` of `type`, off by up to `e`, may leave the type and wrap.
bool may_wrap(DType type, int64_t v, double e);

/// Error bounds of the result of a kExpr instruction, its value computed already. The rules stand
/// in tape_bounds.cpp.
void bound_instr(const TapeInstr& instr, Frame& frame, int n, int dst);

}  // namespace hone::jit
