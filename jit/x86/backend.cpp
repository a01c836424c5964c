// SPDX-License-Identifier: Apache-2.0
// The row of the x86 back end.
#include <utility>

#include "jit/passes/lower.h"
#include "jit/x86/compile.h"

namespace hone::jit {
namespace {

class EmittedX86 final : public Code {
 public:
  EmittedX86(ir::Nest nest, X86Code code) : Code(std::move(nest)), machine(std::move(code)) {}
  const X86Code machine;
};

/// Machine code in executable memory, given back with the last kernel that runs it.
class LoadedX86 final : public Executable {
 public:
  LoadedX86(ExecutableMemory& memory, ExecutableSpan span, const X86Code& code)
      : memory_(memory), span_(span) {
    report_ = code.report;
    for (const int64_t entry : code.entries) {
      functions_.push_back(
          reinterpret_cast<Launch::Function>(reinterpret_cast<uintptr_t>(span.data + entry)));
    }
  }
  ~LoadedX86() override { memory_.release(span_); }

  Result<Done> run(size_t launch, const int64_t* slots, const Part& part) const override {
    functions_[launch](slots, part.begin, part.end, part.scratch);
    return Done{};
  }
  Launch::Function function(size_t launch) const override { return functions_[launch]; }
  std::span<const uint8_t> bytes() const override { return {span_.data, span_.size}; }

 private:
  ExecutableMemory& memory_;
  ExecutableSpan span_;
  std::vector<Launch::Function> functions_;
};

bool takes(const ir::Target& target) { return target.vector_bytes() > 0; }

Result<std::shared_ptr<const Code>, ir::Reject> emit(const ir::Program& scheduled,
                                                     const ir::Target& target,
                                                     const EmitOptions& options) {
  auto nest = options.nest ? Result<ir::Nest, ir::Reject>(*options.nest) : lower(scheduled, target);
  if (!nest) return nest.failure();
  auto code = compile_x86(*nest, target, options);
  if (!code) return code.failure();
  return std::shared_ptr<const Code>(
      std::make_shared<EmittedX86>(*std::move(nest), *std::move(code)));
}

Result<std::shared_ptr<const Executable>, ir::Reject> load(std::shared_ptr<const Code> code,
                                                           const ir::Target&, const Place& place) {
  const X86Code& machine = *x86_code(*code);
  auto span = place.memory->add(machine.bytes);
  if (!span) return ir::Reject{ir::Reject::kFailed, span.failure()};
  return std::shared_ptr<const Executable>(
      std::make_shared<LoadedX86>(*place.memory, *span, machine));
}

}  // namespace

const X86Code* x86_code(const Code& code) {
  const auto* emitted = dynamic_cast<const EmittedX86*>(&code);
  return emitted ? &emitted->machine : nullptr;
}

const Backend kX86Backend = {"x86", takes, emit, load};

}  // namespace hone::jit
