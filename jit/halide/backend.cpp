// SPDX-License-Identifier: Apache-2.0
// The row of the back end that has Halide make the code, in the module.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include "jit/halide/arguments.h"
#include "jit/halide/module.h"
#include "jit/halide/pipeline.h"
#include "jit/interp/execute.h"
#include "jit/ir/build.h"
#include "jit/passes/lower.h"
#include "jit/x86/compile.h"

namespace hone::jit {
namespace {

/// The pipeline, and a nest that tells what is checked first and that one launch then does all.
class HalideCode final : public Code {
 public:
  HalideCode(ir::Nest nest, ir::Program program, halide::Pipeline made, Halide::Callable callable,
             double schedule_us, double compile_us)
      : Code(std::move(nest)),
        program_(std::move(program)),
        pipeline_(std::move(made)),
        callable_(std::move(callable)),
        schedule_us_(schedule_us),
        compile_us_(compile_us) {}
  const ir::Program& program() const { return program_; }
  const halide::Pipeline& pipeline() const { return pipeline_; }
  const Halide::Callable& callable() const { return callable_; }
  double schedule_us() const { return schedule_us_; }
  double compile_us() const { return compile_us_; }

 private:
  ir::Program program_;
  halide::Pipeline pipeline_;
  Halide::Callable callable_;
  double schedule_us_;  ///< until the Funcs had their schedule
  double compile_us_;   ///< from there to machine code
};

class HalideExecutable final : public Executable {
 public:
  /// `checks` runs the launches before the pipeline's; null: the interpreter does.
  HalideExecutable(std::shared_ptr<const HalideCode> code, std::shared_ptr<const Executable> checks)
      : code_(std::move(code)),
        native_checks_(std::move(checks)),
        checks_(code_->nest()),
        layout_(args_layout(code_->nest())) {
    if (code_->program().dims.empty()) views_ = parameter_views(code_->program(), {});
    report_.schedule_us = code_->schedule_us();
    report_.compile_us = code_->compile_us();
  }

  Result<Done> run(size_t launch, const int64_t* slots, const Part& part) const override {
    if (launch + 1 < code_->nest().launches.size()) {
      if (native_checks_) return native_checks_->run(launch, slots, part);
      auto fault = checks_.run(static_cast<int>(launch), slots, part.begin, part.end, part.scratch);
      if (fault) return Failure{ErrorCode::kInternal, std::move(fault->message)};
      return Done{};
    }
    if (part.begin >= part.end) return Done{};
    if (!code_->program().checks.empty() &&
        *reinterpret_cast<const int64_t*>(slots[ir::ArgsLayout::kStatus]) != INT64_MAX) {
      return Done{};  // bad data: nothing may be written
    }
    std::vector<int64_t> dims;
    for (const int slot : layout_.dim_slots) dims.push_back(slots[slot]);
    const std::vector<TensorView> views =
        dims.empty() ? views_ : parameter_views(code_->program(), dims);
    halide::Arguments arguments(code_->program(), layout_, views, code_->pipeline().inputs(),
                                code_->pipeline().outputs(), slots);
    std::string wrong = arguments.call(code_->callable());
    if (wrong.empty()) return Done{};
    return Failure{ErrorCode::kInternal, "Halide: " + std::move(wrong)};
  }

