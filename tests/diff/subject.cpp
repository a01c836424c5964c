// SPDX-License-Identifier: Apache-2.0
#include "tests/diff/subject.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "jit/interp/scalar.h"

namespace hone::tests {

using jit::DataSet;
using jit::TensorView;

namespace {

/// Whether a step gave a temporary a domain, beyond which nothing writes it. What lies there may be
/// read in the branch of a `select` that is not taken.
bool leaves_out(const ir::Program& scheduled) {
  return std::any_of(scheduled.stages.begin(), scheduled.stages.end(),
                     [](const ir::Stage& s) { return s.where && s.rvars.empty(); });
}

}  // namespace

struct Subject::Code {
  const jit::NestExecutor& executor;
  const jit::Executable* machine = nullptr;  ///< null: interpreted
  bool partial = false;                      ///< leaves elements of temporaries unwritten
};

/// One call: the argument struct, the memory behind it, and what runs it.
struct Subject::Call {
  const Code& code;
  const Launch& launch;  ///< instead of the code, where there is one
  std::vector<int64_t> args = {};
  int64_t status = INT64_MAX;
  std::vector<GuardedBlock> tensors = {};
  std::vector<char*> memory = {};
  std::vector<GuardedBlock> bound = {};
  GuardedBlock workspace = {};
  GuardedBlock scratch = {};
  jit::Shadow shadow = {};
};

Subject::Subject(std::string problem, ir::Program program, std::vector<int64_t> dims)
    : problem_(std::move(problem)), program_(std::move(program)), dims_(std::move(dims)) {
  scalars_ = jit::scalar_values(program_, 1);
  shapes_ = jit::parameter_views(program_, dims_);
  for (const ir::Buffer& b : program_.buffers) {
    if (b.role != ir::Role::kTemp) params_.push_back(&b);
  }
  for (int set = 0; set < jit::kDataSetCount; ++set) add_data(static_cast<DataSet>(set), false);
  if (!program_.checks.empty()) add_data(DataSet::kRandom, true);
}

/// Puts values that no check accepts into two places of every tensor that checks look at.
void Subject::spoil(const std::vector<TensorView>& all) {
  for (const ir::Check& check : program_.checks) {
    for (size_t i = 0; i < params_.size(); ++i) {
      const TensorView& v = all[i];
      const int64_t n = v.elements();
      if (params_[i]->name != check.tensor || n == 0 || v.shape.size() != 1) continue;
      // Past every small tensor, yet a range that long nested in another can still be walked.
      jit::write_int(v.type, v.data, n / 2 * v.strides[0], 1 << 12);
      jit::write_int(v.type, v.data, n / 3 * v.strides[0], -5);
    }
  }
}

size_t Subject::bytes_of(size_t param) const {
  const TensorView& v = shapes_[param];
  return static_cast<size_t>(jit::bytes_of(v));
}

std::vector<TensorView> Subject::views(const std::vector<char*>& memory) const {
  std::vector<TensorView> out = shapes_;
  for (size_t i = 0; i < out.size(); ++i) out[i].data = memory[i];
  return out;
}

void Subject::add_data(DataSet set, bool spoilt) {
  Data data;
  data.set = set;
  std::vector<char*> memory;
  for (size_t i = 0; i < params_.size(); ++i) {
    // Gaps between rows hold a pattern that nothing may change.
    data.initial.emplace_back(bytes_of(i), static_cast<char>(0xa5));
    memory.push_back(data.initial.back().data());
  }
  const std::vector<TensorView> all = views(memory);
  jit::fill_parameters(program_, all, scalars_, dims_, set, 17 + static_cast<uint64_t>(set));
  for (size_t i = 0; i < params_.size(); ++i) {
    if (params_[i]->role == ir::Role::kOutput) jit::fill_unwritten(all[i]);
  }
  if (spoilt) spoil(all);
  auto want = jit::evaluate(program_, all, scalars_, dims_);
  if (!want) {
    broken_ = want.failure().message;
    return;
  }
  data.want = *std::move(want);
  if (spoilt && !data.want.bad) return;
  data_.push_back(std::move(data));
}

std::string Subject::repro(const schedules::Schedule& schedule, const BackEnd& back_end) const {
  return problem_ + " | " + print(target_of(back_end)) + " | " + schedule.text();
}

std::string Subject::check(const schedules::Schedule& schedule, const BackEnd& back_end,
                           std::string* rejected) {
  const auto reject = [&](const std::string& why) {
    if (rejected) *rejected = why;
    return std::string();
  };
  auto scheduled = schedules::apply(program_, schedule);
  if (!scheduled) return reject(scheduled.failure().text());
  const ir::Target target = target_of(back_end);
  std::shared_ptr<const jit::Code> code;
  std::shared_ptr<const jit::Executable> executable;
  jit::ExecutableMemory memory;
  std::string refused;
  const auto build = [&] {
    auto emitted = back_end.row->emit(*scheduled, target, {.debug = true});
    if (!emitted) {
      refused = emitted.failure().text();
      return;
    }
    code = *std::move(emitted);
    // The interpreter runs as the executor below does, which sees more.
    if (back_end.row == kInterp.row) return;
    auto loaded = back_end.row->load(code, target, jit::Place(&memory));
    if (loaded) {
      executable = *std::move(loaded);
    } else {
      refused = loaded.failure().text();
    }
  };
  const std::string crashed = survive(build, 0);
  if (!crashed.empty()) return "compiling: " + crashed;
  if (!refused.empty()) return reject("back end: " + refused);
  const jit::NestExecutor executor(code->nest());
  const std::string wrong = check({executor, executable.get(), leaves_out(*scheduled)}, {});
  executable.reset();
  return wrong;
}

std::string Subject::check(const ir::Nest& nest, const Launch& launch) {
  return check({jit::NestExecutor(nest)}, launch);
}

std::string Subject::check(const Code& code, const Launch& launch) {
  for (const Data& data : data_) {
    Call call{code, launch};
    const std::string wrong = run(call, data, ++runs_ % 2 == 0);
    if (wrong.empty()) continue;
    return (data.want.bad ? "bad" : std::string(name_of(data.set))) + " data: " + wrong;
  }
  return "";
}

std::string Subject::run(Call& call, const Data& data, bool at_end) {
  const jit::NestExecutor& executor = call.code.executor;
  const ir::Nest& nest = executor.nest();
  call.args.resize(static_cast<size_t>(nest.slots));
  const ir::ArgsLayout layout = args_layout(nest);
  const auto slot = [&](int s) -> int64_t& { return call.args[static_cast<size_t>(s)]; };
  slot(ir::ArgsLayout::kStatus) = reinterpret_cast<int64_t>(&call.status);
  for (size_t i = 0; i < params_.size(); ++i) {
    // As the nest counts on: a GPU's, more than an element unless the problem says otherwise.
    const auto align =
        static_cast<size_t>(std::max<int64_t>(nest.buffers[i].align, size_of(params_[i]->type)));
    call.tensors.emplace_back(bytes_of(i), at_end, align);
    call.memory.push_back(call.tensors.back().data());
    std::copy(data.initial[i].begin(), data.initial[i].end(), call.memory.back());
    slot(layout.tensor_slots[i]) = reinterpret_cast<int64_t>(call.memory.back());
  }
  for (size_t d = 0; d < dims_.size(); ++d) slot(layout.dim_slots[d]) = dims_[d];
  for (size_t s = 0; s < scalars_.size(); ++s) {
    int64_t* bits = &slot(layout.scalar_slots[s]);
    const DType type = nest.scalars[s].type;
    if (is_float(type)) {
      jit::write_float(type, bits, 0, scalars_[s]);
    } else {
      jit::write_int(type, bits, 0, static_cast<int64_t>(scalars_[s]));
    }
  }
  size_t bound = 0;
  for (size_t b = 0; b < nest.buffers.size(); ++b) {
    if (nest.buffers[b].home != ir::Home::kBound) continue;
    const int64_t elements = executor.elements(static_cast<int>(b), call.args.data());
    call.bound.emplace_back(static_cast<size_t>(elements * size_of(nest.buffers[b].type)), at_end,
                            64);
    call.bound.back().fill(0xff);
    slot(layout.bound_slots[bound++]) = reinterpret_cast<int64_t>(call.bound.back().data());
  }
  call.workspace = GuardedBlock(static_cast<size_t>(nest.workspace_bytes), at_end, 64);
  call.workspace.fill(0xff);
  call.scratch = GuardedBlock(static_cast<size_t>(nest.worker_bytes), at_end, 64);
  slot(ir::ArgsLayout::kWorkspace) = reinterpret_cast<int64_t>(call.workspace.data());
  call.shadow = executor.make_shadow();
  const std::string wrong = run_launches(call);
  return wrong.empty() ? inspect(call, data) : wrong;
}

std::string Subject::run_launches(Call& call) {
  const ir::Nest& nest = call.code.executor.nest();
  const std::vector<int64_t> args = call.args;
  // What runs when constants are bound runs first, and knows nothing of the call.
  forget_call(call);
  for (const bool at_bind : {true, false}) {
    for (int l = 0; l < static_cast<int>(nest.launches.size()); ++l) {
      const ir::Launch& launch = nest.launches[static_cast<size_t>(l)];
      if (launch.at_bind != at_bind) continue;
      const std::string wrong = run_launch(call, l);
      if (!wrong.empty()) return "launch " + launch.name + " " + wrong;
    }
    call.args = args;
  }
  return "";
}

std::string Subject::run_launch(Call& call, int launch) {
  const int64_t extent = call.code.executor.extent(launch, call.args.data());
  // Ranges that may run at the same time run here in an order that nothing may count on.
  std::vector<int64_t> cuts = {0, extent};
  const ir::Nest& nest = call.code.executor.nest();
  const bool apart = nest.launches[static_cast<size_t>(launch)].parallel && !call.launch;
  if (apart) cuts = {extent / 2, extent, 0, extent / 2};
  for (size_t c = 0; c + 1 < cuts.size(); c += 2) {
    if (cuts[c] == cuts[c + 1]) continue;
    const std::string wrong = run_range(call, launch, cuts[c], cuts[c + 1]);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

/// Leaves of the arguments what a bind knows: constants, and where packed ones are kept.
void Subject::forget_call(Call& call) const {
  const ir::ArgsLayout layout = args_layout(call.code.executor.nest());
  for (size_t i = 0; i < params_.size(); ++i) {
    if (!params_[i]->constant) call.args[static_cast<size_t>(layout.tensor_slots[i])] = 0;
  }
  for (const int slot : layout.dim_slots) call.args[static_cast<size_t>(slot)] = 0;
  for (const int slot : layout.scalar_slots) call.args[static_cast<size_t>(slot)] = 0;
}

std::string Subject::run_range(Call& call, int launch, int64_t begin, int64_t end) {
  call.scratch.fill(0xff);
  if (call.launch) return call.launch(launch, call.args.data());
  if (call.code.machine) {
    Result<Done> failed = Done{};
    const std::string crashed = survive(
        [&] {
          failed = call.code.machine->run(static_cast<size_t>(launch), call.args.data(),
                                          {begin, end, call.scratch.data(), nullptr});
        },
        20);
    if (!crashed.empty()) return crashed;
    return failed ? "" : failed.failure().message;
  }
  // Beyond the domain of a temporary, vectors may be computed from what nothing wrote and are never
  // seen; where a stage has a domain, only NaN that reaches an output tells.
  const bool partial =
      call.code.partial || std::any_of(program_.stages.begin(), program_.stages.end(),
                                       [](const ir::Stage& s) { return bool(s.where); });
  const auto fault = call.code.executor.run(launch, call.args.data(), begin, end,
                                            call.scratch.data(), partial ? nullptr : &call.shadow);
  return fault ? fault->message : "";
}

/// Looks at the status, the outputs, and that nothing else was written.
std::string Subject::inspect(const Call& call, const Data& data) {
  if (data.want.bad) {
    if (call.status != data.want.bad->position) {
      return "status is " + std::to_string(call.status) + " where position " +
             std::to_string(data.want.bad->position) + " is bad";
    }
    for (size_t i = 0; i < params_.size(); ++i) {
      if (!std::equal(data.initial[i].begin(), data.initial[i].end(), call.memory[i])) {
        return params_[i]->name + " was written, though the status says that data is bad";
      }
    }
    return "";
  }
  if (call.status != INT64_MAX) {
    return "status names position " + std::to_string(call.status) + " of sound data";
  }
  const std::vector<TensorView> all = views(call.memory);
  std::vector<TensorView> outputs;
  for (const jit::ReferenceTensor& t : data.want.outputs) {
    for (size_t i = 0; i < params_.size(); ++i) {
      if (params_[i]->name == t.name) outputs.push_back(all[i]);
    }
  }
  const jit::Comparison comparison = jit::compare(data.want, outputs);
  max_err_ = std::max(max_err_, comparison.max_err);
  if (!comparison.ok()) return comparison.text();
  for (size_t i = 0; i < params_.size(); ++i) {
    const bool input = params_[i]->role == ir::Role::kInput;
    if (input && !std::equal(data.initial[i].begin(), data.initial[i].end(), call.memory[i])) {
      return "input " + params_[i]->name + " was written";
    }
  }
  return "";
}

}  // namespace hone::tests
