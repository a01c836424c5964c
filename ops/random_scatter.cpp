// SPDX-License-Identifier: Apache-2.0
#include "ops/random_scatter.h"

#include <fmt/format.h>

#include <utility>

namespace hone::ops {

void RandomScatter::choose_indices() {
  const int told = maker_.below(static_cast<int>(scope_.size()));
  for (size_t d = 0; d < scope_.size(); ++d) {
    placed_.push_back(static_cast<int>(d) == told || maker_.chance(25));
    if (!placed_.back()) all_.push_back(scope_[d]);
  }
  // Without an index of its own a term is one of those of an element: `Y[i0, B[i0]]`.
  const int own = all_.empty() || maker_.chance(85) ? 1 + maker_.below(3) / 2 : 0;
  for (int i = 0; i < own; ++i) {
    terms_.push_back({fmt::format("j{}", i), maker_.any_dim()});
    all_.push_back(terms_.back());
  }
}

/// Where a term goes along a dim: looked up, mostly, or reckoned, or an index of `for` alone.
std::string RandomScatter::position(int dim) {
  static const std::vector<std::string> types = {"i32", "i32", "i64", "i64", "i16", "i8", "u8"};
  const RandomIndex& by = maker_.pick(terms_.empty() ? all_ : terms_);
  const int kind = maker_.options_.data ? maker_.below(10) : 6 + maker_.below(4);
  if (kind < 7 && maker_.options_.data) {
    looked_up_ = true;
    if (kind < 5 || all_.size() < 2) return maker_.lookup(by);
    const RandomIndex& other = maker_.pick(all_);
    const std::string ids = fmt::format("B{}", maker_.extra_.size());
    maker_.extra_.push_back(
        fmt::format("{}: {}[D{},D{}]", ids, maker_.pick(types), by.dim, other.dim));
    return fmt::format("{}[{},{}]", ids, by.name, other.name);
  }
  if (skips_) return maker_.chance(50) ? "2*" + by.name : by.name + "-1";
  const bool turned = by.dim == dim && maker_.chance(50);
  if (turned && kind % 2 == 0 && !terms_.empty()) {
    alone_.insert(by.name);
    return by.name;
  }
  return turned ? fmt::format("D{}-1-{}", dim, by.name) : fmt::format("{} % D{}", by.name, dim);
}

std::string RandomScatter::left() {
  const bool output = target_.name[0] == 'Y';
  std::string out;
  for (size_t d = 0; d < scope_.size(); ++d) {
    const int dim = target_.dims[d];
    out += d == 0 ? "" : ",";
    out += placed_[d] ? position(dim) : scope_[d].name;
    if (!output) out += fmt::format(" in 0..D{}", dim);
  }
  return out;
}

std::string RandomScatter::value(const std::string& assign) {
  RandomTensor other = target_;
  other.inout = false;
  const std::string text = maker_.whole_value(other, all_);
  const bool fraction = is_float(target_.type);
  if (assign == "*=" && fraction) return fmt::format("max(-1, min(1.0625, {}))", text);
  return text;
}

std::string RandomScatter::statement() {
  static const std::vector<std::string> assigns = {"=", "+=", "+=", "+=", "*=", "max=", "min="};
  choose_indices();
  skips_ = maker_.chance(35);
  const std::string indices = left();
  const bool puts = is_packed(target_.type) && maker_.chance(60);
  const std::string& assign = puts ? assigns[0] : maker_.pick(assigns);
  std::string text = fmt::format("{}: {}[{}]{} {} {}", target_.name, name_of(target_.type), indices,
                                 skips_ ? " else skip" : "", assign, value(assign));
  if (target_.name[0] == 'Y') text.erase(target_.name.size(), 2 + name_of(target_.type).size());
  std::string ranges;
  Scope before;
  for (const RandomIndex& i : all_) {
    if (i.name[0] == 'i') before.push_back(i);
  }
  for (const RandomIndex& i : terms_) {
    const bool stated = !looked_up_ || terms_.size() > 1 || !alone_.empty() || maker_.chance(60);
    if (stated) ranges += (ranges.empty() ? " for " : ", ") + maker_.range(i.name, i.dim, before);
  }
  text += ranges;
  if (!terms_.empty() && maker_.chance(15)) {
    text += fmt::format(" where {} {} {}", terms_[0].name, maker_.chance(50) ? "<" : "!=",
                        maker_.chance(50) ? maker_.pick(all_).name : "2");
  }
  return text;
}

}  // namespace hone::ops
