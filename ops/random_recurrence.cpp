// SPDX-License-Identifier: Apache-2.0
#include "ops/random_recurrence.h"

#include <fmt/format.h>

#include <utility>

namespace hone::ops {
namespace {

/// `value`, of the type that arithmetic on `type` is done in, as it is stored.
std::string stored_as(DType type, std::string value) {
  const bool narrow = type != seen_as(type) && !is_float(type);
  return narrow ? fmt::format("cast<{}>({})", name_of(type), value) : value;
}

std::string listed(const std::vector<std::string>& indices) {
  return fmt::format("{}", fmt::join(indices, ","));
}

}  // namespace

std::string RandomRecurrence::value(std::string value, std::string& before) {
  if (maker_.chance(25)) {
    before = companion(value);
  } else if (maker_.chance(20)) {
    before = chain(value);
  }
  if (before.empty() || maker_.chance(40)) return states(target_.type, std::move(value));
  return stored_as(target_.type, std::move(value));
}

/// An element of the target that comes earlier along one index or two, or what is reduced of many.
std::string RandomRecurrence::earlier() {
  std::vector<std::string> indices;
  for (const RandomIndex& i : scope_) indices.push_back(i.name);
  const auto along = static_cast<size_t>(maker_.below(static_cast<int>(scope_.size())));
  indices[along] += maker_.chance(75) ? fmt::format("-{}", 1 + maker_.below(2)) : "+1";
  std::string range;
  if (scope_.size() > 1 && maker_.chance(35)) {
    const size_t beside = (along + 1) % scope_.size();
    std::string& other = indices[beside];
    if (maker_.chance(50)) {
      other = fmt::format("r{}", maker_.fresh_++);
      range = fmt::format("{} in 0..D{}", other, scope_[beside].dim);
    } else {
      other = maker_.chance(70) ? other + (maker_.chance(50) ? "-1" : "+1") : "0";
    }
  }
  const DType type = seen_as(target_.type);
  const std::string first =
      maker_.chance(70) ? maker_.otherwise(target_.type) : "(" + maker_.leaf(type, scope_) + ")";
  const std::string read = fmt::format("({}[{}] else {})", target_.name, listed(indices), first);
  if (range.empty()) return read;
  const bool some = maker_.chance(50);
  if (type == DType::kBool) return fmt::format("{}[{}]({})", some ? "any" : "all", range, read);
  if (is_float(type) && maker_.chance(60)) return fmt::format("(0.25*sum[{}]({}))", range, read);
  const std::string most = fmt::format("{}[{}]({})", some ? "max" : "min", range, read);
  return is_float(type) ? fmt::format("max(-9, min(9, {}))", most) : most;
}

std::string RandomRecurrence::both(const std::string& value, const std::string& other) {
  const DType type = seen_as(target_.type);
  const bool some = maker_.chance(50);
  if (type == DType::kBool) return fmt::format("({} != {})", value, other);
  if (maker_.chance(30)) return fmt::format("{}({}, {})", some ? "max" : "min", value, other);
  if (!is_float(type)) return fmt::format("({} + {})", value, other);
  return fmt::format("({} + {}*{})", value, some ? "0.5" : "-0.25", other);
}

/// A value stored as `stored` that goes on from earlier elements of the target.
std::string RandomRecurrence::states(DType stored, std::string value) {
  std::string text = "(" + std::move(value) + ")";
  if (is_float(stored) && maker_.chance(20)) {  // one read alone, or sums would double at each step
    return stored_as(stored, fmt::format("({} + {})", text, earlier()));
  }
  for (int reads = 1 + maker_.below(3) / 2; reads > 0; --reads) text = both(text, earlier());
  return stored_as(stored, std::move(text));
}

/// A statement that goes on from itself, and stands before the target's. Then `value` reads its
/// tensor, perhaps beside the element that it is for.
std::string RandomRecurrence::chain(std::string& value) {
  RandomTensor made = target_;
  made.name = "s" + target_.name;
  made.type = seen_as(target_.type);
  std::vector<std::string> left, indices;
  for (const RandomIndex& i : scope_) {
    left.push_back(fmt::format("{} in 0..D{}", i.name, i.dim));
    indices.push_back(i.name);
  }
  const std::string own =
      RandomRecurrence(maker_, made, scope_).states(made.type, maker_.leaf(made.type, scope_));
  std::string read = fmt::format("{}[{}]", made.name, listed(indices));
  if (maker_.chance(60)) {
    std::string& beside = indices[static_cast<size_t>(maker_.below(static_cast<int>(left.size())))];
    beside += fmt::format("{}{}", maker_.chance(70) ? "-" : "+", 1 + maker_.below(2));
    read = fmt::format("({}[{}] else {})", made.name, listed(indices), maker_.otherwise(made.type));
  }
  value = both("(" + value + ")", read);
  return fmt::format("{}: {}[{}] = {}; ", made.name, name_of(made.type), listed(left), own);
}

/// A statement that reads earlier elements of the target, and stands before it. Then `value` reads
/// the tensor of that statement.
std::string RandomRecurrence::companion(std::string& value) {
  const DType type = seen_as(target_.type);
  std::vector<std::string> left, indices;
  for (const RandomIndex& i : scope_) {
    left.push_back(fmt::format("{} in 0..D{}", i.name, i.dim));
    indices.push_back(i.name);
  }
  const std::string name = "g" + target_.name;
  const std::string made = states(type, maker_.leaf(type, scope_));
  value = both("(" + value + ")", fmt::format("{}[{}]", name, listed(indices)));
  return fmt::format("{}: {}[{}] = {}; ", name, name_of(type), listed(left), made);
}

}  // namespace hone::ops
