// SPDX-License-Identifier: Apache-2.0
// Holds the sentences of comments and of READMEs to a length that is read in one go, and to words
// that need no second reading.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/source_root.h"

namespace fs = std::filesystem;

namespace {

constexpr int kMostWords = 25;  // of a sentence

/// Folders whose comments are held, with those below.
constexpr std::string_view kHeld[] = {"include/hone", "jit", "ops", "runtime", "schedules"};
/// Folders whose documents (.md) are held, with those below.
constexpr std::string_view kDocumented[] = {"bench",   "examples",  "jit",  "ops",
                                            "runtime", "schedules", "tests"};
/// How a comment begins, the longest first.
constexpr std::string_view kMarkers[] = {"///<", "///", "//"};
/// How a comment begins that is for programs to read.
constexpr std::string_view kDirectives[] = {" SPDX-", " NOLINT", " clang-format "};
/// Words that stand where a sentence should be two, or name its subject.
constexpr std::string_view kAvoided[] = {"of which", "so many", "that of", "what it"};

/// Sentences that stand together: a comment, or a paragraph, a list's item or a table's cell.
struct Passage {
  int line = 0;
  std::string text;
};

/// Whether `text` begins with one of `starts`.
bool starts_with_any(std::string_view text, std::span<const std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](auto s) { return text.starts_with(s); });
}

/// Whether a raw string is open behind `line`; `before`: whether one is before it.
bool raw_string_behind(std::string_view line, bool before) {
  const size_t opens = line.rfind("R\"("), closes = line.rfind(")\"");
  if (opens == line.npos && closes == line.npos) return before;
  return closes == line.npos || (opens != line.npos && closes < opens);
}

/// The comments of a source: `///` anywhere, `//` on lines of their own. Adjoining lines of one
/// kind are one, and one behind code begins anew. So does one behind an example, which is indented.
std::vector<Passage> comments(std::istream& in) {
  std::vector<Passage> found;
  std::string_view open;  // the marker of the line before, if that was prose
  bool raw = false;       // in a raw string
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const bool quoted = std::exchange(raw, raw_string_behind(line, raw));
    const size_t at = line.find("//");
    const bool after_code = line.find_first_not_of(' ') != at;
    std::string_view marker, text;
    if (!quoted && at < line.find('"')) {  // in a string it is no comment
      text = std::string_view(line).substr(at);
      marker = *std::find_if(std::begin(kMarkers), std::end(kMarkers),
                             [&](std::string_view m) { return text.starts_with(m); });
      text.remove_prefix(marker.size());
    }
    const bool example = text.starts_with("  "), trails = marker == "//" && after_code;
    if (marker.empty() || example || trails || starts_with_any(text, kDirectives)) {
      open = "";
      continue;
    }
    if (marker != open || after_code) found.push_back({number, ""});
    found.back().text.append(text).append(" ");
    open = marker;
  }
  return found;
}

/// `text` with each piece of `code in backticks` as one word.
std::string code_as_words(std::string text) {
  bool code = false;
  for (char& c : text) {
    if (c == '`') code = !code;
    if (code && (c == ' ' || c == '|')) c = '_';
  }
  return text;
}

/// Whether a line of Markdown begins an item of a list.
bool begins_item(std::string_view line) {
  return line.starts_with("- ") || (line.find(". ") == 1 && line[0] >= '1' && line[0] <= '9');
}

/// The prose of a document in Markdown, without headings and code.
std::vector<Passage> prose(std::istream& in) {
  std::vector<Passage> found;
  bool open = false, fenced = false;  // in a passage; in code between fences
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view text = std::string_view(line).substr(indent);
    const bool fence = text.starts_with("```");
    const bool code = fence || fenced || (!open && indent >= 4);
    fenced = fenced != fence;
    if (code || text.empty() || text.starts_with('#')) {
      open = false;
    } else if (text.starts_with('|')) {
      open = false;
      std::istringstream row(code_as_words(line));
      for (std::string cell; std::getline(row, cell, '|');) found.push_back({number, cell});
    } else {
      const bool item = begins_item(text);
      if (!open || item) found.push_back({number, ""});
      found.back().text.append(text.substr(item ? text.find(' ') + 1 : 0)).append(" ");
      open = true;
    }
  }
  return found;
}

