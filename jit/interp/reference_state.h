// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/interp/reference.h"
#include "jit/interp/tape.h"

namespace hone::jit {

class GroupEval;
class StageEval;

/// Values of a computed tensor, by row-major position: an array, or a table of those asked for.
class Cells {
 public:
  enum State : uint8_t { kEmpty, kWritten, kPoisoned };

  Cells() = default;
  Cells(DType type, int64_t elements, bool sparse, bool bounds);

  /// Where position `p` is kept; a sparse table makes a place for it.
  int64_t slot(int64_t p);

  std::vector<double> f;
  std::vector<int64_t> i;
  std::vector<double> e;
  std::vector<uint8_t> state;

 private:
  bool floats_ = true;
  bool sparse_ = false;
  bool bounds_ = false;
  std::unordered_map<int64_t, int64_t> places_;
};

/// A buffer of the program as the reference sees it.
struct RefBuffer {
  const ir::Buffer* buffer = nullptr;
  std::vector<int64_t> shape;
  const TensorView* view = nullptr;  ///< parameters
  int producer = -1;                 ///< index of the stage that writes it
  Cells cells;                       ///< what that stage wrote

  int64_t elements() const;
};

/// Everything one evaluation shares between its stages.
struct RefState {
  const ir::Program* program = nullptr;
  bool bounds = false;
  bool on_demand = false;
  std::vector<int64_t> dims;
  std::vector<double> scalars;
  std::vector<int64_t> int_scalars;
  std::vector<RefBuffer> buffers;
  std::vector<std::unique_ptr<StageEval>> stages;
  std::vector<std::shared_ptr<GroupEval>> groups;  ///< per stage; null: it is in none
  std::string fault;                               ///< the first access that found nothing

  int buffer_index(const std::string& name) const;
  /// Evaluates element `p` of the stage, and what else comes with it.
  void evaluate_element(int stage, int64_t p);
  /// The value of an expression in constants and dims.
  int64_t extent(const ir::Expr& e);
};

/// Ties the program's parameters to the caller's tensors; says what does not fit.
std::optional<Failure> bind_buffers(RefState& state, std::span<const TensorView> params);

/// Variables in scope of a tape, with the slot of each in the environment.
struct TapeScope {
  std::vector<std::string> names;
  std::string lane;  ///< this one differs between lanes; empty: none
};

/// A tape with its registers, reading a RefState.
struct RefTape {
  Tape tape;
  Frame frame;
  std::vector<int> results;

  explicit operator bool() const { return !results.empty(); }
  /// Runs for `n` lanes in the environment `env`.
  void run(RefState& state, const int64_t* env, const int64_t* lane, int n);
};

/// `exprs` as a tape of stage `stage` (loads see what earlier stages wrote). With `domain` set,
/// values are converted to a float or an integer as that type is.
RefTape make_tape(RefState& state, int stage, const TapeScope& scope,
                  const std::vector<ir::Expr>& exprs, const DType* domain = nullptr);
/// The row-major position in `shape` of `index`, results {position, in range}.
RefTape make_position_tape(RefState& state, int stage, const TapeScope& scope,
                           const std::vector<ir::Expr>& index, const std::vector<int64_t>& shape);

}  // namespace hone::jit
