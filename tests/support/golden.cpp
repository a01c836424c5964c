// SPDX-License-Identifier: Apache-2.0
#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "tests/support/source_root.h"

namespace hone::tests {
namespace {

struct Case {
  std::string input;
  std::string output;
};

std::string read_cases(const std::string& file, std::vector<Case>& cases) {
  std::ifstream in(file);
  REQUIRE_MESSAGE(in, "no golden file " << file);
  std::string heading;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(">>> ")) {
      cases.push_back({line.substr(4), ""});
    } else {
      (cases.empty() ? heading : cases.back().output) += line + "\n";
    }
  }
  return heading;
}

std::string with_line_end(std::string text) {
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

}  // namespace

void check_golden(const std::string& path,
                  const std::function<std::string(const std::string&)>& output) {
  const std::string file = source_root() + "/tests/golden/" + path;
  std::vector<Case> cases;
  std::string rewritten = read_cases(file, cases);
  REQUIRE(!cases.empty());
  const char* accept = std::getenv("HONE_ACCEPT");
  for (const Case& c : cases) {
    const std::string now = with_line_end(output(c.input)) + "\n";
    rewritten += ">>> " + c.input + "\n" + now;
    if (accept) continue;
    CHECK_MESSAGE(now == with_line_end(c.output), path << ": " << c.input << "\nexpected\n"
                                                       << c.output << "got\n"
                                                       << now);
  }
  if (accept) std::ofstream(file) << rewritten;
}

}  // namespace hone::tests
