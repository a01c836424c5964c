// SPDX-License-Identifier: Apache-2.0
#include "tests/support/source_root.h"

namespace hone::tests {

std::string source_root() { return HONE_SOURCE_ROOT; }

}  // namespace hone::tests
