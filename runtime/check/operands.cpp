// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/operands.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hone::runtime {
namespace {

/// Chosen: enough to exceed a cache; parts that a near cache holds (not measured).
constexpr int kMostCopies = 64;
constexpr int64_t kBlockPart = int64_t{4} << 20;  ///< bytes that are looked at at a time

}  // namespace

int Operands::copies_past_cache(const Site& site, const Fixture& fixture) {
  int64_t bytes = 1;
  for (const jit::TensorView& v : fixture.params()) bytes += jit::bytes_of(v);
  return static_cast<int>(std::clamp<int64_t>(2 * site.cache_bytes() / bytes + 1, 1, kMostCopies));
}

Result<Operands::Copy> Operands::make_copy() const {
  Copy copy;
  for (size_t p = 0; p < fixture_->params().size(); ++p) {
    const jit::TensorView& v = fixture_->params()[p];
    auto block = site_->take(jit::bytes_of(v), fixture_->buffer(p).align, fixture_->guard());
    if (!block) return block.failure();
    if (auto f = (*block)->write(v.data); !f) return f.failure();
    copy.push_back(*std::move(block));
  }
  return copy;
}

Result<Operands> Operands::create(Site& site, const Fixture& fixture, int copies) {
  Operands operands(site, fixture);
  if (site.is_host()) return operands;
  for (int c = 0; c < copies; ++c) {
    auto copy = operands.make_copy();
    // Fewer copies do where the memory has an end.
    if (!copy && copy.failure().code == ErrorCode::kMemory && c > 0) break;
    if (!copy) return copy.failure();
    operands.copies_.push_back(*std::move(copy));
  }
  return operands;
}

void* Operands::address(int copy, size_t param) const {
  if (copies_.empty()) return fixture_->params()[param].data;
  return copies_[static_cast<size_t>(copy)][param]->data();
}

Result<Done> Operands::upload() const {
  if (copies_.empty()) return Done{};
  for (const size_t p : fixture_->written()) {
    if (auto f = copies_[0][p]->write(fixture_->params()[p].data); !f) return f;
  }
  return Done{};
}

Result<Done> Operands::download() const {
  if (copies_.empty()) return Done{};
  for (const size_t p : fixture_->written()) {
    const jit::TensorView& v = fixture_->params()[p];
    if (auto f = copies_[0][p]->read(v.data, 0, jit::bytes_of(v)); !f) return f;
  }
  return Done{};
}

/// Whether the first copy of a parameter is not what the fixture has.
Result<bool> Operands::differs(size_t param) const {
  const Block& block = *copies_[0][param];
  const auto* const own = static_cast<const char*>(fixture_->params()[param].data);
  std::vector<char> part(static_cast<size_t>(std::min(block.bytes(), kBlockPart)));
  for (int64_t at = 0; at < block.bytes(); at += kBlockPart) {
    const int64_t n = std::min(block.bytes() - at, kBlockPart);
    if (auto f = block.read(part.data(), at, n); !f) return f.failure();
    if (std::memcmp(part.data(), own + at, static_cast<size_t>(n)) != 0) return true;
  }
  return false;
}

Result<std::string> Operands::overwritten() const {
  return overwritten([this](size_t p) { return differs(p); });
}

Result<std::string> Operands::overwritten(
    const std::function<Result<bool>(size_t)>& changed) const {
  if (copies_.empty()) return fixture_->overwritten();
  for (size_t p = 0; p < copies_[0].size(); ++p) {
    auto found = copies_[0][p]->overwritten();
    const bool input = fixture_->buffer(p).role == ir::Role::kInput;
    if (found && !*found && input) found = changed(p);
    if (!found) return found.failure();
    if (*found) return fixture_->buffer(p).name;
  }
  return std::string();
}

}  // namespace hone::runtime
