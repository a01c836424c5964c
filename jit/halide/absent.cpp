// SPDX-License-Identifier: Apache-2.0
// Stands in for the back end in a build without Halide.
#include "jit/halide/backend.h"

namespace hone::jit {

bool has_halide() { return false; }

const Backend kHalideBackend = {
    "halide",
    [](const ir::Target& target) { return target.halide; },
    [](const ir::Program&, const ir::Target&,
       const EmitOptions&) -> Result<std::shared_ptr<const Code>, Reject> {
      return Reject{Reject::kFailed,
                    {ErrorCode::kUnsupported, "target halide: this hone was built without Halide"}};
    },
    [](std::shared_ptr<const Code>, const ir::Target&,
       const Place&) -> Result<std::shared_ptr<const Executable>, Reject> {
      return Reject{Reject::kFailed,
                    {ErrorCode::kUnsupported, "target halide: this hone was built without Halide"}};
    },
};

}  // namespace hone::jit
