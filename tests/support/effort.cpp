// SPDX-License-Identifier: Apache-2.0
#include "tests/support/effort.h"

#include <cstdlib>
#include <string_view>

namespace hone::tests {

Effort effort() {
  const char* text = std::getenv("HONE_TEST_EFFORT");
  const std::string_view asked = text ? text : "";
  if (asked == "smoke") return Effort::kSmoke;
  if (asked == "full") return Effort::kFull;
  return Effort::kQuick;
}

double by_effort(double smoke, double quick, double full) {
  switch (effort()) {
    case Effort::kSmoke:
      return smoke;
    case Effort::kQuick:
      return quick;
    case Effort::kFull:
      return full;
  }
  return quick;
}

}  // namespace hone::tests
