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
  if (asked == "long") return Effort::kLong;
  return Effort::kQuick;
}

double by_effort(double smoke, double quick, double full) {
  return by_effort(smoke, quick, full, full);
}

double by_effort(double smoke, double quick, double full, double longest) {
  switch (effort()) {
    case Effort::kSmoke:
      return smoke;
    case Effort::kQuick:
      return quick;
    case Effort::kFull:
      return full;
    case Effort::kLong:
      return longest;
  }
  return quick;
}

double setting(const char* name, double otherwise) {
  const char* value = std::getenv(name);
  return value ? std::atof(value) : otherwise;
}

}  // namespace hone::tests
