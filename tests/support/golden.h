// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace hone::tests {

/// Checks a golden file: cases that begin with a line `>>> INPUT`, each followed by the text that
/// `output(INPUT)` must give. `path` is relative to tests/golden. With HONE_ACCEPT=1 the file is
/// rewritten with what the program gives now.
void check_golden(const std::string& path,
                  const std::function<std::string(const std::string&)>& output);

}  // namespace hone::tests
