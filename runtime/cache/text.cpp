// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>

namespace hone::runtime {
namespace {

constexpr std::string_view kHeader = "hone-records 1";

/// A field of a block: how it prints and how it is read.
struct Field {
  std::string_view name;
  bool required;
  std::string (*print)(const Record& record);
  bool (*parse)(std::string_view text, Record* record);
};

template <class T>
bool parse_number(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_times(std::string_view text, std::vector<double>* times) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    double value = 0;
    if (!parse_number(text.substr(0, end), &value) || !std::isfinite(value)) return false;
    times->push_back(value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

/// Notes come from elsewhere and may hold any bytes; a field is one line.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

constexpr Field kFields[] = {
    {"problem", true, [](const Record& r) { return r.key.problem; },
     [](std::string_view t, Record* r) { return !(r->key.problem = t).empty(); }},
    {"target", true, [](const Record& r) { return r.key.target; },
     [](std::string_view t, Record* r) { return !(r->key.target = t).empty(); }},
    {"codegen", true, [](const Record& r) { return std::to_string(r.key.codegen); },
     [](std::string_view t, Record* r) { return parse_number(t, &r->key.codegen); }},
    // The empty schedule is one: every loop as it stands.
    {"schedule", true, [](const Record& r) { return r.schedule; },
     [](std::string_view t, Record* r) { return r->schedule = t, true; }},
    {"verdict", true, [](const Record& r) { return r.verdict; },
     [](std::string_view t, Record* r) { return !(r->verdict = t).empty(); }},
    {"median_us", true, [](const Record& r) { return fmt::format("{}", r.median_us); },
     [](std::string_view t, Record* r) {
       return parse_number(t, &r->median_us) && std::isfinite(r->median_us) && r->median_us >= 0;
     }},
    {"samples_us", false,
     [](const Record& r) { return fmt::format("{}", fmt::join(r.samples_us, " ")); },
     [](std::string_view t, Record* r) { return parse_times(t, &r->samples_us); }},
    {"numerics", false, [](const Record& r) { return r.numerics; },
     [](std::string_view t, Record* r) { return r->numerics = t, true; }},
    {"seed", false, [](const Record& r) { return std::to_string(r.seed); },
     [](std::string_view t, Record* r) { return parse_number(t, &r->seed); }},
    {"note", false, [](const Record& r) { return one_line(r.note); },
     [](std::string_view t, Record* r) { return r->note = t, true; }},
};

const Field* field_named(std::string_view name) {
  for (const Field& f : kFields) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

std::string field_names() {
  std::string names;
  for (const Field& f : kFields) names.append(names.empty() ? "" : " ").append(f.name);
  return names;
}

/// Reads blocks line by line.
class Reader {
 public:
  explicit Reader(std::string_view origin) : origin_(origin) {}

  /// What is wrong with the line, or empty.
  std::string line(std::string_view text) {
    ++number_;
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    if (!headed_) {
      headed_ = text == kHeader;
      return headed_ ? "" : fmt::format("expected `{}`", kHeader);
    }
    if (text.empty()) return finish();
    if (text.starts_with('#')) return {};
    const size_t colon = text.find(':');
    const Field* field = field_named(text.substr(0, colon));
    if (colon == std::string_view::npos || !field) {
      return fmt::format("expected `field: value`, with field one of {}", field_names());
    }
    const size_t index = static_cast<size_t>(field - kFields);
    if (seen_[index]) return fmt::format("a second `{}` in one record", field->name);
    seen_[index] = true;
    std::string_view value = text.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (!field->parse(value, &record_)) {
      return fmt::format("`{}` is no value of {}", value, field->name);
    }
    return {};
  }

  /// Ends the block at hand; what is missing from it, or empty.
  std::string finish() {
    if (!headed_) return fmt::format("expected `{}`", kHeader);
    if (std::find(std::begin(seen_), std::end(seen_), true) == std::end(seen_)) return {};
    for (size_t i = 0; i < std::size(kFields); ++i) {
      if (kFields[i].required && !seen_[i]) {
        return fmt::format("the record that ends here has no `{}`", kFields[i].name);
      }
    }
    records_.push_back(std::move(record_));
    record_ = {};
    std::fill(std::begin(seen_), std::end(seen_), false);
    return {};
  }

  Failure failure(const std::string& why) const {
    return Failure{ErrorCode::kSyntax, fmt::format("{}:{}: {}", origin_, number_, why)};
  }
  std::vector<Record> take() { return std::move(records_); }

 private:
  std::string_view origin_;
  int number_ = 0;
  bool headed_ = false;
  bool seen_[std::size(kFields)] = {};
  Record record_;
  std::vector<Record> records_;
};

}  // namespace

std::string print_records(std::vector<Record> records) {
  const auto key = [](const Record& r) {
    return std::tie(r.key.problem, r.key.target, r.key.codegen, r.schedule);
  };
  std::sort(records.begin(), records.end(),
            [&](const Record& a, const Record& b) { return key(a) < key(b); });
  std::string text = std::string(kHeader) + "\n";
  for (const Record& record : records) {
    text += '\n';
    for (const Field& field : kFields) {
      const std::string value = field.print(record);
      if (value.empty() && !field.required) continue;
      text += fmt::format("{}:{}{}\n", field.name, value.empty() ? "" : " ", value);
    }
  }
  return text;
}

Result<std::vector<Record>> parse_records(std::string_view text, std::string_view origin) {
  Reader reader(origin);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string why = reader.line(text.substr(0, end));
    if (!why.empty()) return reader.failure(why);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const std::string why = reader.finish();
  if (!why.empty()) return reader.failure(why);
  return reader.take();
}

}  // namespace hone::runtime
