// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>

#include "jit/ir/spelling.h"
#include "schedules/step.h"

namespace hone::schedules {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

/// Reads one step from left to right; the first thing that does not fit is kept as the error.
struct Reader {
  std::string_view text;
  size_t pos = 0;
  bool failed = false;
  SyntaxError error;

  void space() {
    while (pos < text.size() && std::isspace(static_cast<unsigned char>(text[pos]))) ++pos;
  }
  bool done() {
    space();
    return pos >= text.size();
  }
  bool fail(size_t at, std::string message) {
    if (!failed) error = {at, std::move(message)};
    failed = true;
    return false;
  }
  bool eat(std::string_view token) {
    if (text.substr(pos, token.size()) != token) return false;
    pos += token.size();
    return true;
  }
  /// The text up to the next space: what an error quotes.
  std::string found() const {
    size_t end = pos;
    while (end < text.size() && !std::isspace(static_cast<unsigned char>(text[end]))) ++end;
    return end == pos ? "the end of the step"
                      : "`" + std::string(text.substr(pos, end - pos)) + "`";
  }
  bool expected(const std::string& what) {
    return fail(pos, "expected " + what + ", found " + found());
  }
  /// A name; with `slash`, `stage/loop` too.
  bool name(std::string& out, bool slash, const char* what) {
    size_t end = pos;
    if (end >= text.size() || !starts_name(text[end])) return expected(what);
    while (end < text.size() && (continues_name(text[end]) || (slash && text[end] == '/'))) ++end;
    out = text.substr(pos, end - pos);
    pos = end;
    return true;
  }
  /// A number from `least` on.
  bool integer(int64_t& out, int64_t least) {
    const char* begin = text.data() + pos;
    auto [end, code] = std::from_chars(begin, text.data() + text.size(), out);
    if (code != std::errc() || out < least) {
      return expected("a number from " + std::to_string(least));
    }
    pos += static_cast<size_t>(end - begin);
    return true;
  }
  /// True when an option (`key=`) or a word between arguments starts here.
  bool at_word_or_option() const {
    size_t end = pos;
    while (end < text.size() && continues_name(text[end])) ++end;
    const std::string_view word = text.substr(pos, end - pos);
    return word == "at" || word == "store" || text.substr(pos, 2) == "->" ||
           (end < text.size() && end > pos && text[end] == '=');
  }
  /// True when nothing but blanks stands behind the word that starts here.
  bool at_last_word() const {
    const size_t end = text.find_first_of(" \n;", pos);
    return end == std::string_view::npos || text.find_first_not_of(" \n", end) == text.npos;
  }
};

bool parse_domain(Reader& r, Domain& out, int64_t least) {
  int64_t first = 0;
  if (!r.integer(first, least)) return false;
  if (r.eat("..")) {
    out.lo = first;
    if (!r.integer(out.hi, least)) return false;
    if (r.eat("*") && !r.integer(out.step, 1)) return false;
    if (out.hi < out.lo) return r.fail(r.pos, "the knob's range is empty");
    if ((out.hi - out.lo) / out.step >= 4096) {
      return r.fail(r.pos, "the knob has more than 4096 values; give a larger step");
    }
    return true;
  }
  out.list.push_back(first);
  while (r.eat("|")) {
    int64_t next = 0;
    if (!r.integer(next, least)) return false;
    out.list.push_back(next);
  }
  return true;
}

bool parse_factor(Reader& r, Factor& out, int64_t least = 1) {
  if (r.eat("?")) {
    out.kind = Factor::kKnob;
    if (!r.name(out.name, false, "the knob's name")) return false;
    if (!r.eat("=")) return r.expected("`=` and the knob's values, like 4|8 or 64..512*64");
    return parse_domain(r, out.domain, least);
  }
  if (r.eat("$")) {
    out.kind = Factor::kReference;
    return r.name(out.name, false, "the knob's name");
  }
  return r.integer(out.value, least);
}

/// A product whose factors are `least` or more.
bool parse_number(Reader& r, Number& out, int64_t least = 1) {
  const size_t start = r.pos;
  bool divides = false;
  do {
    Factor factor;
    if (!parse_factor(r, factor, least)) {
      if (r.pos == start) {
        r.failed = false;
        return r.expected("a number, a knob like ?f=4|8, or $f");
      }
      return false;
    }
    factor.divides = divides;
    out.factors.push_back(std::move(factor));
    divides = r.text.substr(r.pos, 1) == "/";
  } while (r.eat("*") || r.eat("/"));
  return true;
}

bool parse_layout(Reader& r, std::vector<LayoutAxis>& out) {
  while (r.eat("[")) {
    LayoutAxis axis;
    if (!r.name(axis.dim, false, "an index of the tensor, or d0, d1, ..")) return false;
    Factor factor;
    if (r.eat("/")) {
      if (!parse_factor(r, factor)) return false;
      axis.div.factors = {factor};
    }
    if (r.eat("%")) {
      factor = {};
      if (!parse_factor(r, factor)) return false;
      axis.mod.factors = {factor};
    }
    if (!r.eat("]")) return r.expected("`]`");
    out.push_back(std::move(axis));
  }
  return !out.empty() || r.expected("a layout like [i/4][j][i%4]");
}

bool is_choice(const Param& p, std::string_view word) {
  const std::string all = "|" + std::string(p.choices) + "|";
  return all.find("|" + std::string(word) + "|") != std::string::npos;
}

std::vector<std::string> choices_of(const Param& p) {
  std::vector<std::string> out;
  for (std::string_view all = p.choices; !all.empty();) {
    out.emplace_back(all.substr(0, all.find('|')));
    all.remove_prefix(std::min(out.back().size() + 1, all.size()));
  }
  return out;
}

bool is_option(Arg kind) {
  return kind == Arg::kChoice || kind == Arg::kSetting || kind == Arg::kCount ||
         kind == Arg::kLayout;
}

std::string default_choice(const Param& p) {
  const std::string_view all = p.choices;
  return std::string(all.substr(0, all.find('|')));
}

/// Names up to a word or an option; `before_row`: all but the last, which is another argument.
bool parse_list(Reader& r, bool slash, const char* what, std::vector<std::string>& out,
                bool before_row = false) {
  do {
    out.emplace_back();
    if (!r.name(out.back(), slash, what)) return false;
    r.space();
  } while (!r.done() && !r.at_word_or_option() && !(before_row && r.at_last_word()));
  return true;
}

bool parse_positions(Reader& r, std::vector<std::string>& out) {
  do {
    int64_t position = 0;
    if (!r.integer(position, 0)) return false;
    out.push_back(std::to_string(position));
    r.space();
  } while (!r.done() && !r.at_word_or_option());
  return true;
}

bool parse_positional(Reader& r, const Param& p, const Param& next, Value& v) {
  r.space();
  std::string one;
  switch (p.kind) {
    case Arg::kLoops:
      return parse_list(r, true, "a loop", v.names, next.kind == Arg::kRow);
    case Arg::kStages:
      return parse_list(r, false, "a stage", v.names);
    case Arg::kNumber:
      return parse_number(r, v.number);
    case Arg::kPositions:
      return parse_positions(r, v.names);
    case Arg::kWord:
      if (r.eat(p.name)) return true;
      return r.expected("`" + std::string(p.name) + "`");
    case Arg::kOneOf: {
      const size_t at = r.pos;
      if (!r.name(one, false, p.choices)) return false;
      if (!is_choice(p, one)) {
        return r.fail(at,
                      one + " is not one of " + p.choices + ir::did_you_mean(one, choices_of(p)));
      }
      break;
    }
    case Arg::kClause:
      if (r.done() || !r.eat(p.name)) return true;
      v.present = true;
      r.space();
      if (!r.name(one, true, "a loop, or root")) return false;
      break;
    case Arg::kLoop:
      if (!r.name(one, true, "a loop")) return false;
      break;
    case Arg::kPlace:
      if (!r.name(one, true, "a loop, or root")) return false;
      break;
    case Arg::kStage:
      if (!r.name(one, false, "a stage")) return false;
      break;
    case Arg::kTensor:
      if (!r.name(one, false, "a tensor")) return false;
      break;
    case Arg::kRow:
      if (!r.name(one, false, p.name)) return false;
      break;
    default:
      if (!r.name(one, false, "a new name")) return false;
  }
  v.names.push_back(std::move(one));
  return true;
}

/// "; did you mean `tail=mask`?" for a choice, or the name of an option, that stands alone.
std::string option_meant(const StepRow& row, const std::string& word) {
  for (const Param& p : row.params) {
    if (!is_option(p.kind)) continue;
    const bool choice = p.kind == Arg::kChoice && is_choice(p, word);
    const std::string value = choice                   ? word
                              : p.kind == Arg::kChoice ? choices_of(p).back()
                              : p.kind == Arg::kLayout ? "[i/4][j][i%4]"
                                                       : "4";
    if (choice || word == p.name) {
      return "; did you mean `" + std::string(p.name) + "=" + value + "`?";
    }
  }
  return {};
}

bool parse_option(Reader& r, Step& step) {
  const size_t start = r.pos;
  std::string key;
  if (!r.name(key, false, "an option") || !r.eat("=")) {
    r.failed = false;
    r.pos = start;
    return r.fail(start, "unexpected " + r.found() + option_meant(*step.row, key));
  }
  for (size_t i = 0; i < step.values.size(); ++i) {
    const Param& p = step.row->params[i];
    if (!is_option(p.kind) || (key != p.name && (!p.alias || key != p.alias))) continue;
    Value& v = step.values[i];
    if (v.present) return r.fail(start, "`" + key + "=` is given twice");
    v.present = true;
    if (p.kind == Arg::kSetting || p.kind == Arg::kCount) return parse_number(r, v.number, 0);
    if (p.kind == Arg::kLayout) return parse_layout(r, v.layout);
    const size_t word_at = r.pos;
    v.names.resize(1);
    if (!r.name(v.names[0], false, p.choices)) return false;
    if (is_choice(p, v.names[0])) return true;
    return r.fail(word_at, key + "=" + v.names[0] + " is not one of " + p.choices +
                               ir::did_you_mean(v.names[0], choices_of(p)));
  }
  std::vector<std::string> options;
  for (const Param& p : step.row->params) {
    if (is_option(p.kind)) options.push_back(p.name);
  }
  return r.fail(start, "there is no option `" + key + "=`" + ir::did_you_mean(key, options));
}

bool parse_arguments(Reader& r, Step& step) {
  for (int i = 0; i < kMaxParams && step.row->params[i].kind != Arg::kEnd; ++i) {
    step.values.emplace_back();
    const Param& p = step.row->params[i];
    const Param next = i + 1 < kMaxParams ? step.row->params[i + 1] : Param{};
    if (!is_option(p.kind) && !parse_positional(r, p, next, step.values.back())) return false;
  }
  while (!r.done()) {
    if (!parse_option(r, step)) return false;
  }
  for (size_t i = 0; i < step.values.size(); ++i) {
    const Param& p = step.row->params[i];
    Value& v = step.values[i];
    if (p.kind == Arg::kSetting && !v.present) {
      return r.expected("`" + std::string(p.name) + "=`");
    }
    if (p.kind == Arg::kChoice && !v.present) v.names = {default_choice(p)};
  }
  return true;
}

std::string verbs() {
  std::string out;
  for (const StepRow* row : steps()) out += (out.empty() ? "" : ", ") + std::string(row->verb);
  return out;
}

std::string verb_meant(std::string_view word) {
  std::vector<std::string> words;
  for (const StepRow* row : steps()) words.push_back(row->verb);
  return ir::did_you_mean(word, words);
}

std::string upper(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string usage(const Param& p) {
  const std::string name = p.name;
  switch (p.kind) {
    case Arg::kLoops:
    case Arg::kStages:
    case Arg::kPositions:
      return upper(name) + "...";
    case Arg::kWord:
      return name;
    case Arg::kOneOf:
      return p.choices;
    case Arg::kClause:
      return "[" + name + " PLACE]";
    case Arg::kChoice:
      return "[" + name + "=" + p.choices + "]";
    case Arg::kSetting:
      return name + "=NUMBER";
    case Arg::kCount:
      return "[" + name + "=NUMBER]";
    case Arg::kLayout:
      return "[" + name + "=[D/N][D%N]..]";
    default:
      return upper(name);
  }
}

std::string print(const std::vector<LayoutAxis>& layout) {
  std::string out;
  for (const LayoutAxis& a : layout) {
    out += "[" + a.dim;
    const std::string div = print(a.div);
    if (div != "1") out += "/" + div;
    if (!a.mod.factors.empty()) out += "%" + print(a.mod);
    out += "]";
  }
  return out;
}

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : " ") + n;
  return out;
}

