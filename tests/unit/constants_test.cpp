// SPDX-License-Identifier: Apache-2.0
// Scans schedules, back ends and the runtime: each number says on what it was tuned, what fixes it,
// or for what it was chosen.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/source_root.h"

namespace fs = std::filesystem;
using hone::tests::source_root;

namespace {

using Lines = std::vector<std::string>;

bool is_comment(const std::string& line) {
  const size_t at = line.find_first_not_of(' ');
  return at != std::string::npos && line.compare(at, 2, "//") == 0;
}

/// A line that begins to define a named number or time, or an array of them.
bool defines_number(const std::string& line) {
  static const std::regex kNumber(
      R"(^ *(inline |static )*constexpr (u?int(8|16|32|64)?(_t)?|size_t|double|float|unsigned) k\w+.*)");
  static const std::regex kTime(
      R"(^ *(inline |static )*constexpr auto k\w+ = std::chrono::\w+\(.*)");
  return std::regex_match(line, kNumber) || std::regex_match(line, kTime);
}

/// False of a definition by other names, 0 and 1 alone, such as `kNone = -1`.
bool has_digits(const std::string& line) {
  static const std::regex kDigits(R"((^|[^\w.])(\d[\d.'a-fxp]*))");
  const std::string code = line.substr(0, line.find("//"));
  const size_t at = code.find('=');
  if (at == std::string::npos || code.find(';') == std::string::npos) return true;
  std::string value = code.substr(at);
  for (std::smatch m; std::regex_search(value, m, kDigits); value = m.suffix().str()) {
    if (m[2] != "0" && m[2] != "1") return true;
  }
  return false;
}

bool labelled(const std::string& text) {
  for (const char* label : {"Tuned on: ", "Fixed by: "}) {
    const size_t at = text.find(label);
    if (at != std::string::npos && text.find('.', at) != std::string::npos) return true;
  }
  const size_t at = text.find("Chosen: ");
  return at != std::string::npos && text.find("(not measured).", at) != std::string::npos;
}

/// The text of a comment's line.
std::string text_of(const std::string& line) {
  const size_t at = line.find_first_not_of(" /");
  return at == std::string::npos ? std::string() : line.substr(at);
}

/// What stands above a definition, and above those that stand directly before it, and behind it.
std::string comment_of(const Lines& lines, size_t at) {
  std::string text = lines[at];
  while (at > 0 && defines_number(lines[at - 1])) --at;
  size_t first = at;
  while (first > 0 && is_comment(lines[first - 1])) --first;
  for (size_t i = first; i < at; ++i) text += " " + text_of(lines[i]);
  return text;
}

/// The line without comment, text literals and what braces hold: a knob's domain is the search's.
std::string bare(const std::string& line) {
  std::string out;
  bool quoted = false;
  int braces = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line.compare(i, 2, "//") == 0 && !quoted) break;
    if (line[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (line[i] == '}' && braces > 0) --braces;
    if (braces == 0) out += line[i];
    if (line[i] == '{') ++braces;
  }
  return out;
}

/// A number of two digits or more that no name explains, such as `64`; empty: there is none.
std::string nameless(const std::string& line) {
  static const std::regex kLiteral(R"((^|[^\w.])(\d{2,}|\d+\.\d*[1-9]\d*)(?![\w.]))");
  std::smatch match;
  const std::string text = bare(line);
  return std::regex_search(text, match, kLiteral) ? match[2].str() : std::string();
}

Lines lines_of(const fs::path& file) {
  std::ifstream in(file);
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<fs::path> sources_below(const std::string& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(source_root() + "/" + folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".cpp" || extension == ".h") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("layering: the scanner tells named, labelled and bare numbers") {
  CHECK(defines_number("constexpr int64_t kSide = 16;"));
  CHECK(defines_number("  constexpr double kGain = 0.01, kLoss = 2;"));
  CHECK(defines_number("inline constexpr size_t kSizes[] = {2, 4};"));
  CHECK_FALSE(defines_number("constexpr const Rule* kRules[] = {&kTile};"));
  const Lines two = {"/// Blocks. Tuned on: Zen 5.", "constexpr int kA = 1;",
                     "constexpr int kB = 2;"};
  CHECK(labelled(comment_of(two, 2)));
  CHECK_FALSE(labelled(comment_of({"/// Blocks.", "constexpr int kA = 1;"}, 1)));
  CHECK(
      labelled(comment_of({"// Chosen: time (not", "// measured).", "constexpr int kA = 9;"}, 2)));
  CHECK_FALSE(labelled(comment_of({"/// Chosen: at will.", "constexpr int kA = 9;"}, 1)));
  CHECK(defines_number("constexpr auto kPause = std::chrono::seconds(2);"));
  CHECK(has_digits("constexpr int kA = -2, kB = 1;"));
  CHECK(has_digits("constexpr int64_t kA[] = {1,"));
  CHECK_FALSE(has_digits("constexpr int64_t kA = kLimit<int64_t>() - 1;  // 64 bits"));
  CHECK(nameless("  if (extent < 512) return;") == "512");
  CHECK(nameless("  if (cost > 0.75 * best) return;") == "0.75");
  CHECK(nameless("  plan.knob(name, {16, 32, 64}, side);  // 64").empty());
  CHECK(nameless("  return text(\"64\") + k64 + 1.0 * x2;").empty());
}

TEST_CASE(
    "layering: numbers say on what they were tuned, what fixes them, or for what they are chosen") {
  int named = 0;
  for (const char* folder : {"schedules", "jit", "runtime"}) {
    for (const fs::path& path : sources_below(folder)) {
      // Coefficients of approximations, of which the README says how they are made.
      if (path.string().find("/jit/x86/math/") != std::string::npos) continue;
      const Lines lines = lines_of(path);
      for (size_t i = 0; i < lines.size(); ++i) {
        if (!defines_number(lines[i]) || !has_digits(lines[i])) continue;
        ++named;
        CHECK_MESSAGE(labelled(comment_of(lines, i)),
                      path.string() << ":" << i + 1 << ": neither `Tuned on: ..`, `Fixed by: ..` "
                                    << "nor `Chosen: .. (not measured).`");
      }
    }
  }
  CHECK(named > 350);
}

TEST_CASE("layering: rules and their analysis have no bare numbers") {
  for (const char* folder : {"schedules/space/rules", "schedules/space/analysis"}) {
    for (const fs::path& path : sources_below(folder)) {
      const Lines lines = lines_of(path);
      bool text = false;  // of a rule's documentation
      for (size_t i = 0; i < lines.size(); ++i) {
        text = (text || lines[i].starts_with("const Rule ")) && lines[i] != "};";
        if (text || defines_number(lines[i])) continue;
        const std::string number = nameless(lines[i]);
        CHECK_MESSAGE(number.empty(), path.string()
                                          << ":" << i + 1 << ": give " << number << " a name");
      }
    }
  }
}
