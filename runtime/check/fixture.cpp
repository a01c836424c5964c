// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/check/difference.h"
#include "runtime/machine/memory.h"

namespace hone::runtime {
namespace {

/// Problems up to this many scalar operations are evaluated whole.
/// Chosen: time that opening a problem may take (not measured).
constexpr double kWholeOperations = 1 << 24;
/// Cost of keeping an element, its bound and its state, in scalar operations.
/// Chosen: time that opening a problem may take (not measured).
constexpr double kElementOperations = 8;
constexpr int kSample = 256;
/// Tile edges of one candidate where the definition is asked, if it was not before; and how many
/// elements it is asked about in all.
/// Chosen: time that a check may take (not measured).
constexpr int kEdgeSample = 8;
constexpr size_t kMostSampled = 4096;
/// Elements that are looked at after each timing on data that were drawn for it.
/// Chosen: a small part of a trial (not measured).
constexpr int kFewSampled = 32;
/// Elements that differ from what is kept, which the definition settles.
/// Chosen: time that a check may take (not measured).
constexpr size_t kMostSettled = 128;

/// What a sample says of the error that an element may have: twice the largest finite bound.
double largest_bound(const jit::ReferenceTensor& t) {
  double bound = 0;
  for (double b : t.bound) {
    if (std::isfinite(b)) bound = std::max(bound, 2 * b);
  }
  return bound;
}

/// Adds the elements of `more` to those of `all`.
void append(jit::ReferenceTensor& all, const jit::ReferenceTensor& more) {
  all.elements.insert(all.elements.end(), more.elements.begin(), more.elements.end());
  all.f.insert(all.f.end(), more.f.begin(), more.f.end());
  all.i.insert(all.i.end(), more.i.begin(), more.i.end());
  all.bound.insert(all.bound.end(), more.bound.begin(), more.bound.end());
  all.written.insert(all.written.end(), more.written.begin(), more.written.end());
}

/// Problems of fewer bytes are not checked against the free memory.
/// Chosen: a small part of any machine's memory (not measured).
constexpr double kFewBytes = 64 << 20;

/// What tensors of a problem take: outputs twice, as written and as they should be.
Result<Done> check_memory(const ops::Problem& problem, const std::vector<jit::TensorView>& params) {
  double bytes = 0;
  size_t p = 0;
  for (const ir::Buffer& b : problem.program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    const jit::TensorView& v = params[p++];
    const double own = static_cast<double>(jit::bytes_of(v));
    bytes += b.role == ir::Role::kInput ? own : 2 * own;
  }
  const std::string lack = bytes > kFewBytes ? lack_of_memory(bytes) : "";
  if (lack.empty()) return Done{};
  return Failure{ErrorCode::kMemory, fmt::format("`{}` needs {}", problem.text, lack)};
}

}  // namespace

Result<Fixture> Fixture::create(const ops::Problem& problem, std::vector<int64_t> dims,
                                jit::DataSet set, Guard guard, uint64_t seed, size_t stagger) {
  Fixture f;
  f.problem_ = &problem;
  f.dims_ = std::move(dims);
  f.guard_ = guard;
  f.set_ = set;
  const ir::Program& program = problem.program;
  f.params_ = jit::parameter_views(program, f.dims_);
  if (auto lack = check_memory(problem, f.params_); !lack) return lack.failure();
  for (const ir::Buffer& b : program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    const size_t p = f.memory_.size();
    f.buffers_.push_back(&b);
    f.memory_.emplace_back();
    if (auto placed = f.place(p, stagger); !placed) return placed.failure();
    if (b.role != ir::Role::kInput) f.written_.push_back(p);
  }
  f.scalars_ = jit::scalar_values(program, seed);
  jit::fill_parameters(program, f.params_, f.scalars_, f.dims_, set, seed);
  f.originals_.resize(f.memory_.size());
  for (const size_t p : f.written_) {
    const GuardedMemory& m = f.memory_[p];
    if (f.buffer(p).role == ir::Role::kInOut) {
      f.originals_[p].assign(m.data(), m.data() + m.size());
    }
  }
  return f;
}

/// Takes memory for a parameter, and copies what that held elsewhere.
Result<Done> Fixture::place(size_t param, size_t stagger) {
  jit::TensorView& v = params_[param];
  // A promise of alignment holds at the block's start; round the size so that it does at its end.
  const auto align = static_cast<size_t>(std::max<int64_t>(buffer(param).align, 1));
  const auto span = static_cast<size_t>(jit::bytes_of(v));
  const size_t bytes = (span + align - 1) / align * align;
  const size_t offset = (stagger * param + align - 1) / align * align;
  auto memory = GuardedMemory::allocate(bytes, guard_, offset);
  if (!memory) return memory.failure();
  if (memory_[param].data()) std::memcpy(memory->data(), memory_[param].data(), bytes);
  v.data = memory->data();
  memory_[param] = *std::move(memory);
  return Done{};
}

Result<Done> Fixture::place(size_t stagger) {
  for (size_t p = 0; p < memory_.size(); ++p) {
    if (auto placed = place(p, stagger); !placed) return placed;
  }
  return Done{};
}

/// The definition at some elements, whatever a kernel has made of inout tensors since.
Result<jit::ReferenceOutcome> Fixture::evaluate_at(const Positions& positions) const {
  std::vector<jit::TensorView> params = params_;
  for (size_t p = 0; p < params.size(); ++p) {
    // Only read, though a view's memory is not const.
    if (!originals_[p].empty()) params[p].data = const_cast<uint8_t*>(originals_[p].data());
  }
  jit::ReferenceOptions options;
  options.elements = positions;
  return jit::evaluate(problem_->definition, params, scalars_, dims_, options);
}

Result<Done> Fixture::refer() {
  const double operations = jit::scalar_operations(problem_->definition, dims_) +
                            kElementOperations * static_cast<double>(elements());
  whole_ = operations <= kWholeOperations;
  if (!whole_) {
    for (const jit::TensorView& v : outputs()) {
      const std::vector<int64_t> edges(v.shape.size(), 16);
      sampled_.push_back(jit::sample_positions(v.shape, edges, kSample, 1));
    }
  }
  auto outcome = evaluate_at(sampled_);
  if (!outcome) return outcome.failure();
  reference_ = std::move(*outcome);
  return Done{};
}

/// Asks the definition at edges of tiles where it was not asked before.
Result<Done> Fixture::sample_edges(const TileEdges& edges) {
  if (whole_ || set_ != jit::DataSet::kRandom) return Done{};
  const std::vector<jit::TensorView> views = outputs();
  Positions more(views.size());
  bool any = false;
  for (size_t o = 0; o < views.size() && o < edges.size(); ++o) {
    std::vector<int64_t>& known = sampled_[o];
    if (known.size() >= kMostSampled) continue;
    const auto wanted = edge_positions(views[o].shape, edges[o], kEdgeSample);
    std::set_difference(wanted.begin(), wanted.end(), known.begin(), known.end(),
                        std::back_inserter(more[o]));
    any |= !more[o].empty();
  }
  if (!any) return Done{};
  auto outcome = evaluate_at(more);
  if (!outcome) return outcome.failure();
  for (size_t o = 0; o < more.size(); ++o) {
    append(reference_.outputs[o], outcome->outputs[o]);
    sampled_[o].insert(sampled_[o].end(), more[o].begin(), more[o].end());
    std::sort(sampled_[o].begin(), sampled_[o].end());
  }
  return Done{};
}

void Fixture::reset() {
  for (const size_t p : written_) {
    if (originals_[p].empty()) {
      jit::fill_unwritten(params_[p]);
    } else {
      std::memcpy(memory_[p].data(), originals_[p].data(), originals_[p].size());
    }
  }
}

void Fixture::protect_inputs(bool readable_only) {
  for (size_t p = 0; p < memory_.size(); ++p) {
    if (!std::binary_search(written_.begin(), written_.end(), p)) memory_[p].protect(readable_only);
  }
}

void Fixture::save(Blocks& blocks) const {
  blocks.resize(written_.size());
  for (size_t o = 0; o < written_.size(); ++o) {
    const GuardedMemory& m = memory_[written_[o]];
    blocks[o].assign(m.data(), m.data() + m.size());
  }
}

bool Fixture::same(const Blocks& blocks) const {
  if (blocks.empty()) return false;
  for (size_t o = 0; o < written_.size(); ++o) {
    const GuardedMemory& m = memory_[written_[o]];
    if (m.size() > 0 && std::memcmp(m.data(), blocks[o].data(), m.size()) != 0) return false;
  }
  return true;
}

void Fixture::remember() { save(remembered_); }
bool Fixture::as_remembered() const { return same(remembered_); }

void Fixture::keep() {
  save(kept_);
  found_ = jit::compare(reference_, outputs());
  if (!whole_) found_.compared += elements();
}

Result<jit::Comparison> Fixture::compare(const TileEdges& edges) {
  // On bad data nothing is written; the status word is what is right or wrong.
  if (reference_.bad) return jit::Comparison{};
  if (same(kept_)) return found_;
  if (auto sampled = sample_edges(edges); !sampled) return sampled.failure();
  jit::Comparison found = jit::compare(reference_, outputs());
  if (!found.ok()) return found;
  if (whole_) {
    // The next of these bits is right as well.
    if (kept_.empty()) keep();
    return found;
  }
  if (kept_.empty()) return found;
  auto rest = compare_kept();
  if (!rest) return rest.failure();
  if (!rest->ok()) return rest;
  found.compared += elements();
  found.max_err = std::max(found.max_err, rest->max_err);
  return found;
}

double Fixture::bound(size_t output) const { return largest_bound(reference_.outputs[output]); }

jit::Comparison Fixture::compare_sampled() const {
  jit::Comparison found = jit::compare(reference_, outputs());
  if (found.ok()) found.compared += elements();
  return found;
}

Result<jit::Comparison> Fixture::compare_few() const {
  Positions few;
  for (const jit::TensorView& v : outputs()) {
    const std::vector<int64_t> edges(v.shape.size(), 0);
    few.push_back(jit::sample_positions(v.shape, edges, kFewSampled, 1));
  }
  auto outcome = evaluate_at(few);
  if (!outcome) return outcome.failure();
  return jit::compare(*outcome, outputs());
}

/// Every element against what is kept; the definition settles where they are apart.
Result<jit::Comparison> Fixture::compare_kept() {
  const std::vector<jit::TensorView> views = outputs();
  Positions apart(views.size());
  bool any = false;
  for (size_t o = 0; o < views.size(); ++o) {
    jit::TensorView kept = views[o];
    kept.data = kept_[o].data();
    apart[o] = difference(views[o], kept, bound(o), kMostSettled).positions;
    std::sort(apart[o].begin(), apart[o].end());
    any |= !apart[o].empty();
  }
  if (!any) return jit::Comparison{};
  auto outcome = evaluate_at(apart);
  if (!outcome) return outcome.failure();
  return jit::compare(*outcome, views);
}

int64_t Fixture::elements() const {
  int64_t n = 0;
  for (const jit::TensorView& v : outputs()) n += v.elements();
  return n;
}

std::vector<jit::TensorView> Fixture::outputs() const {
  std::vector<jit::TensorView> out;
  for (const size_t p : written_) out.push_back(params_[p]);
  return out;
}

std::string Fixture::overwritten() const {
  for (size_t p = 0; p < memory_.size(); ++p) {
    if (memory_[p].overwritten()) return buffer(p).name;
  }
  return "";
}

}  // namespace hone::runtime
