// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/source_sizes.h"

#include <algorithm>
#include <cctype>

namespace hone::tests {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The source with comments, literals and preprocessor lines as blanks; lines stay lines.
class Blanker {
 public:
  explicit Blanker(std::string_view source) : text_(source) {}

  std::string run() {
    while (at_ < text_.size()) {
      const std::string_view rest = std::string_view(text_).substr(at_);
      if (rest.starts_with("//")) {
        blank(text_.find('\n', at_));
      } else if (rest.starts_with("/*")) {
        blank_past(text_.find("*/", at_ + 2), 2);
      } else if (rest.starts_with("R\"") && !(at_ > 0 && is_word(text_[at_ - 1]))) {
        raw_literal();
      } else if (rest[0] == '"' || (rest[0] == '\'' && !(at_ > 0 && is_word(text_[at_ - 1])))) {
        literal(rest[0]);
      } else if (rest[0] == '#' && starts_line_) {
        directive();
      } else {
        starts_line_ = rest[0] == '\n' || (starts_line_ && rest[0] == ' ');
        ++at_;
      }
    }
    return std::move(text_);
  }

 private:
  /// Blanks all up to `end`.
  void blank(size_t end) {
    for (end = std::min(end, text_.size()); at_ < end; ++at_) {
      if (text_[at_] != '\n') text_[at_] = ' ';
    }
  }
  void blank_past(size_t end, size_t size) { blank(end == text_.npos ? end : end + size); }

  void literal(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    blank_past(end, 1);
  }

  void raw_literal() {
    const size_t open = text_.find('(', at_);
    const std::string close = ")" + text_.substr(at_ + 2, open - at_ - 2) + "\"";
    blank_past(text_.find(close, open), close.size());
  }

  void directive() {
    size_t end = text_.find('\n', at_);
    while (end != text_.npos && text_[end - 1] == '\\') end = text_.find('\n', end + 1);
    blank(end);
  }

  std::string text_;
  size_t at_ = 0;
  bool starts_line_ = true;
};

/// A declaration's text up to its semicolon or brace, without access specifiers and the arguments
/// of templates, and what it declares.
class Head {
 public:
  explicit Head(std::string_view text) {
    int angles = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      const size_t before = text_.find_last_not_of(' ');
      const bool opens =
          c == '<' && !is_operator() && before != text_.npos && is_word(text_[before]);
      if (opens || (angles > 0 && c == '<')) ++angles;
      if (angles == 0) text_ += c == '\n' ? ' ' : c;
      if (angles > 0 && c == '>' && text[i - 1] != '-') --angles;
    }
    for (bool found = true; found;) {
      found = false;
      text_.erase(0, text_.find_first_not_of(' '));
      for (const char* word : {"public:", "private:", "protected:", "template "}) {
        if (!std::string_view(text_).starts_with(word)) continue;
        text_.erase(0, std::string_view(word).size());
        found = true;
      }
    }
    if (const size_t at = text_.find("HONE_API "); at != text_.npos) text_.erase(at, 9);
    while (!text_.empty() && text_.back() == ' ') text_.pop_back();
  }

  const std::string& text() const { return text_; }
  bool begins(std::string_view word) const {
    return std::string_view(text_).starts_with(word) &&
           (text_.size() == word.size() || !is_word(text_[word.size()]));
  }

  bool is_class() const {
    return (begins("class") || begins("struct") || begins("union")) && !is_function();
  }
  /// True for declarations and heads of functions, not for variables that calls initialize.
  bool is_function() const {
    for (const char* word : {"friend", "using", "typedef", "static_assert", "enum", "namespace"}) {
      if (begins(word)) return false;
    }
    if (is_operator()) return text_.find('(') != text_.npos;
    const size_t open = text_.find('(');
    if (open == text_.npos || open == 0 || text_.find('=') < open) return false;
    return text_[open + 1] != '*' && is_word(text_[open - 1]);
  }
  /// True where a brace after the head begins what a member starts with, not the body.
  bool in_initializers() const {
    int depth = 0;
    for (size_t i = 0; i < text_.size(); ++i) {
      depth += text_[i] == '(';
      depth -= text_[i] == ')';
      const bool colon = text_[i] == ':' && depth == 0 && i > 0 && text_[i - 1] != ':' &&
                         i + 1 < text_.size() && text_[i + 1] != ':';
      if (colon && text_.find('(') < i) return is_word(text_.back()) || text_.back() == '>';
    }
    return false;
  }