std::string print(const Param& p, const Value& v) {
  switch (p.kind) {
    case Arg::kWord:
      return p.name;
    case Arg::kNumber:
      return print(v.number);
    case Arg::kClause:
      return v.present ? p.name + (" " + v.names[0]) : "";
    case Arg::kChoice:
      return v.names[0] == default_choice(p) ? "" : p.name + ("=" + v.names[0]);
    case Arg::kSetting:
      return p.name + ("=" + print(v.number));
    case Arg::kCount: {
      const std::string number = v.present ? print(v.number) : "0";
      return number == "0" ? "" : p.name + ("=" + number);
    }
    case Arg::kLayout:
      return v.layout.empty() ? "" : p.name + ("=" + print(v.layout));
    default:
      return join(v.names);
  }
}

}  // namespace

const Value& Step::at(std::string_view param) const {
  size_t i = 0;
  while (param != row->params[i].name) ++i;
  return values[i];
}

const std::string& Step::name(std::string_view param) const {
  static const std::string kNone;
  const Value& v = at(param);
  return v.names.empty() ? kNone : v.names[0];
}

std::vector<const Number*> Step::numbers() const {
  std::vector<const Number*> out;
  for (const Value& v : values) {
    if (!v.number.factors.empty()) out.push_back(&v.number);
    for (const LayoutAxis& a : v.layout) {
      out.push_back(&a.div);
      if (!a.mod.factors.empty()) out.push_back(&a.mod);
    }
  }
  return out;
}

