// SPDX-License-Identifier: Apache-2.0
#include "jit/halide/pipeline.h"

#include <dlfcn.h>

#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>

#include "jit/halide/stage.h"

namespace hone::jit::halide {
namespace {

/// Halide's name of an x86 with the target's instructions.
Halide::Target target_of(const ir::Target& target) {
  using T = Halide::Target;
  T out(T::Linux, T::X86, 64);
  out.set_features({T::SSE41, T::JIT});
  if (target.has(ir::Isa::kAvx2)) out.set_features({T::AVX, T::AVX2, T::FMA, T::F16C});
  if (target.has(ir::Isa::kAvx512)) out.set_features({T::AVX512, T::AVX512_Skylake});
  if (!target.fast_float) out.set_feature(T::StrictFloat);
  return out;
}

/// What the target calls one of Halide's schedulers, as Halide does, and its library.
struct AutoschedulerRow {
  std::string_view word;
  const char* name;
  const char* library;
};
constexpr AutoschedulerRow kAutoschedulers[] = {
    {"adams2019", "Adams2019", "autoschedule_adams2019"},
    {"mullapudi2016", "Mullapudi2016", "autoschedule_mullapudi2016"},
    {"li2018", "Li2018", "autoschedule_li2018"},
};

/// The file of a scheduler: beside Halide's own library, or in a folder there with its version.
std::string plugin_of(const std::string& library) {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&Halide::load_plugin), &info) == 0) return library;
  const std::filesystem::path folder = std::filesystem::path(info.dli_fname).parent_path();
  const std::string file = "lib" + library + ".so";
  for (const std::string& below : {std::string("halide") + std::to_string(HALIDE_VERSION_MAJOR),
                                   std::string("."), std::string("halide")}) {
    std::error_code none;
    if (std::filesystem::exists(folder / below / file, none)) return folder / below / file;
  }
  return library;
}

void autoschedule(Halide::Pipeline& pipeline, const ir::Target& target, const Halide::Target& to) {
  for (const AutoschedulerRow& row : kAutoschedulers) {
    if (row.word != target.autoschedule) continue;
    // Loading one twice is an error of Halide's.
    static std::mutex guard;
    static std::set<std::string_view> loaded;
    const std::lock_guard lock(guard);
    if (loaded.count(row.word) == 0) Halide::load_plugin(plugin_of(row.library));
    loaded.insert(row.word);
    Halide::AutoschedulerParams params(row.name);
    params.extra["parallelism"] = std::to_string(target.threads);
    pipeline.apply_autoscheduler(to, params);
    return;
  }
  refuse("autoschedule=" + target.autoschedule + ": not one of Halide's");
}

bool reads(const ir::Stage& stage, const std::string& buffer) {
  bool found = false;
  const auto see = [&](const ir::Expr& e) { found |= e->op == ir::Op::kLoad && e->name == buffer; };
  ir::visit(stage.value, see);
  ir::visit(stage.where, see);
  return found;
}

/// Where an output is read by a stage that is read in turn, the code that Halide 19 makes calls a
/// null address.
void refuse_chains_from_outputs(const ir::Program& program) {
  for (const ir::Stage& first : program.stages) {
    if (program.buffer(first.output)->role == ir::Role::kTemp) continue;
    for (const ir::Stage& second : program.stages) {
      if (second.output == first.output || !reads(second, first.output)) continue;
      for (const ir::Stage& third : program.stages) {
        if (third.output == second.output || !reads(third, second.output)) continue;
        refuse("output " + first.output + " is read by stage " + second.name +
               ", which is read in turn: Halide's code for it calls a null address");
      }
    }
  }
}

}  // namespace

Pipeline::Pipeline(const ir::Program& program, const ir::Target& target, Marks marks)
    : target_(target_of(target)), threads_(target.threads) {
  refuse_chains_from_outputs(program);
  Buffers buffers(program);
  StageMaker maker(program, buffers, target.fast_float ? Floats::kFast : Floats::kStrict);
  std::vector<StageFuncs> made;
  for (const ir::Stage& s : program.stages) made.push_back(maker.make(s));
  inputs_ = buffers.inputs();
  outputs_ = buffers.output_params();
  arguments_ = buffers.arguments();
  const std::vector<Halide::Func> outputs = buffers.outputs();
  if (outputs.empty()) refuse("nothing is written");
  pipeline_ = Halide::Pipeline(outputs);
  if (!target.autoschedule.empty()) {
    buffers.estimate();
    autoschedule(pipeline_, target, target_);
    return;
  }
  Scheduler scheduler(program, buffers, target.vector_bytes(), marks);
  for (size_t i = program.stages.size(); i-- > 0;) scheduler.apply(program.stages[i], made[i]);
}

Halide::Callable Pipeline::compile() const {
  Halide::Pipeline pipeline = pipeline_;
  Halide::Internal::JITSharedRuntime::set_num_threads(threads_);
  return pipeline.compile_to_callable(arguments_, target_);
}

}  // namespace hone::jit::halide
