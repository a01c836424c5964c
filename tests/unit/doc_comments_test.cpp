// SPDX-License-Identifier: Apache-2.0
// Holds the sentences of doc comments (`///`) to a length that is read in one go, and to words that
// need no second reading.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/source_root.h"

namespace fs = std::filesystem;

namespace {

constexpr int kMostWords = 25;  // of a sentence

/// Folders whose doc comments are held, with those below.
constexpr std::string_view kHeld[] = {"include/hone", "jit", "ops", "runtime", "schedules"};
/// Words that stand where a sentence should be two, or name its subject.
constexpr std::string_view kAvoided[] = {"of which", "so many", "that of", "what it"};

struct DocComment {
  int line = 0;
  std::string text;
};

/// The doc comments of a source: adjoining lines are one, and one behind code begins anew. So does
/// one behind an example, which is indented and no sentence.
std::vector<DocComment> doc_comments(std::istream& in) {
  std::vector<DocComment> found;
  bool open = false, behind = false;  // the comment of the line before; it stood behind code
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const size_t at = line.find("///");
    // In a string it is no comment.
    const size_t quote = line.find('"');
    if (at == std::string::npos || quote < at) {
      open = false;
      continue;
    }
    std::string_view text = std::string_view(line).substr(at + 3);
    const bool trails = text.starts_with('<');
    if (trails) text.remove_prefix(1);
    if (text.starts_with("  ")) {
      open = false;
      continue;
    }
    const bool after_code = line.find_first_not_of(' ') != at;
    if (!open || after_code || trails != behind) found.push_back({number, ""});
    found.back().text.append(text).append(" ");
    open = true;
    behind = trails;
  }
  return found;
}

/// The number of words in the longest sentence of `text`; one ends with a word that ends in . ? !
int longest_sentence(const std::string& text) {
  int longest = 0, words = 0;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    longest = std::max(longest, ++words);
    if (word.find_last_of(".?!") == word.size() - 1) words = 0;
  }
  return longest;
}

/// The first of the words to avoid in `text`, or "".
std::string_view avoided_in(const std::string& text) {
  std::string plain = " ";  // words apart by one space
  std::istringstream in(text);
  for (std::string word; in >> word;) plain.append(word).append(" ");
  for (const std::string_view words : kAvoided) {
    if (plain.find(" " + std::string(words) + " ") != std::string::npos) return words;
  }
  return "";
}

}  // namespace

TEST_CASE("layering: the scanner of doc comments counts the words of sentences") {
  std::istringstream in(R"(
/// One two three. Four
/// five six seven!
///   an example of five words
/// more words, so many.
int x = 0;  ///< eight nine
            ///< ten
int y = 0;  ///< eleven
// no doc comment of five words
const char* z = "/// text";
)");
  const std::vector<DocComment> found = doc_comments(in);
  REQUIRE(found.size() == 4);
  CHECK(found[0].line == 2);
  CHECK(longest_sentence(found[0].text) == 4);
  CHECK(avoided_in(found[0].text).empty());
  CHECK(longest_sentence(found[1].text) == 4);
  CHECK(longest_sentence(found[2].text) == 3);
  CHECK(longest_sentence(found[3].text) == 1);
  CHECK(avoided_in("eight words, so\n many of them") == "so many");
}

TEST_CASE("layering: doc comments have sentences of at most 25 words, and plain ones") {
  size_t comments = 0;
  const fs::path root = hone::tests::source_root();
  for (const std::string_view folder : kHeld) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp") continue;
      const std::string file = entry.path().lexically_relative(root).generic_string();
      std::ifstream in(entry.path());
      for (const DocComment& comment : doc_comments(in)) {
        ++comments;
        CHECK_MESSAGE(longest_sentence(comment.text) <= kMostWords, file << ":" << comment.line);
        CHECK_MESSAGE(avoided_in(comment.text).empty(),
                      file << ":" << comment.line << ": " << avoided_in(comment.text));
      }
    }
  }
  CHECK(comments > 3000);
}
