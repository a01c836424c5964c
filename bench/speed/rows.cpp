// SPDX-License-Identifier: Apache-2.0
#include "bench/speed/rows.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace hone::bench {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
  const size_t end = text.find_last_not_of(" \t\r") + 1;
  return text.substr(begin, std::max(end, begin) - begin);
}

/// Takes a word and the blanks behind it off the front of `text`, if it begins so.
bool take(std::string_view* text, std::string_view word) {
  if (!text->starts_with(word)) return false;
  *text = trimmed(text->substr(word.size()));
  return true;
}

/// Takes a positive number off the front of `text`.
bool take_number(std::string_view* text, double* value) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (error != std::errc() || !(*value > 0)) return false;
  *text = trimmed(text->substr(static_cast<size_t>(end - text->data())));
  return true;
}

bool parse_share(std::string_view text, double* share) {
  if (!take_number(&text, share) || text != "%") return false;
  *share /= 100;
  return true;
}

bool parse_goal(std::string_view text, RowGoal* goal) {
  *goal = {};
  if (text == "none") return true;
  if (take(&text, "over ")) {
    goal->over = text;
    return !text.empty();
  }
  if (text.ends_with('%')) return parse_share(text, &goal->share);
  if (!take_number(&text, &goal->gbps) || !take(&text, "GB/s")) return false;
  if (text.empty()) return true;
  return take(&text, "at ") && take_number(&text, &goal->at_gflops) && text == "GFLOP/s";
}

bool parse_operands(std::string_view text, RowOperands* operands) {
  *operands = {};
  if (text == "hot") return true;
  if (!take(&text, "in turns ")) return false;
  if (text == "past caches") return operands->past_caches = true;
  double kilobytes = 0;
  if (!take(&text, "over ") || !take_number(&text, &kilobytes) || text != "K") return false;
  operands->bytes = static_cast<int64_t>(kilobytes * 1024);
  return true;
}

std::vector<std::string> parts_of(std::string_view text, std::string_view bar) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(bar, at), text.size());
    parts.emplace_back(trimmed(text.substr(at, end - at)));
    at = end + bar.size();
  }
  return parts;
}

/// Reads the file line by line; `row` is what holds for the next one.
class RowsReader {
 public:
  /// What is wrong with the line, or empty.
  std::string line(std::string_view text) {
    text = trimmed(text);
    if (text.empty() || text.starts_with('#')) return {};
    if (take(&text, "group ")) return begin_group(text);
    if (groups_.empty()) return "expected `group NAME` first";
    SpeedGroup& group = groups_.back();
    if (take(&text, "row ")) return add_row(&group, text);
    if (take(&text, "goal ")) {
      if (parse_goal(text, &row_.goal)) return {};
      return "expected `goal 98%`, `goal 60 GB/s [at 265 GFLOP/s]`, `goal over PEER` or `goal "
             "none`";
    }
    if (take(&text, "mean ")) {
      return parse_share(text, &group.mean) ? "" : "expected `mean 92%`";
    }
    if (take(&text, "total under ")) {
      group.total_under = text;
      return {};
    }
    if (take(&text, "operands ")) {
      if (parse_operands(text, &row_.operands)) return {};
      return "expected `operands hot`, `operands in turns over 512K` or `operands in turns past "
             "caches`";
    }
    if (text == "layout free") {
      row_.free_layout = true;
      return {};
    }
    return "expected group, row, goal, mean, total under, operands or layout free";
  }

  std::vector<SpeedGroup> groups() && { return std::move(groups_); }

 private:
  std::string begin_group(std::string_view name) {
    row_ = {};
    groups_.emplace_back();
    groups_.back().name = name;
    return {};
  }

  std::string add_row(SpeedGroup* group, std::string_view text) {
    const size_t colon = text.find(": ");
    if (colon == text.npos) return "expected `row NAME: PROBLEM`";
    row_.name = trimmed(text.substr(0, colon));
    row_.problems = parts_of(text.substr(colon + 2), "||");
    if (!names_.insert(row_.name).second) return "a second row `" + row_.name + "`";
    group->rows.push_back(row_);
    return {};
  }

  std::vector<SpeedGroup> groups_;
  SpeedCase row_;
  std::set<std::string> names_;
};

bool matches(const std::vector<std::string>& patterns, const std::string& name) {
  const auto fits = [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_CASEFOLD) == 0;
  };
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), fits);
}

}  // namespace

std::string RowGoal::text() const {
  if (share > 0) return fmt::format("{:g}%", 100 * share);
  if (!over.empty()) return "over " + over;
  if (gbps <= 0) return "none";
  return fmt::format("{:g} GB/s{}", gbps,
                     at_gflops > 0 ? fmt::format(" at {:g} GFLOP/s", at_gflops) : "");
}

std::string RowOperands::text() const {
  if (past_caches) return "in turns past caches";
  return bytes > 0 ? fmt::format("in turns over {}K", bytes / 1024) : "hot";
}

Result<std::vector<SpeedGroup>> parse_speed_rows(std::string_view text, std::string_view origin) {
  RowsReader reader;
  int number = 0;
  for (const std::string& line : parts_of(text, "\n")) {
    ++number;
    const std::string wrong = reader.line(line);
    if (wrong.empty()) continue;
    return Failure{ErrorCode::kSyntax, fmt::format("{}:{}: {}", origin, number, wrong)};
  }
  return std::move(reader).groups();
}

std::vector<SpeedGroup> chosen_rows(std::vector<SpeedGroup> groups,
                                    const std::vector<std::string>& group_patterns,
                                    const std::vector<std::string>& row_patterns) {
  for (SpeedGroup& g : groups) {
    const bool whole = matches(group_patterns, g.name);
    std::erase_if(g.rows,
                  [&](const SpeedCase& row) { return !whole || !matches(row_patterns, row.name); });
  }
  std::erase_if(groups, [](const SpeedGroup& g) { return g.rows.empty(); });
  return groups;
}

}  // namespace hone::bench
