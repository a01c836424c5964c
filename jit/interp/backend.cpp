// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/backend.h"

#include <utility>

#include "jit/interp/execute.h"
#include "jit/passes/lower.h"

namespace hone::jit {
namespace {

class Interpreted final : public Executable {
 public:
  explicit Interpreted(const ir::Nest& nest) : executor_(nest) {}

  Result<Done> run(size_t launch, const int64_t* slots, const Part& part) const override {
    auto fault = executor_.run(static_cast<int>(launch), slots, part.begin, part.end, part.scratch);
    if (!fault) return Done{};
    return Failure{ErrorCode::kInternal, std::move(fault->message)};
  }

 private:
  NestExecutor executor_;
};

Result<std::shared_ptr<const Code>, ir::Reject> emit_nest(const ir::Program& scheduled,
                                                          const ir::Target& target,
                                                          const EmitOptions&) {
  auto nest = lower(scheduled, target);
  if (!nest) return nest.failure();
  return std::shared_ptr<const Code>(std::make_shared<Code>(*std::move(nest)));
}

Result<std::shared_ptr<const Executable>, ir::Reject> load_nest(std::shared_ptr<const Code> code,
                                                                const ir::Target&, const Place&) {
  return std::shared_ptr<const Executable>(std::make_shared<Interpreted>(code->nest()));
}

}  // namespace

const Backend kInterpBackend = {
    "interp", [](const ir::Target& target) { return !target.is_cuda() && !target.halide; },
    emit_nest, load_nest};

}  // namespace hone::jit
