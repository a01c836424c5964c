// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/reference_stage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "jit/interp/largest.h"
#include "jit/interp/scalar.h"
#include "jit/ir/product.h"
#include "jit/ir/recurrence.h"
#include "jit/ir/scan.h"

namespace hone::jit {

using ir::Expr;
using ir::Op;
using ir::Reduce;

namespace {

constexpr double kReferenceStageInfinity = std::numeric_limits<double>::infinity();

constexpr auto kEachLane = [] {
  std::array<int, kLanes> at{};
  for (int l = 0; l < kLanes; ++l) at[static_cast<size_t>(l)] = l;
  return at;
}();
constexpr const int* kEach = kEachLane.data();
constexpr int kFirst[kLanes] = {};

/// True where `value` loads bf16, itself or through stages that a schedule may inline. `seen`: the
/// tensors looked at already.
bool reads_bf16(const ir::Program& program, const Expr& value, std::set<std::string>& seen) {
  bool found = false;
  ir::visit(value, [&](const Expr& e) {
    if (found || e->op != Op::kLoad || !seen.insert(e->name).second) return;
    const ir::Stage* from = program.producer(e->name);
    const bool inlined = from != nullptr && from->reduce == Reduce::kNone;
    found = e->type == DType::kBF16 || (inlined && reads_bf16(program, from->value, seen));
  });
  return found;
}

void conjuncts(const Expr& e, std::vector<Expr>* out) {
  if (e->op != Op::kAnd) {
    out->push_back(e);
    return;
  }
  for (const Expr& a : e->args) conjuncts(a, out);
}

/// Index variables, then reduction variables.
std::vector<std::string> names_of(const ir::Stage& stage) {
  std::vector<std::string> names;
  for (const ir::IndexVar& v : stage.vars) names.push_back(v.name);
  for (const ir::IndexVar& v : stage.rvars) names.push_back(v.name);
  return names;
}

/// How many lanes x .. hi-1 fill; bad data may put hi anywhere.
int lanes_left(int64_t x, int64_t hi) {
  const uint64_t left = static_cast<uint64_t>(hi) - static_cast<uint64_t>(x);
  return static_cast<int>(std::min<uint64_t>(kLanes, left));
}

}  // namespace

StageEval::StageEval(RefState& state, int index)
    : state_(state),
      index_(index),
      stage_(state.program->stages[static_cast<size_t>(index)]),
      output_(state.buffers[static_cast<size_t>(state.buffer_index(stage_.output))]),
      names_(names_of(stage_)),
      vars_(static_cast<int>(stage_.vars.size())),
      scattered_(state, index, names_, [this](int slot, const int64_t* env) {
        Range r;
        return range_in(env, slot, &r) ? std::optional(std::pair(r.lo, r.hi)) : std::nullopt;
      }) {
  env_.resize(names_.size());
  fixed_.resize(names_.size());
  for (int s = 0; s < slots(); ++s) {
    const ir::IndexVar& v = var(s);
    bounds_.push_back(
        make_tape(state_, index_, {names_, ""}, {v.lo ? v.lo : ir::make_int(0), v.hi}));
    ragged_.push_back(ir::mentions_load(v.hi) || (v.lo && ir::mentions_load(v.lo)));
  }
  // Dot products of bf16 flush the product and the sum so far when they fall below 2^-126.
  std::set<std::string> seen;
  const bool flushes = reads_bf16(*state_.program, stage_.value, seen);
  running_ = std::make_unique<RunningValues>(stage_, state_.bounds, flushes ? 0x1p-125 : 0x1p-149);
  normwise_ = state_.bounds && state_.program->normwise && stage_.reduce == Reduce::kSum &&
              is_float(stage_.accumulate) && ir::sums_products(stage_);
  if (normwise_ || (state_.bounds && ir::reassociates(*state_.program, stage_)))
    factors_ = ir::product_factors(stage_.value);
  split_where();
  find_index_slots();
  find_order();
}

/// The order of a recurrence is found anew: the loops may have been scheduled.
void StageEval::find_order() {
  recurs_ = ir::is_recurrence(stage_);
  ir::Stage plain = stage_;
  plain.relations.clear();
  plain.loops.clear();
  plain.at = plain.store = {};
  for (ir::IndexVar& v : plain.vars) {
    v.backward = false;
    plain.loops.push_back({v.name});
  }
  if (recurs_) ir::put_in_order(plain);
  const std::vector<std::string> apart = ir::independent_vars(plain);
  for (const ir::Loop& loop : plain.loops) {
    const auto at = std::find(names_.begin(), names_.begin() + vars_, loop.name);
    order_.push_back(static_cast<int>(at - names_.begin()));
  }
  for (const ir::IndexVar& v : plain.vars) {
    backward_.push_back(v.backward);
    chooses_.push_back(std::find(apart.begin(), apart.end(), v.name) != apart.end());
    ir::Stage vector = plain;
    std::erase_if(vector.loops, [&](const ir::Loop& l) { return l.name == v.name; });
    vector.loops.push_back({v.name, ir::Mark::kVector});
    lane_legal_.push_back(!recurs_ || !(ir::broken_order(vector) || ir::scanning_loop(vector)));
  }
}

const ir::IndexVar& StageEval::var(int slot) const {
  return slot < vars_ ? stage_.vars[static_cast<size_t>(slot)]
                      : stage_.rvars[static_cast<size_t>(slot - vars_)];
}

void StageEval::split_where() {
  if (!stage_.where) return;
  std::vector<Expr> all;
  conjuncts(stage_.where, &all);
  for (const Expr& c : all) {
    const bool term = std::any_of(names_.begin() + vars_, names_.end(),
                                  [&](const std::string& n) { return ir::mentions_var(c, n); });
    const bool data = ir::mentions_load(c);
    (!term ? guard_ : data ? where_data_ : where_).push_back(c);
  }
}

void StageEval::find_index_slots() {
  std::vector<bool> seen(static_cast<size_t>(vars_));
  for (const Expr& e : stage_.out_index) {
    const auto it = std::find(names_.begin(), names_.begin() + vars_, e->name);
    const int slot = e->op == Op::kVar ? static_cast<int>(it - names_.begin()) : -1;
    if (slot == vars_ || (slot < 0 && !ir::is_const(e))) return;
    index_slots_.push_back(slot);
    if (slot >= 0) seen[static_cast<size_t>(slot)] = true;
  }
  invertible_ = std::all_of(seen.begin(), seen.end(), [](bool b) { return b; });
}

bool StageEval::bounds_use(int slot) const {
  const std::string& name = names_[static_cast<size_t>(slot)];
  for (int s = 0; s < slots(); ++s) {
    const ir::IndexVar& v = var(s);
    if (ir::mentions_var(v.hi, name) || (v.lo && ir::mentions_var(v.lo, name))) return true;
  }
  return false;
}

bool StageEval::is_lane(int slot) const {
  return slot >= vars_ || lane_legal_[static_cast<size_t>(slot)];
}

/// The variable with the most values, up to kLanes; of a scatter, of each term if that is enough.
int StageEval::choose_lane() const {
  // Chosen: as many as pay for running a tape (not measured).
  constexpr int64_t kEnough = 8;
  int best = -1;
  int64_t longest = 1;
  const bool scatters = scattered_.any();
  for (int s = 0; s < slots(); ++s) {
    if (fixed_[static_cast<size_t>(s)] || bounds_use(s) || !is_lane(s)) continue;
    if (scatters && (scattered_.decides(s) || (s >= vars_ && s + 1 < slots()))) continue;
    if (scatters && s >= vars_ && longest >= kEnough) break;
    const Expr& hi = var(s).hi;
    bool constant = true;
    ir::visit(hi, [&](const Expr& n) { constant &= n->op != Op::kVar && n->op != Op::kLoad; });
    const int64_t extent = std::min<int64_t>(constant ? state_.extent(hi) : 64, kLanes);
    if (extent >= longest && extent > 1) {
      best = s;
      longest = extent;
    }
  }
  return best;
}

StageEval::Plan& StageEval::plan(int lane) {
  const auto it = plans_.find(lane);
  return it != plans_.end() ? it->second : plans_.emplace(lane, make_plan(lane)).first->second;
}

StageEval::Plan StageEval::make_plan(int lane) {
  Plan p;
  p.lane = lane;
  const TapeScope scope{names_, lane >= 0 ? names_[static_cast<size_t>(lane)] : ""};
  for (const int s : order_) {
    if (s != lane) p.outer.push_back(s);
  }
  for (int s = vars_; s < slots(); ++s) {
    if (s != lane) p.inner.push_back(s);
  }
  if (!guard_.empty()) p.guard = make_tape(state_, index_, scope, guard_);
  if (!where_.empty()) p.where = make_tape(state_, index_, scope, where_);
  if (!where_data_.empty()) p.where_data = make_tape(state_, index_, scope, where_data_);
  const DType domain = stage_.reduce == Reduce::kNone ? output_.buffer->type : stage_.accumulate;
  std::vector<Expr> values{stage_.value};
  values.insert(values.end(), factors_.begin(), factors_.end());
  p.value = make_tape(state_, index_, scope, values, &domain);
  p.position = make_position_tape(state_, index_, scope, stage_.out_index, output_.shape);
  if (stage_.from_old) {
    const ir::Buffer& b = *output_.buffer;
    p.old = make_tape(state_, index_, scope, {ir::make_load(b.name, b.type, stage_.out_index)},
                      &domain);
  }
  return p;
}

bool StageEval::range_in(const int64_t* env, int slot, Range* out) {
  const auto s = static_cast<size_t>(slot);
  RefTape& tape = bounds_[s];
  tape.run(state_, env, nullptr, 1);
  out->lo = tape.frame.i(tape.results[0])[0];
  out->hi = tape.frame.i(tape.results[1])[0];
  return !tape.frame.any_poison && !(ragged_[s] && out->lo > out->hi);
}

bool StageEval::range(int slot, Range* out) {
  const auto s = static_cast<size_t>(slot);
  const bool sound = range_in(env_.data(), slot, out);
  if (fixed_[s]) {
    out->lo = std::max(out->lo, *fixed_[s]);
    out->hi = std::min(out->hi, *fixed_[s] + 1);
  }
  return sound;
}

void StageEval::run_all() {
  std::fill(fixed_.begin(), fixed_.end(), std::nullopt);
  Plan& p = plan(choose_lane());
  under_way_ = recurs_;
  over_vars(p, 0);
  under_way_ = false;
}

void StageEval::run_fixed() {
  if (!fixed_lane_) fixed_lane_ = choose_lane();
  over_vars(plan(*fixed_lane_), 0);
}

int StageEval::slot_of(const std::string& name) const {
  const auto at = std::find(names_.begin(), names_.begin() + vars_, name);
  return at == names_.begin() + vars_ ? -1 : static_cast<int>(at - names_.begin());
}

void StageEval::fix(const std::string& name, std::optional<int64_t> value) {
  const int slot = slot_of(name);
  if (slot < 0) return;
  std::optional<int64_t>& fixed = fixed_[static_cast<size_t>(slot)];
  if (fixed.has_value() != value.has_value()) fixed_lane_.reset();
  fixed = value;
}

void StageEval::fix_none() {
  std::fill(fixed_.begin(), fixed_.end(), std::nullopt);
  fixed_lane_.reset();
}

std::pair<int64_t, int64_t> StageEval::range_of(const std::string& name) {
  Range r;
  range(slot_of(name), &r);
  return {r.lo, r.hi};
}

std::optional<int64_t> StageEval::value_at(const std::string& name, int64_t position) const {
  const int slot = slot_of(name);
  if (!invertible_ || slot < 0) return std::nullopt;
  for (size_t d = output_.shape.size(); d-- > 0;) {
    if (index_slots_[d] == slot) return position % output_.shape[d];
    position /= output_.shape[d];
  }
  return std::nullopt;
}

void StageEval::run_element(int64_t position) {
  if (under_way_) return;  // what it reads of itself is there, or never will be
  if (!invertible_) return run_all();
  int64_t rest = position;
  for (size_t d = output_.shape.size(); d-- > 0;) {
    const int64_t at = rest % output_.shape[d];
    rest /= output_.shape[d];
    const int slot = index_slots_[d];
    // Of a recurrence the whole chain is evaluated, from its first element on.
    if (slot >= 0 && (!recurs_ || chooses_[static_cast<size_t>(slot)])) {
      fixed_[static_cast<size_t>(slot)] = at;
    }
  }
  under_way_ = recurs_;
  // Every index variable is fixed: the choice is the same for each element.
  if (!element_lane_) element_lane_ = choose_lane();
  over_vars(plan(*element_lane_), 0);
  under_way_ = false;
}

void StageEval::over_vars(Plan& p, size_t k) {
  if (k == p.outer.size()) return element_chunks(p);
  const int slot = p.outer[k];
  Range r;
  if (!range(slot, &r)) return;
  for (int64_t x = r.lo; x < r.hi; ++x) {
    const bool backward = backward_[static_cast<size_t>(slot)];
    env_[static_cast<size_t>(slot)] = backward ? r.hi - 1 - (x - r.lo) : x;
    over_vars(p, k + 1);
  }
}

void StageEval::element_chunks(Plan& p) {
  if (!lane_is_var(p)) return elements(p, 1);
  Range r;
  if (!range(p.lane, &r)) return;
  for (int64_t x = r.lo; x < r.hi; x += kLanes) {
    const int n = lanes_left(x, r.hi);
    for (int l = 0; l < n; ++l) lanes_[l] = x + l;
    elements(p, n);
  }
}

int StageEval::keep(RefTape& test, int n) {
  test.run(state_, env_.data(), kept_lanes_, n);
  int count = 0;
  for (int l = 0; l < n; ++l) {
    bool holds = true;
    for (int r : test.results) holds &= test.frame.i(r)[l] != 0;
    // A condition on bad data leaves the lane in: whether it counts is not known.
    unsure_[count] = test.frame.poison[l];
    if (!holds && !unsure_[count]) continue;
    kept_[count] = kept_[l];
    kept_lanes_[count++] = kept_lanes_[l];
  }
  return count;
}

void StageEval::keep_all(int n) {
  for (int l = 0; l < n; ++l) kept_[l] = l;
  std::copy_n(lanes_, n, kept_lanes_);
}

void StageEval::elements(Plan& p, int n) {
  if (p.guard) {
    keep_all(n);
    n = keep(p.guard, n);
    if (n == 0) return;
    std::copy_n(kept_lanes_, n, lanes_);
  }
  lane_count_ = lane_is_var(p) ? n : 1;
  dead_ = false;
  std::fill_n(poison_, n, uint8_t{0});
  if (std::exchange(normwise_, false)) running_->judge_normwise(largest_factors(state_, factors_));
  running_->start(n);
  if (p.old) {
    p.old.run(state_, env_.data(), lanes_, n);
    accumulate(p.old, n, kEach);
  }
  if (stage_.reduce == Reduce::kNone) {
    p.value.run(state_, env_.data(), lanes_, n);
  } else if (scattered_.known()) {
    own_terms(p);
  } else {
    over_rvars(p, 0);
  }
  store(p, lane_is_var(p) ? n : 1);
}

/// The terms that go to the elements under way, in the order of the reduced variables.
void StageEval::own_terms(Plan& p) {
  const std::span<const int64_t> own = scattered_.of(env_.data());
  const auto step = static_cast<size_t>(slots() - vars_);
  const bool per_lane = lane_is_var(p);
  for (size_t t = 0; t < own.size() && !dead_;) {
    const auto term = own.begin() + static_cast<std::ptrdiff_t>(t);
    std::copy_n(term, step, env_.begin() + vars_);
    int n = per_lane ? lane_count_ : 0;
    // Lanes are values of the last variable, as long as the others stay.
    const auto outer = static_cast<std::ptrdiff_t>(step - 1);
    while (!per_lane && n < (p.lane < 0 ? 1 : kLanes) && t < own.size() &&
           std::equal(term, term + outer, own.begin() + static_cast<std::ptrdiff_t>(t))) {
      lanes_[n++] = own[t + step - 1];
      t += step;
    }
    if (per_lane) t += step;
    terms(p, n);
  }
}

void StageEval::over_rvars(Plan& p, size_t k) {
  if (k == p.inner.size()) return term_chunks(p);
  const int slot = p.inner[k];
  Range r;
  if (!range(slot, &r)) return poison_elements();
  for (int64_t x = r.lo; x < r.hi && !dead_; ++x) {
    env_[static_cast<size_t>(slot)] = x;
    over_rvars(p, k + 1);
  }
}

void StageEval::poison_elements() {
  std::fill_n(poison_, lane_count_, uint8_t{1});
  dead_ = true;
}

/// Bad ranges may be astronomically long: they end once nothing can be saved.
void StageEval::note_poison(const RefTape& values) {
  if (!values.frame.any_poison) return;
  dead_ = std::all_of(poison_, poison_ + lane_count_, [](uint8_t b) { return b != 0; });
}

void StageEval::term_chunks(Plan& p) {
  // Lanes that are index variables stand already.
  if (p.lane < vars_) return terms(p, lane_count_);
  Range r;
  if (!range(p.lane, &r)) return poison_elements();
  for (int64_t x = r.lo; x < r.hi && !dead_; x += kLanes) {
    const int n = lanes_left(x, r.hi);
    for (int l = 0; l < n; ++l) lanes_[l] = x + l;
    terms(p, n);
  }
}

void StageEval::terms(Plan& p, int n) {
  const bool per_lane = lane_is_var(p);
  if (!p.where && !p.where_data) {
    p.value.run(state_, env_.data(), lanes_, n);
    return accumulate(p.value, n, per_lane ? kEach : kFirst);
  }
  keep_all(n);
  // What lies outside of the indices' conditions may ask for what does not exist.
  int count = p.where ? keep(p.where, n) : n;
  if (count > 0 && p.where_data) {
    count = keep(p.where_data, count);
    for (int l = 0; l < count; ++l) poison_[per_lane ? kept_[l] : 0] |= unsure_[l];
  }
  if (count == 0) return;
  p.value.run(state_, env_.data(), kept_lanes_, count);
  accumulate(p.value, count, per_lane ? kept_ : kFirst);
}

/// Adds `n` terms, term l to the reduction of element `at[l]`.
void StageEval::accumulate(RefTape& values, int n, const int* at) {
  Frame& fr = values.frame;
  if (fr.any_poison) {
    for (int l = 0; l < n; ++l) poison_[at[l]] |= fr.poison[l];
    note_poison(values);
  }
  const int reg = values.results[0];
  const double* e = fr.has_bounds() ? fr.e(reg) : nullptr;
  RunningValues::Terms terms{n, fr.f(reg), fr.i(reg), e, at};
  for (size_t f = 1; f < values.results.size(); ++f)
    terms.factors.push_back(fr.f(values.results[f]));
  running_->add(terms);
}

namespace {

/// The bound once `v` is rounded to `rounded`. A temporary may stay unrounded in code, so that its
/// rounding always counts; an output is always rounded, both times from nearly the same value.
double bound_stored(const ir::Buffer& buffer, double v, double rounded, double e) {
  if (rounded == v || v != v || !(std::fabs(v) < kReferenceStageInfinity)) return e;
  if (e == 0 && buffer.role != ir::Role::kTemp) return 0;
  if (!(std::fabs(rounded) < kReferenceStageInfinity)) return kReferenceStageInfinity;
  return e + epsilon_of(buffer.type) * (std::fabs(v) + e) + denormal_of(buffer.type);
}

}  // namespace

void StageEval::store(Plan& p, int n) {
  p.position.run(state_, env_.data(), lanes_, n);
  const int64_t* at = p.position.frame.i(p.position.results[0]);
  const int64_t* inside = p.position.frame.i(p.position.results[1]);
  Frame& fr = p.value.frame;
  const int reg = p.value.results[0];
  const bool reduces = stage_.reduce != Reduce::kNone;
  const DType from = reduces ? stage_.accumulate : output_.buffer->type;
  Cells& cells = output_.cells;
  for (int l = 0; l < n; ++l) {
    if (!inside[l]) continue;
    const auto s = static_cast<size_t>(cells.slot(at[l]));
    const bool bad = poison_[l] || (!reduces && fr.poison[l]);
    cells.state[s] = bad ? Cells::kPoisoned : Cells::kWritten;
    RunningValues::Result r;
    if (reduces) {
      r = running_->result(l);
    } else {
      (is_float(from) ? r.f = fr.f(reg)[l] : r.i = fr.i(reg)[l]);
      if (state_.bounds) r.e = fr.e(reg)[l];
    }
    store_value(s, from, r);
  }
}

/// Converts a value of type `from` to the output's type and keeps it in cell `s`.
void StageEval::store_value(size_t s, DType from, const RunningValues::Result& value) {
  auto [v, w, e] = value;
  Cells& cells = output_.cells;
  const DType to = output_.buffer->type;
  if (is_float(to)) {
    if (!is_float(from)) v = static_cast<double>(w);
    cells.f[s] = round_to(to, v);
    if (state_.bounds) cells.e[s] = bound_stored(*output_.buffer, v, cells.f[s], e);
  } else {
    cells.i[s] = is_float(from) ? int_from_float(to, v) : wrap_to(to, w);
    if (state_.bounds) cells.e[s] = is_float(from) && e > 0 ? kReferenceStageInfinity : e;
  }
}

}  // namespace hone::jit
