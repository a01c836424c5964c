// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::tests {

/// A class of a source file: how many functions it declares, overloads and constructors included.
struct ClassSize {
  std::string name;
  int functions = 0;
};

/// A function that a source file defines: the lines from its head to its last brace.
struct FunctionSize {
  std::string name;
  int line = 0;
  int lines = 0;
};

struct SourceSizes {
  std::vector<ClassSize> classes;
  std::vector<FunctionSize> functions;
};

/// Counts in C++ as this tree is written: no macros that open or close braces.
SourceSizes sizes_of(std::string_view source);

}  // namespace hone::tests
