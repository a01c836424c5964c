// SPDX-License-Identifier: Apache-2.0
// Functions of the language that are written in it.
#include <memory>

#include "ops/parser.h"

namespace hone::ops {
namespace {

struct CommonFunction {
  std::string_view name;
  std::vector<std::string> params;
  std::string_view body;
};

const std::vector<CommonFunction>& rows() {
  static const std::vector<CommonFunction> all = {
      // 24 of the 32 bits, which f32 holds exactly, divided by 2^24.
      {"uniform", {"seed", "i"}, "cast<f32>(philox(seed, i) >> 8) * 5.9604644775390625e-08"},
  };
  return all;
}

}  // namespace

std::optional<ScalarFunction> common_function(std::string_view name) {
  for (const CommonFunction& row : rows()) {
    if (row.name != name) continue;
    Diagnostics diagnostics(std::make_shared<const Source>(Source{std::string(row.body), "", 1}));
    ScalarFunctions before;
    ScalarFunction f;
    f.name = row.name;
    f.params = row.params;
    f.body = Parser(diagnostics, 0, before).parse_term();
    return f;
  }
  return std::nullopt;
}

}  // namespace hone::ops
