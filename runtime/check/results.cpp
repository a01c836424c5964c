// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/results.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/fine.h"

namespace hone::runtime {
namespace {

/// About as many bytes are copied to the host at once in the time that one small copy takes.
/// Chosen: overheads of copies, about (not measured).
constexpr int64_t kSmallCopy = int64_t{64} << 10;

/// Where the element at a row-major position lies, in elements.
int64_t offset_of(const jit::TensorView& v, int64_t position) {
  int64_t offset = 0;
  for (size_t d = v.shape.size(); d-- > 0;) {
    offset += position % v.shape[d] * v.strides[d];
    position /= v.shape[d];
  }
  return offset;
}

}  // namespace

Result<Results> Results::create(Site& site, Fixture& fixture, BlockCompare* compare) {
  auto operands = Operands::create(site, fixture);
  if (!operands) return operands.failure();
  return Results(*std::move(operands), fixture, compare);
}

Result<Results::Blocks> Results::blocks_of(const std::vector<size_t>& params) const {
  Blocks blocks;
  for (const size_t p : params) {
    const int64_t bytes = operands_.block(p).bytes();
    auto block = operands_.site().take(bytes, fixture_->buffer(p).align, Guard::kFar);
    if (!block) return block.failure();
    blocks.push_back(*std::move(block));
  }
  return blocks;
}

Result<Done> Results::take_copies() {
  if (operands_.site().is_host() || !compare_) return Done{};
  std::vector<size_t> all(fixture_->params().size());
  std::iota(all.begin(), all.end(), size_t{0});
  auto clean = blocks_of(all);
  auto remembered = clean ? blocks_of(fixture_->written()) : clean.failure();
  auto kept = remembered ? blocks_of(fixture_->written()) : remembered.failure();
  if (!kept) return kept.failure().code == ErrorCode::kMemory ? fine() : kept.failure();
  fixture_->reset();
  for (const size_t p : all) {
    if (auto f = (*clean)[p]->write(fixture_->params()[p].data); !f) return f;
  }
  has_kept_ = fixture_->kept(0) != nullptr;
  for (size_t o = 0; o < kept->size() && has_kept_; ++o) {
    if (auto f = (*kept)[o]->write(fixture_->kept(o)); !f) return f;
  }
  clean_ = *std::move(clean);
  remembered_ = *std::move(remembered);
  kept_ = *std::move(kept);
  return Done{};
}

Result<Done> Results::reset() {
  if (!on_device()) {
    fixture_->reset();
    return operands_.upload();
  }
  for (const size_t p : fixture_->written()) {
    if (auto f = operands_.block(p).copy(*clean_[p]); !f) return f;
  }
  return Done{};
}

Result<Done> Results::collect() { return on_device() ? fine() : operands_.download(); }

Result<Done> Results::save(Blocks& to) const {
  for (size_t o = 0; o < to.size(); ++o) {
    if (auto f = to[o]->copy(operands_.block(fixture_->written()[o])); !f) return f;
  }
  return Done{};
}

Result<bool> Results::same(const Blocks& as) const {
  for (size_t o = 0; o < as.size(); ++o) {
    const auto alike = compare_->same(operands_.block(fixture_->written()[o]), *as[o]);
    if (!alike || !*alike) return alike;
  }
  return true;
}

Result<bool> Results::near_kept() const {
  for (size_t o = 0; o < kept_.size(); ++o) {
    const size_t p = fixture_->written()[o];
    const auto alike = compare_->near(operands_.block(p), *kept_[o], fixture_->params()[p].type,
                                      fixture_->bound(o));
    if (!alike || !*alike) return alike;
  }
  return true;
}

Result<Done> Results::remember() {
  if (on_device()) return save(remembered_);
  fixture_->remember();
  return Done{};
}

Result<bool> Results::as_remembered() {
  if (on_device()) return same(remembered_);
  return fixture_->as_remembered();
}

Result<std::string> Results::overwritten() {
  if (!on_device()) return operands_.overwritten();
  return operands_.overwritten([this](size_t p) -> Result<bool> {
    const auto alike = compare_->same(operands_.block(p), *clean_[p]);
    if (!alike) return alike;
    return !*alike;
  });
}

/// The elements of the outputs that the definition was asked about, to the host.
Result<Done> Results::fetch_sampled() {
  for (size_t o = 0; o < fixture_->written().size(); ++o) {
    const size_t p = fixture_->written()[o];
    const jit::TensorView& view = fixture_->params()[p];
    const Block& block = operands_.block(p);
    const std::vector<int64_t>& positions = fixture_->sampled()[o];
    const auto few = static_cast<int64_t>(positions.size()) * kSmallCopy < block.bytes();
    if (!few) {
      if (auto f = block.read(view.data, 0, block.bytes()); !f) return f;
      continue;
    }
    for (const int64_t position : positions) {
      const int64_t at = offset_of(view, position) * size_of(view.type);
      auto* const to = static_cast<char*>(view.data) + at;
      if (auto f = block.read(to, at, size_of(view.type)); !f) return f;
    }
  }
  return Done{};
}

Result<jit::Comparison> Results::compare(const TileEdges& edges) {
  if (!on_device() || fixture_->reference().bad) return fixture_->compare(edges);
  if (has_kept_) {
    const auto alike = same(kept_);
    if (!alike) return alike.failure();
    if (*alike) return fixture_->compared_kept();
  }
  if (has_kept_ && !fixture_->whole()) {
    const auto near = near_kept();
    if (!near) return near.failure();
    if (*near) {
      if (auto f = fixture_->sample_edges(edges); !f) return f.failure();
      if (auto f = fetch_sampled(); !f) return f.failure();
      return fixture_->compare_sampled();
    }
  }
  if (auto f = operands_.download(); !f) return f.failure();
  auto found = fixture_->compare(edges);
  if (found && found->ok() && !has_kept_ && fixture_->as_kept()) {
    if (auto f = save(kept_); !f) return f.failure();
    has_kept_ = true;
  }
  return found;
}

}  // namespace hone::runtime
