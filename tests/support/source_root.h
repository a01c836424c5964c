// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace hone::tests {

/// The folder of the sources this program was built from, where goldens and case files lie.
std::string source_root();

}  // namespace hone::tests
