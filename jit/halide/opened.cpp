// SPDX-License-Identifier: Apache-2.0
// The row as the library has it: the module, opened once, does what the row is asked for.
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "jit/halide/backend.h"
#include "jit/halide/module.h"

namespace hone::jit {
namespace {

/// The module's row; null where no file opens that has one.
const Backend* open_at(const std::string& file) {
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module) return nullptr;
  const auto row =
      reinterpret_cast<decltype(&hone_halide_backend)>(dlsym(module, "hone_halide_backend"));
  return row ? row(HONE_VERSION) : nullptr;
}

/// Where HONE_HALIDE says; else beside this library or program or up to two folders above, as in a
/// build folder; else where it is installed.
const Backend* find() {
  const char* const told = std::getenv("HONE_HALIDE");
  if (told && *told) return open_at(told);
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&has_halide), &info) != 0 && info.dli_fname) {
    const std::string path = info.dli_fname;
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    for (const char* above : {"", "../", "../../"}) {
      if (const Backend* row = open_at((folder.empty() ? "./" : folder) + above + kHalideModule)) {
        return row;
      }
    }
  }
  return open_at(HONE_HALIDE_PATH);
}

const Backend* opened() {
  static const Backend* const row = find();
  return row;
}

ir::Reject none() {
  return {ir::Reject::kFailed,
          {ErrorCode::kUnsupported, "target halide: this hone was built without Halide"}};
}

Result<std::shared_ptr<const Code>, ir::Reject> emit_there(const ir::Program& scheduled,
                                                           const ir::Target& target,
                                                           const EmitOptions& options) {
  if (!opened()) return none();
  return opened()->emit(scheduled, target, options);
}

Result<std::shared_ptr<const Executable>, ir::Reject> load_there(std::shared_ptr<const Code> code,
                                                                 const ir::Target& target,
                                                                 const Place& place) {
  if (!opened()) return none();
  return opened()->load(std::move(code), target, place);
}

}  // namespace

bool has_halide() { return opened() != nullptr; }

const Backend kHalideBackend = {"halide", [](const ir::Target& target) { return target.halide; },
                                emit_there, load_there};

}  // namespace hone::jit
