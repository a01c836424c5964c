// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "include/hone/hone.h"
#include "runtime/machine/host.h"

namespace hone::tests {

/// Calls `f(engine)` for each vector unit that is here: one thread, a cache of its own.
template <class F>
void for_each_unit(const F& f) {
  for (const ir::Isa isa : {ir::Isa::kAvx2, ir::Isa::kAvx512}) {
    if (!runtime::host_target().has(isa)) continue;
    EngineOptions options;
    options.target =
        std::string("x86 threads=1 isa=") + (isa == ir::Isa::kAvx2 ? "avx2" : "avx512");
    options.cache = ":memory:";
    Engine engine(options);
    f(engine);
  }
}

}  // namespace hone::tests
