// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/interp/reference_scatter.h"
#include "jit/interp/reference_state.h"
#include "jit/interp/running_values.h"

namespace hone::jit {

/// Evaluates one stage of a program, whole or element by element.
class StageEval {
 public:
  StageEval(RefState& state, int index);

  /// Evaluates every element.
  void run_all();
  /// Evaluates the element at row-major position `p` of the output.
  void run_element(int64_t p);

  /// Evaluates the elements at the values of variables that `fix` gave.
  void run_fixed();
  /// Leaves one value to the index variable `name`, or all; a stage without it has none to fix.
  void fix(const std::string& name, std::optional<int64_t> value);
  void fix_none();
  /// The first value of an index variable, and the one behind its last.
  std::pair<int64_t, int64_t> range_of(const std::string& name);
  /// The value of an index variable at position `p` of the output, where that tells it.
  std::optional<int64_t> value_at(const std::string& name, int64_t p) const;

 private:
  struct Range {
    int64_t lo = 0;
    int64_t hi = 0;
  };
  /// The tapes for one choice of lane variable, and the loops around it.
  struct Plan {
    int lane = -1;           ///< variable slot, -1: one lane
    std::vector<int> outer;  ///< index variables around the accumulators
    std::vector<int> inner;  ///< reduction variables around the terms
    RefTape guard;           ///< `where` on index variables: is the element written?
    RefTape where;           ///< `where` on reduction variables: does the term count?
    RefTape where_data;      ///< the same of conditions that read
    RefTape value;           ///< and the factors that it is the product of
    RefTape position;
    RefTape old;  ///< what the element holds, where the reduction begins with it
  };

  const ir::IndexVar& var(int slot) const;
  int slots() const { return static_cast<int>(names_.size()); }
  bool lane_is_var(const Plan& p) const { return p.lane >= 0 && p.lane < vars_; }
  int slot_of(const std::string& name) const;
  void find_order();
  bool is_lane(int slot) const;
  void split_where();
  void find_index_slots();
  bool bounds_use(int slot) const;
  int choose_lane() const;
  Plan& plan(int lane);
  Plan make_plan(int lane);

  /// The range of a variable in the current environment; false: it depends on bad data.
  bool range(int slot, Range* out);
  /// The same in any environment and of all values.
  bool range_in(const int64_t* env, int slot, Range* out);
  void over_vars(Plan& p, size_t k);
  void over_rvars(Plan& p, size_t k);
  void own_terms(Plan& p);
  void element_chunks(Plan& p);
  void elements(Plan& p, int n);
  void term_chunks(Plan& p);
  void poison_elements();
  void note_poison(const RefTape& values);
  void terms(Plan& p, int n);
  /// Keeps those of the first `n` kept lanes where `test` holds; returns how many.
  int keep(RefTape& test, int n);
  /// All of `n` lanes are kept.
  void keep_all(int n);
  void accumulate(RefTape& values, int n, const int* at);
  void store(Plan& p, int n);
  void store_value(size_t s, DType from, const RunningValues::Result& value);

  RefState& state_;
  int index_;
  const ir::Stage& stage_;
  RefBuffer& output_;
  std::vector<std::string> names_;  ///< index variables, then reduction variables
  int vars_ = 0;
  std::vector<RefTape> bounds_;  ///< per variable: lo, hi
  std::vector<bool> ragged_;     ///< the bounds come from data
  std::vector<ir::Expr> guard_, where_, where_data_;
  ScatteredTerms scattered_;       ///< which terms an element has
  std::vector<ir::Expr> factors_;  ///< of the value, where their order may be another
  std::vector<int> index_slots_;   ///< per output dim the variable, -1: a constant
  bool invertible_ = false;
  bool recurs_ = false;           ///< it reads its own results: variables run in `order_`
  bool under_way_ = false;        ///< of a recurrence: some of its elements are being evaluated
  std::vector<int> order_;        ///< index variables, the outermost first
  std::vector<bool> backward_;    ///< per index variable
  std::vector<bool> chooses_;     ///< per index variable: at each value a chain of its own
  std::vector<bool> lane_legal_;  ///< per index variable: values may stand side by side
  std::map<int, Plan> plans_;

  std::vector<int64_t> env_;
  std::vector<std::optional<int64_t>> fixed_;
  int64_t lanes_[kLanes];  ///< of the lane variable
  int64_t kept_lanes_[kLanes];
  int kept_[kLanes];
  uint8_t unsure_[kLanes];  ///< of kept lanes: by conditions on what does not exist
  int lane_count_ = 0;      ///< of the elements under way
  bool dead_ = false;       ///< all of them are poisoned: no term changes that
  std::optional<int> element_lane_;
  std::optional<int> fixed_lane_;  ///< for the variables that are fixed now
  uint8_t poison_[kLanes];         ///< of the elements under way: they depend on bad data
  std::unique_ptr<RunningValues> running_;
  bool normwise_ = false;  ///< errors are judged beside the largest elements, not known yet
};

}  // namespace hone::jit
