// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/call_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "jit/interp/scalar.h"
#include "runtime/engine/plan.h"
#include "runtime/measure/samples.h"

namespace hone::runtime {
CallFrame::~CallFrame() {
  // What was written past its end is not for the next one.
  if (!overwritten().empty()) return;
  pool_->give(std::move(workspace_));
  for (GuardedMemory& m : scratch_) pool_->give(std::move(m));
  for (GuardedMemory& m : bound_) pool_->give(std::move(m));
}

Result<CallFrame> CallFrame::create(const Candidate& c, const Fixture& fixture, GuardedPool& pool) {
  CallFrame f(pool);
  f.dims_ = fixture.dims();
  f.status_ = std::make_unique<int64_t>(INT64_MAX);
  f.slots_.assign(static_cast<size_t>(c.nest.slots), 0);
  const auto guarded = [&](int64_t bytes) -> Result<GuardedMemory> {
    auto m = pool.take(static_cast<size_t>((bytes + 63) / 64 * 64), fixture.guard());
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
  f.bind_slots_ = f.slots_;
  const auto forget = [&](int slot) { f.bind_slots_[static_cast<size_t>(slot)] = 0; };
  for (size_t i = 0; i < layout.tensor_slots.size(); ++i) {
    if (!fixture.problem().program.buffers[i].constant) forget(layout.tensor_slots[i]);
  }
  for (const int slot : layout.dim_slots) forget(slot);
  for (const int slot : layout.scalar_slots) forget(slot);
  auto scratch = guarded(c.nest.worker_bytes);
  if (!scratch) return scratch.failure();
  f.scratch_.push_back(std::move(*scratch));
  return f;
}

int64_t CallFrame::extent(const Candidate& c, size_t launch) const {
  return evaluate(c.code.launches[launch].extent, dims_);
}

const int64_t* CallFrame::slots_of(const Candidate& c, size_t launch) const {
  return c.code.launches[launch].at_bind ? bind_slots_.data() : slots_.data();
}

std::string CallFrame::run_guarded(GuardedCall& call, const Candidate& c) {
  *status_ = INT64_MAX;
  run_us_ = 0;
  for (size_t i = 0; i < c.functions.size(); ++i) {
    const int64_t n = extent(c, i);
    // Parts that a pool could make: what is left over at a boundary shows here.
    const int64_t cuts[] = {0, n / 3, n / 3 + n / 2 > n ? n : n / 3 + n / 2, n};
    std::string broken;
    const Stretch took = stretch_of([&] {
      for (int part = 0; part < 3 && broken.empty(); ++part) {
        if (cuts[part] >= cuts[part + 1]) continue;
        broken = call.run(c.functions[i], slots_of(c, i), cuts[part], cuts[part + 1],
                          scratch_[0].data());
      }
    });
    if (!broken.empty()) return broken;
    if (!c.code.launches[i].at_bind) run_us_ += took.cpu_us;
  }
  return "";
}

Result<std::monostate> CallFrame::share(int workers) {
  while (scratch_.size() < static_cast<size_t>(workers)) {
    auto more = pool_->take(scratch_[0].size(), Guard::kAfter);
    if (!more) return more.failure();
    scratch_.push_back(std::move(*more));
  }
  return std::monostate{};
}

void CallFrame::bind(const Candidate& c) {
  *status_ = INT64_MAX;
  for (size_t i = 0; i < c.functions.size(); ++i) {
    if (c.code.launches[i].at_bind) {
      c.functions[i](slots_of(c, i), 0, extent(c, i), scratch_[0].data());
    }
  }
}

void CallFrame::run(const Candidate& c, ThreadPool* pool) {
  struct Context {
    LaunchFunction function;
    const int64_t* slots;
    std::vector<GuardedMemory>* scratch;
  };
  *status_ = INT64_MAX;
  for (size_t i = 0; i < c.functions.size(); ++i) {
    const jit::CodeLaunch& l = c.code.launches[i];
    if (l.at_bind) continue;
    const int64_t n = extent(c, i);
    if (n <= 0) continue;
    if (!pool || !l.parallel || n == 1) {
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

std::string CallFrame::misreported(const Fixture& fixture) const {
  const auto& bad = fixture.reference().bad;
  const bool reported = *status_ != INT64_MAX;
  if (reported == bad.has_value()) return "";
  if (!reported)
    return fmt::format("element {} of {} is bad and not reported", bad->position, bad->tensor);
  return fmt::format("the status word reports element {} of good data as bad", *status_);
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