  /// The class or function that is named.
  std::string name() const {
    if (is_class()) {
      const size_t from = text_.find(' ') + 1;
      size_t to = from;
      while (to < text_.size() && (is_word(text_[to]) || text_[to] == ':')) ++to;
      return text_.substr(from, to - from);
    }
    const size_t open = text_.find('(');
    size_t from = open;
    while (from > 0 && (is_word(text_[from - 1]) || text_[from - 1] == ':')) --from;
    return text_.substr(from, open - from);
  }

 private:
  bool is_operator() const { return text_.find("operator") != text_.npos; }

  std::string text_;
};

/// One walk over the braces.
class Counter {
 public:
  explicit Counter(std::string text) : text_(std::move(text)) {}

  SourceSizes run() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      line_ += c == '\n';
      if (c == '(') ++parens_;
      if (c == ')') --parens_;
      const bool inside = parens_ > 0;  // of a for, or a default argument
      if (c == '{' && !inside) {
        open();
      } else if (c == '}' && !inside) {
        close();
      } else if (c == ';' && !inside) {
        declaration();
        head_.clear();
      } else if (!head_.empty() || std::isspace(static_cast<unsigned char>(c)) == 0) {
        if (head_.empty()) head_line_ = line_;
        head_ += c;
      }
    }
    return std::move(out_);
  }

 private:
  enum Kind { kSpace, kClass, kFunction, kOther, kInitializer };
  struct Scope {
    Kind kind;
    size_t index;  ///< in the classes or functions found
    std::string head;
  };

  Kind around() const { return scopes_.empty() ? kSpace : scopes_.back().kind; }

  void open() {
    const Head head(head_);
    const bool declares = around() == kSpace || around() == kClass;
    if (declares && (head.begins("namespace") || head.begins("extern"))) {
      scopes_.push_back({kSpace, 0, {}});
    } else if (declares && head.is_class()) {
      scopes_.push_back({kClass, out_.classes.size(), {}});
      out_.classes.push_back({head.name(), 0});
    } else if (declares && head.is_function() && head.in_initializers()) {
      scopes_.push_back({kInitializer, 0, head_});
    } else if (declares && head.is_function()) {
      declaration();
      scopes_.push_back({kFunction, out_.functions.size(), {}});
      out_.functions.push_back({head.name(), head_line_, 0});
    } else {
      // What a variable starts with leaves its name to the semicolon.
      scopes_.push_back({kOther, 0, {}});
    }
    head_.clear();
  }

  void close() {
    if (scopes_.empty()) return;
    const Scope done = scopes_.back();
    scopes_.pop_back();
    head_ = done.kind == kInitializer ? done.head + "()" : std::string();
    if (done.kind != kFunction) return;
    FunctionSize& f = out_.functions[done.index];
    f.lines = line_ - f.line + 1;
  }

  /// Counts the function that the head declares, where it is a class's.
  void declaration() {
    if (around() == kClass && Head(head_).is_function()) {
      ++out_.classes[scopes_.back().index].functions;
    }
  }

  std::string text_;
  size_t at_ = 0;
  int line_ = 1;
  int parens_ = 0;
  std::string head_;
  int head_line_ = 1;
  std::vector<Scope> scopes_;
  SourceSizes out_;
};

}  // namespace

SourceSizes sizes_of(std::string_view source) { return Counter(Blanker(source).run()).run(); }

}  // namespace hone::tests