 private:
  std::shared_ptr<const HalideCode> code_;
  std::shared_ptr<const Executable> native_checks_;
  NestExecutor checks_;
  ir::ArgsLayout layout_;
  std::vector<TensorView> views_;
};

/// What of a program is not Halide's: its parameters and its checks.
ir::Program bare(const ir::Program& scheduled) {
  ir::Program out = scheduled;
  out.stages = {};
  return out;
}

/// The checks as machine code; null where there is none of either.
std::shared_ptr<const Executable> checks_of(const ir::Program& scheduled, ir::Target target,
                                            const Place& place) {
  target.halide = false;
  if (scheduled.checks.empty() || !place.memory || !kX86Backend.takes(target)) return nullptr;
  auto code = kX86Backend.emit(bare(scheduled), target, {});
  if (!code) return nullptr;
  auto loaded = kX86Backend.load(*std::move(code), target, place);
  return loaded ? *std::move(loaded) : nullptr;
}

/// The parameters and the checks, then one launch without a body.
Result<ir::Nest, ir::Reject> outline(const ir::Program& scheduled, const ir::Target& target) {
  auto nest = lower(bare(scheduled), target);
  if (!nest) return nest.failure();
  ir::Launch launch;
  launch.name = "halide";
  launch.range = static_cast<int>(nest->loops.size());
  nest->loops.emplace_back("halide");
  launch.extent = ir::make_int(1);
  launch.body = ir::make_sequence({});
  nest->launches.push_back(std::move(launch));
  return *std::move(nest);
}

/// Has Halide throw its errors and keep its warnings to itself.
class Reporter final : public Halide::CompileTimeErrorReporter {
 public:
  void warning(const char*) override {}
  void error(const char* message) override { throw Halide::CompileError(message); }
};

/// What Halide throws, as a reject.
template <class F>
auto told(F f) -> decltype(f()) {
  const auto reject = [](std::string why, ir::Reject::Kind kind) {
    while (!why.empty() && why.back() == '\n') why.pop_back();
    return ir::Reject("halide: " + std::move(why), kind);
  };
  if (!Halide::exceptions_enabled()) {
    return ir::Reject{ir::Reject::kFailed,
                      {ErrorCode::kUnsupported, "target halide: this Halide has no exceptions"}};
  }
  static Reporter reporter;
  static const bool once = (Halide::set_custom_compile_time_error_reporter(&reporter), true);
  static_cast<void>(once);
  try {
    return f();
  } catch (const ir::Reject& why) {
    return reject(why.reason, why.kind);
  } catch (const Halide::Error& e) {
    return reject(e.what(), ir::Reject::kIllegal);
  }
}

using Clock = std::chrono::steady_clock;

double us_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double, std::micro>(b - a).count();
}

Result<std::shared_ptr<const Code>, ir::Reject> emit(const ir::Program& scheduled,
                                                     const ir::Target& target, const EmitOptions&) {
  auto nest = outline(scheduled, target);
  if (!nest) return nest.failure();
  const auto compiled = [&](halide::Marks marks) {
    return told([&]() -> Result<std::shared_ptr<const Code>, ir::Reject> {
      const auto begun = Clock::now();
      halide::Pipeline made(scheduled, target, marks);
      const auto planned = Clock::now();
      Halide::Callable callable = made.compile();
      return std::shared_ptr<const Code>(std::make_shared<HalideCode>(
          *nest, scheduled, std::move(made), std::move(callable), us_between(begun, planned),
          us_between(planned, Clock::now())));
    });
  };
  // Which extents are constant shows only as Halide lowers.
  auto code = compiled(halide::Marks::kWhole);
  if (code || !target.autoschedule.empty()) return code;
  auto again = compiled(halide::Marks::kSplit);
  return again ? again : code;
}

Result<std::shared_ptr<const Executable>, ir::Reject> load(std::shared_ptr<const Code> code,
                                                           const ir::Target& target,
                                                           const Place& place) {
  auto own = std::static_pointer_cast<const HalideCode>(code);
  auto checks = checks_of(own->program(), target, place);
  return std::shared_ptr<const Executable>(
      std::make_shared<HalideExecutable>(std::move(own), std::move(checks)));
}

}  // namespace

namespace {
const Backend kRow = {"halide", [](const ir::Target& target) { return target.halide; }, emit, load};
}  // namespace

}  // namespace hone::jit

const hone::jit::Backend* hone_halide_backend(const char* version) {
  return std::strcmp(version, HONE_VERSION) == 0 ? &hone::jit::kRow : nullptr;
}
