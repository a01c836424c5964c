// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/cli/common.h"

namespace hone::runtime {

/// An estimate as a report gives it: three digits, and all before the point.
double rounded(double x);

/// A report's facts as text, a line each; a list holds launches, whose lines are indented.
std::string text_of_facts(const Json& facts);

}  // namespace hone::runtime