std::string usage(const StepRow& row) {
  std::string out = row.verb;
  for (const Param& p : row.params) {
    if (p.kind == Arg::kEnd) break;
    out += " " + usage(p);
  }
  return out;
}

Result<Step, SyntaxError> parse_step(std::string_view text) {
  Reader r{text, 0, false, {}};
  r.space();
  const size_t start = r.pos;
  std::string verb;
  Step step;
  if (!r.name(verb, false, "a step")) {
    return SyntaxError{start, r.error.message + "; the steps are " + verbs()};
  }
  step.row = step_named(verb);
  if (!step.row) {
    return SyntaxError{
        start, "there is no step `" + verb + "`" + verb_meant(verb) + "; the steps are " + verbs()};
  }
  if (!parse_arguments(r, step)) {
    return SyntaxError{r.error.at, r.error.message + "; usage: " + usage(*step.row)};
  }
  return step;
}

std::string print(const Step& step) {
  std::string out = step.row->verb;
  for (size_t i = 0; i < step.values.size(); ++i) {
    const std::string part = print(step.row->params[i], step.values[i]);
    if (!part.empty()) out += " " + part;
  }
  return out;
}

bool Step::operator==(const Step& other) const {
  return row == other.row && print(*this) == print(other);
}

}  // namespace hone::schedules
