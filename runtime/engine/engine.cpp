// SPDX-License-Identifier: Apache-2.0
// The public faces of engine and op: thin members over EngineState.
#include "ops/gradient/gradient.h"
#include "ops/params.h"
#include "runtime/cache/text.h"
#include "runtime/engine/engine_state.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/records.h"

namespace hone {

using runtime::value_or_raise;

std::string_view name_of(Event::Kind kind) {
  switch (kind) {
    case Event::kCompile:
      return "compile";
    case Event::kTune:
      return "tune";
    case Event::kNotice:
      return "notice";
    case Event::kBug:
      return "bug";
  }
  return "";
}

Result<Op> Op::try_parse(std::string_view text) {
  auto op = ops::Op::parse(text);
  if (!op) return op.failure();
  return Op(std::make_shared<runtime::OpState>(runtime::OpState{std::move(*op)}));
}

Op Op::parse(std::string_view text) { return value_or_raise(try_parse(text)); }
Result<Op> Op::try_einsum(std::string_view letters) {
  return try_parse("einsum " + std::string(letters));
}

Op Op::einsum(std::string_view letters) { return value_or_raise(try_einsum(letters)); }
const std::string& Op::name() const { return state_->op.name(); }
const std::string& Op::text() const { return state_->op.text(); }
std::vector<Param> Op::params() const { return ops::params_of(state_->op); }

Result<Op> Op::try_gradient(const std::vector<std::string>& wrt,
                            const GradientOptions& options) const {
  auto op = ops::gradient(state_->op, {wrt, options.take});
  if (!op) return op.failure();
  return Op(std::make_shared<runtime::OpState>(runtime::OpState{std::move(*op)}));
}

Op Op::gradient(const std::vector<std::string>& wrt, const GradientOptions& options) const {
  return value_or_raise(try_gradient(wrt, options));
}

Result<Engine> Engine::try_create(EngineOptions options) {
  auto state = runtime::EngineState::create(std::move(options));
  if (!state) return state.failure();
  return Engine(std::move(*state));
}

Engine::Engine(EngineOptions options)
    : state_(value_or_raise(runtime::EngineState::create(std::move(options)))) {}

Result<Done> Engine::try_add_ops(std::string_view text, std::string_view origin) {
  return state_->add_ops(text, origin);
}

void Engine::add_ops(std::string_view text, std::string_view origin) {
  value_or_raise(try_add_ops(text, origin));
}

std::vector<Op> Engine::ops() const {
  std::vector<Op> all;
  for (const ops::Op& op : state_->all_ops()) {
    all.push_back(Op(std::make_shared<runtime::OpState>(runtime::OpState{op})));
  }
  return all;
}

Result<Kernel> Engine::try_compile(std::string_view problem, const CompileOptions& options) {
  auto state = state_->compile(problem, options);
  if (!state) return state.failure();
  return Kernel(std::move(*state));
}

Result<Kernel> Engine::try_compile(const Op& op, std::string_view bindings,
                                   const CompileOptions& options) {
  auto state = state_->compile(state_->parse(*op.state_, bindings), options);
  if (!state) return state.failure();
  return Kernel(std::move(*state));
}

Kernel Engine::compile(std::string_view problem, const CompileOptions& options) {
  return value_or_raise(try_compile(problem, options));
}

Kernel Engine::compile(const Op& op, std::string_view bindings, const CompileOptions& options) {
  return value_or_raise(try_compile(op, bindings, options));
}

const std::string& Engine::target() const { return state_->target_text; }

Result<Device> Engine::try_device() const {
  if (const auto& gpu = state_->services->gpu()) return Device(gpu);
  return Failure{ErrorCode::kUnsupported,
                 "this engine has no GPU: its target is `" + state_->target_text + "`"};
}

Device Engine::device() const { return value_or_raise(try_device()); }
std::string Engine::cache() const { return state_->cache->path(); }
std::string Engine::export_cache() const { return runtime::print_records(state_->cache->all()); }

Result<CacheReport> Engine::try_import_cache(std::string_view text, std::string_view origin) {
  const auto records = runtime::parse_records(text, origin);
  if (!records) return records.failure();
  return runtime::take_in(*state_, *records);
}

CacheReport Engine::import_cache(std::string_view text, std::string_view origin) {
  return value_or_raise(try_import_cache(text, origin));
}

CacheReport Engine::verify_cache() { return runtime::verify(*state_); }
EngineMemory Engine::memory() const { return state_->services->memory(); }

}  // namespace hone
