// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/model_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/ir/integers.h"

namespace hone::runtime {
namespace {

/// Names that a row of the table has; JSON has all.
/// Chosen: a line of a terminal (not measured).
constexpr size_t kMostSharers = 8;

/// Tensors that live between steps, in the order in which they come to be.
std::vector<const ModelValue*> placed_values(const ModelState& model) {
  std::vector<const ModelValue*> out;
  for (const ModelValue& v : model.values) {
    if (v.offset >= 0) out.push_back(&v);
  }
  std::stable_sort(out.begin(), out.end(), [](const ModelValue* a, const ModelValue* b) {
    return a->first != b->first ? a->first < b->first : a->offset < b->offset;
  });
  return out;
}

/// Those that have memory of `v` at other times.
std::vector<std::string> sharers(const std::vector<const ModelValue*>& all, const ModelValue& v) {
  std::vector<std::string> names;
  for (const ModelValue* other : all) {
    const bool apart =
        other->offset + other->bytes <= v.offset || v.offset + v.bytes <= other->offset;
    if (other != &v && !apart) names.push_back(other->name);
  }
  return names;
}

std::string sharers_text(std::vector<std::string> names) {
  const size_t more = names.size() - std::min(names.size(), kMostSharers);
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

/// The step at which most bytes are alive, and these.
struct MemoryPeak {
  size_t step = 0;
  int64_t bytes = 0;
};

MemoryPeak peak_of(const ModelState& model, const std::vector<const ModelValue*>& all) {
  MemoryPeak peak;
  for (size_t step = 0; step <= model.calls.size(); ++step) {
    int64_t bytes = 0;
    for (const ModelValue* v : all) {
      const int at = static_cast<int>(step);
      if (v->first <= at && at <= v->last) bytes += ir::round_up(v->bytes, kPlanAlignment);
    }
    if (bytes > peak.bytes) peak = {step, bytes};
  }
  return peak;
}

}  // namespace

std::string memory_plan_text(const ModelState& model) {
  const auto all = placed_values(model);
  if (all.empty()) return "no tensor lives between kernels\n";
  size_t width = std::string_view("workspace").size();
  for (const ModelValue* v : all) width = std::max(width, v->name.size());
  const auto row = [&](const auto&... cells) {
    std::string line = fmt::format("{:<{}}  {:>12}  {:>12}  {:>9}  {}", cells...);
    return line.erase(line.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = row("tensor", width, "bytes", "offset", "steps", "shares with");
  for (const ModelValue* v : all) {
    text += row(v->name, width, v->bytes, v->offset,
                fmt::format("{}-{}", v->first + 1, v->last + 1), sharers_text(sharers(all, *v)));
  }
  if (model.memory.workspace > 0) {
    text += row("workspace", width, model.memory.workspace, model.memory.values,
                fmt::format("1-{}", model.calls.size()), "");
  }
  const MemoryPeak peak = peak_of(model, all);
  return text + fmt::format("peak: {} bytes in step {}; {} are planned, {} if none shared\n",
                            peak.bytes, peak.step + 1, model.memory.values,
                            model.memory.values_sum);
}

Json memory_plan_json(const ModelState& model) {
  const auto all = placed_values(model);
  Json tensors = Json::array();
  for (const ModelValue* v : all) {
    tensors.push_back({{"tensor", v->name},
                       {"bytes", v->bytes},
                       {"offset", v->offset},
                       {"first", v->first + 1},
                       {"last", v->last + 1},
                       {"shares", sharers(all, *v)}});
  }
  const MemoryPeak peak = peak_of(model, all);
  return {{"tensors", std::move(tensors)},
          {"peak_bytes", peak.bytes},
          {"peak_step", all.empty() ? Json() : Json(peak.step + 1)},
          {"bytes", model.memory.values}};
}

}  // namespace hone::runtime
