// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/fixture.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "jit/interp/scalar.h"
#include "runtime/engine/plan.h"

namespace hone::runtime {
namespace {

/// Problems up to this many scalar operations are evaluated whole.
constexpr double kWholeOperations = 1 << 24;
constexpr int kSample = 256;
constexpr int kMostWorkers = 64;

/// Shape and strides of a parameter at `dims`; strides per logical dim.
jit::TensorView view_of(const ir::Program& program, const ir::Buffer& b,
                        const std::vector<int64_t>& dims) {
  jit::TensorView v;
  v.type = b.type;
  const auto value = [&](const ir::Expr& e) {
    return evaluate(number_dims(e, program.dims), dims);
  };
  for (const ir::Expr& e : b.shape) v.shape.push_back(value(e));
  v.strides.resize(v.shape.size());
  int64_t stride = 1;
  for (size_t i = v.shape.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(b.axes.empty() ? static_cast<int>(i) : b.axes[i].dim);
    v.strides[dim] = b.strides.empty() ? stride : value(b.strides[i]);
    stride *= v.shape[dim];
  }
  return v;
}

/// Bytes from the first to the last element of a view.
size_t bytes_of(const jit::TensorView& v) {
  int64_t last = 0;
  for (size_t i = 0; i < v.shape.size(); ++i) {
    if (v.shape[i] == 0) return 0;
    last += (v.shape[i] - 1) * v.strides[i];
  }
  return static_cast<size_t>(last + 1) * static_cast<size_t>(size_of(v.type));
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
  for (const ir::Buffer& b : program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    jit::TensorView v = view_of(program, b, f.dims_);
    // A promise of alignment holds at the block's start; round the size so that it does at its end.
    const auto align = static_cast<size_t>(std::max<int64_t>(b.align, 1));
    const size_t bytes = (bytes_of(v) + align - 1) / align * align;
    auto memory = GuardedMemory::allocate(bytes, guard, stagger * f.memory_.size());
    if (!memory) return memory.failure();
    v.data = memory->data();
    f.memory_.push_back(std::move(*memory));
    f.params_.push_back(std::move(v));
  }
  f.scalars_ = jit::scalar_values(program, seed);
  jit::fill_parameters(program, f.params_, f.scalars_, f.dims_, set, seed);
  size_t p = 0;
  for (const ir::Buffer& b : program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    const GuardedMemory& m = f.memory_[p++];
    f.originals_.emplace_back();
    if (b.role == ir::Role::kInOut) f.originals_.back().assign(m.data(), m.data() + m.size());
  }
  return f;
}

Result<std::monostate> Fixture::refer() {
  const ir::Program& program = problem_->program;
  jit::ReferenceOptions options;
  whole_ = jit::scalar_operations(program, dims_) <= kWholeOperations;
  if (!whole_) {
    for (const jit::TensorView& v : outputs()) {
      const std::vector<int64_t> edges(v.shape.size(), 16);
      options.elements.push_back(jit::sample_positions(v.shape, edges, kSample, 1));
    }
  }
  auto outcome = jit::evaluate(program, params_, scalars_, dims_, options);
  if (!outcome) return outcome.failure();
  reference_ = std::move(*outcome);
  return std::monostate{};
}

void Fixture::reset() {
  size_t p = 0;
  for (const ir::Buffer& b : problem_->program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    if (b.role == ir::Role::kOutput) {
      jit::fill_unwritten(params_[p]);
    } else if (b.role == ir::Role::kInOut && !originals_[p].empty()) {
      std::memcpy(memory_[p].data(), originals_[p].data(), originals_[p].size());
    }
    ++p;
  }
}

void Fixture::protect_inputs(bool readable_only) {
  size_t p = 0;
  for (const ir::Buffer& b : problem_->program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    if (b.role == ir::Role::kInput) memory_[p].protect(readable_only);
    ++p;
  }
}

std::vector<jit::TensorView> Fixture::outputs() const {
  std::vector<jit::TensorView> out;
  size_t p = 0;
  for (const ir::Buffer& b : problem_->program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    if (b.role != ir::Role::kInput) out.push_back(params_[p]);
    ++p;
  }
  return out;
}

std::string Fixture::overwritten() const {
  size_t p = 0;
  for (const ir::Buffer& b : problem_->program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    if (memory_[p++].overwritten()) return b.name;
  }
  return "";
}

Result<CallFrame> CallFrame::create(const Candidate& c, const Fixture& fixture) {
  CallFrame f;
  f.dims_ = fixture.dims();
  f.status_ = std::make_unique<int64_t>(INT64_MAX);
  f.slots_.assign(static_cast<size_t>(c.nest.slots), 0);
  const auto guarded = [&](int64_t bytes) -> Result<GuardedMemory> {
    auto m = GuardedMemory::allocate(static_cast<size_t>((bytes + 63) / 64 * 64), fixture.guard());
    if (m) std::memset(m->data(), 0xFF, m->size());
    return m;
  };
  const ir::ArgsLayout layout = ir::args_layout(c.nest);
  f.slots_[ir::ArgsLayout::kStatus] = reinterpret_cast<int64_t>(f.status_.get());
  auto workspace = guarded(c.nest.shared_bytes);
  if (!workspace) return workspace.failure();
  f.workspace_ = std::move(*workspace);
  f.slots_[ir::ArgsLayout::kWorkspace] = reinterpret_cast<int64_t>(f.workspace_.data());
  for (size_t i = 0; i < layout.tensor_slots.size(); ++i) {
    f.slots_[static_cast<size_t>(layout.tensor_slots[i])] =
        reinterpret_cast<int64_t>(fixture.params()[i].data);
  }
  size_t bound = 0;
  for (const ir::NestBuffer& b : c.nest.buffers) {
    if (b.home != ir::Home::kBound) continue;
    auto m = guarded(b.max_bytes);
    if (!m) return m.failure();
    f.slots_[static_cast<size_t>(layout.bound_slots[bound++])] =
        reinterpret_cast<int64_t>(m->data());
    f.bound_.push_back(std::move(*m));
  }
  for (size_t i = 0; i < f.dims_.size(); ++i) {
    f.slots_[static_cast<size_t>(layout.dim_slots[i])] = f.dims_[i];
  }
  for (size_t i = 0; i < c.nest.scalars.size(); ++i) {
    auto* slot = &f.slots_[static_cast<size_t>(layout.scalar_slots[i])];
    const DType type = c.nest.scalars[i].type;
    if (is_float(type)) {
      jit::write_float(type, slot, 0, fixture.scalars()[i]);
    } else {
      jit::write_int(type, slot, 0, static_cast<int64_t>(fixture.scalars()[i]));
    }
  }
  auto scratch = guarded(c.nest.worker_bytes);
  if (!scratch) return scratch.failure();
  f.scratch_.push_back(std::move(*scratch));
  return f;
}

int64_t CallFrame::extent(const Candidate& c, size_t launch) const {
  return evaluate(c.code.launches[launch].extent, dims_);
}

std::string CallFrame::run_guarded(GuardedCall& call, const Candidate& c) {
  *status_ = INT64_MAX;
  for (size_t i = 0; i < c.functions.size(); ++i) {
    const int64_t n = extent(c, i);
    // Parts that a pool could make: what is left over at a boundary shows here.
    const int64_t cuts[] = {0, n / 3, n / 3 + n / 2 > n ? n : n / 3 + n / 2, n};
    for (int part = 0; part < 3; ++part) {
      if (cuts[part] >= cuts[part + 1]) continue;
      std::string broken =
          call.run(c.functions[i], slots_.data(), cuts[part], cuts[part + 1], scratch_[0].data());
      if (!broken.empty()) return broken;
    }
  }
  return "";
}

void CallFrame::bind(const Candidate& c) {
  *status_ = INT64_MAX;
  for (size_t i = 0; i < c.functions.size(); ++i) {
    if (c.code.launches[i].at_bind) {
      c.functions[i](slots_.data(), 0, extent(c, i), scratch_[0].data());
    }
  }
}

void CallFrame::run(const Candidate& c, ThreadPool* pool) {
  struct Context {
    LaunchFunction function;
    const int64_t* slots;
    std::vector<GuardedMemory>* scratch;
  };
  while (pool && scratch_.size() < static_cast<size_t>(std::min(pool->size(), kMostWorkers))) {
    auto more = GuardedMemory::allocate(scratch_[0].size(), Guard::kAfter);
    if (!more) break;
    scratch_.push_back(std::move(*more));
  }
  *status_ = INT64_MAX;
  for (size_t i = 0; i < c.functions.size(); ++i) {
    const jit::CodeLaunch& l = c.code.launches[i];
    if (l.at_bind) continue;
    const int64_t n = extent(c, i);
    if (n <= 0) continue;
    if (!pool || !l.parallel || n == 1 || scratch_.size() < static_cast<size_t>(pool->size())) {
      c.functions[i](slots_.data(), 0, n, scratch_[0].data());
      continue;
    }
    Context context{c.functions[i], slots_.data(), &scratch_};
    pool->parallel_for(
        n,
        [](void* p, int64_t begin, int64_t end, int worker) {
          auto* x = static_cast<Context*>(p);
          x->function(x->slots, begin, end, (*x->scratch)[static_cast<size_t>(worker)].data());
        },
        &context);
  }
}

std::string CallFrame::overwritten() const {
  if (workspace_.overwritten()) return "the workspace";
  for (const GuardedMemory& m : scratch_) {
    if (m.overwritten()) return "scratch";
  }
  for (const GuardedMemory& m : bound_) {
    if (m.overwritten()) return "a bound buffer";
  }
  return "";
}

}  // namespace hone::runtime