/// The number of words in the longest sentence of `text`; one ends with a word that ends in . ? !
int longest_sentence(const std::string& text) {
  int longest = 0, words = 0;
  std::istringstream in(code_as_words(text));
  for (std::string word; in >> word;) {
    longest = std::max(longest, ++words);
    if (word.find_last_of(".?!") == word.size() - 1) words = 0;
  }
  return longest;
}

/// The first of the words to avoid in `text`, in capitals or not, or "".
std::string_view avoided_in(const std::string& text) {
  std::string plain = " ";  // words apart by one space
  std::istringstream in(code_as_words(text));
  for (std::string word; in >> word;) plain.append(word).append(" ");
  for (char& c : plain) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view words : kAvoided) {
    if (plain.find(" " + std::string(words) + " ") != std::string::npos) return words;
  }
  return "";
}

}  // namespace

TEST_CASE("layering: the scanner of comments counts the words of sentences") {
  std::istringstream in(R"source(
/// One two three. Four
/// five six seven!
///   an example of five words
/// more words, so many.
int x = 0;  ///< eight nine
            ///< ten
int y = 0;  ///< eleven
// Twelve `thirteen if code`
// NOLINT of five words more
const char* z = "/// text";  // trails
const char* w = R"(
// A comment for others
)";
// fourteen
)source");
  const std::vector<Passage> found = comments(in);
  REQUIRE(found.size() == 6);
  CHECK(found[0].line == 2);
  CHECK(longest_sentence(found[0].text) == 4);
  CHECK(avoided_in(found[0].text).empty());
  CHECK(longest_sentence(found[1].text) == 4);
  CHECK(longest_sentence(found[2].text) == 3);
  CHECK(longest_sentence(found[3].text) == 1);
  CHECK(longest_sentence(found[4].text) == 2);
  CHECK(longest_sentence(found[5].text) == 1);
  CHECK(avoided_in("eight words, so\n many of them") == "so many");
  CHECK(avoided_in("What it is.") == "what it");
}

TEST_CASE("layering: the scanner of documents sees paragraphs, items and cells") {
  std::istringstream in(R"(# A heading of five words
One two. Three
four [five](of/a/link.md).

    code of some five words

1. six
   seven `eight |
   words`:
   - nine ten

```
code of five more words
```
| eleven twelve | `a|b` |
)");
  const std::vector<Passage> found = prose(in);
  REQUIRE(found.size() == 6);
  CHECK(found[0].line == 2);
  CHECK(longest_sentence(found[0].text) == 3);
  CHECK(longest_sentence(found[1].text) == 3);
  CHECK(longest_sentence(found[2].text) == 2);
  CHECK(found[4].line == 15);
  CHECK(longest_sentence(found[4].text) == 2);
  CHECK(longest_sentence(found[5].text) == 1);
}

TEST_CASE("layering: prose has sentences of at most 25 words, and plain ones") {
  const fs::path root = hone::tests::source_root();
  size_t passages = 0;
  const auto hold = [&](const fs::path& path, auto scan) {
    const std::string file = path.lexically_relative(root).generic_string();
    std::ifstream in(path);
    for (const Passage& passage : scan(in)) {
      ++passages;
      CHECK_MESSAGE(longest_sentence(passage.text) <= kMostWords, file << ":" << passage.line);
      CHECK_MESSAGE(avoided_in(passage.text).empty(),
                    file << ":" << passage.line << ": " << avoided_in(passage.text));
    }
  };
  for (const std::string_view folder : kHeld) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".h" || extension == ".cpp") hold(entry.path(), comments);
    }
  }
  CHECK(passages > 5000);
  passages = 0;
  for (const std::string_view folder : kDocumented) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() == ".md") hold(entry.path(), prose);
    }
  }
  for (const char* file : {"README.md", "subprojects/README.md"}) hold(root / file, prose);
  CHECK(passages > 600);
}
