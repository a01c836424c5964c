// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu/settings.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace hone::tests {
namespace {

const char* text_of_settings(const char* name) {
  const char* given = std::getenv(name);
  return given && *given ? given : nullptr;
}

template <class T>
void read(const char* name, T& value) {
  if (const char* given = text_of_settings(name))
    value = static_cast<T>(std::strtoll(given, nullptr, 10));
}

/// Whether the words with which this process was started have `part`.
bool started_with(const char* part) {
  std::ifstream file("/proc/self/cmdline");
  const std::string words{std::istreambuf_iterator<char>(file), {}};
  return words.find(part) != std::string::npos;
}

}  // namespace

Settings settings_of_environment() {
  Settings s;
  read("HONE_GPU_DEVICES", s.devices);
  read("HONE_GPU_DRIVER", s.driver);
  read("HONE_GPU_MEMORY", s.memory);
  read("HONE_GPU_SEED", s.seed);
  read("HONE_GPU_HANG", s.hang);
  read("HONE_GPU_FAULT", s.fault);
  read("HONE_GPU_RAMP", s.ramp);
  read("HONE_GPU_TAKEN", s.taken);
  int sticky = 0, run = 1, capturing = 0, quiet = 0;
  read("HONE_GPU_STICKY", sticky);
  read("HONE_GPU_RUN", run);
  read("HONE_GPU_CAPTURING", capturing);
  read("HONE_GPU_QUIET", quiet);
  s.sticky = sticky != 0;
  s.idle = run == 0;
  s.capturing = capturing != 0;
  s.quiet = quiet != 0;
  if (const char* fail = text_of_settings("HONE_GPU_FAIL")) s.fail = fail;
  if (const char* only = text_of_settings("HONE_GPU_ONLY"); only && !started_with(only)) {
    s.hang = s.fault = 0;
  }
  if (const char* sm = text_of_settings("HONE_GPU_SM")) {
    s.sm.clear();
    for (char* at = const_cast<char*>(sm); *at;) {
      s.sm.push_back(static_cast<int>(std::strtol(at, &at, 10)));
      while (*at == ',' || *at == ' ') ++at;
      if (s.sm.back() == 0) break;
    }
  }
  return s;
}

}  // namespace hone::tests
