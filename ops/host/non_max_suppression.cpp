// SPDX-License-Identifier: Apache-2.0
// Boxes by their scores, without those that overlap with a better one of their class: rows of
// batch, class and box. Boxes are of two corners, or of a center and its size.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/host/elements.h"

namespace hone::ops {
namespace {

/// A limit that is known before a call, and larger than this, says nothing of how many boxes there
/// are. Chosen: more than detectors keep (not measured).
constexpr int64_t kMostLimit = int64_t{1} << 16;

constexpr HostParam kBoxParams[] = {{"center", 0, 0, 1}, {"limit", -1, -1, INT64_MAX}};

enum Read : uint8_t { kBoxes, kScores, kMost, kOverlap, kLeastScore };

/// Fixed by: ONNX's layout of a box, and of a row of the result.
constexpr int64_t kCoordinates = 4, kRow = 3;

Failure wrong(std::string text) { return {ErrorCode::kSemantic, std::move(text)}; }

/// Do both surely differ?
bool differ(const ir::Expr& a, const ir::Expr& b) {
  int64_t x = 0, y = 0;
  return ir::is_const(a, &x) && ir::is_const(b, &y) && x != y;
}

Result<HostResults> boxes_results(std::span<const HostTensor> reads,
                                  std::span<const int64_t> numbers) {
  const std::vector<ir::Expr>&boxes = reads[kBoxes].shape, &scores = reads[kScores].shape;
  for (size_t i = 0; i < reads.size(); ++i) {
    const DType wanted = i == kMost ? DType::kI64 : DType::kF32;
    const size_t rank = i < kMost ? 3 : 1;
    if (reads[i].type != wanted ||
        (i < kMost ? reads[i].shape.size() != rank : reads[i].shape.size() > rank)) {
      return wrong(fmt::format("argument {} is {} of {} dims; {} of {} is accepted", i,
                               name_of(reads[i].type), reads[i].shape.size(), name_of(wanted),
                               rank));
    }
    if (i >= kMost && !reads[i].shape.empty() && differ(reads[i].shape[0], ir::make_int(1))) {
      return wrong(fmt::format("argument {} has {} elements; one is accepted", i,
                               ir::print(reads[i].shape[0])));
    }
  }
  if (differ(boxes[2], ir::make_int(kCoordinates)) || differ(boxes[0], scores[0]) ||
      differ(boxes[1], scores[2])) {
    return wrong(
        fmt::format("boxes are [{},{},{}] and scores [{},{},{}]; [B,N,4] and [B,C,N] are "
                    "accepted",
                    ir::print(boxes[0]), ir::print(boxes[1]), ir::print(boxes[2]),
                    ir::print(scores[0]), ir::print(scores[1]), ir::print(scores[2])));
  }
  const int64_t limit = numbers[1];
  ir::Expr each = scores[2];
  int64_t count = 0;
  const bool fixed = ir::is_const(each, &count);
  if (limit >= 0 && (fixed ? limit < count : limit <= kMostLimit)) each = ir::make_int(limit);
  HostResults out;
  out.tensors.push_back({DType::kI64, {ir::Expr(), ir::make_int(kRow)}});
  out.most = product_of(std::vector<ir::Expr>{scores[0], scores[1], each});
  return out;
}

/// For a class the boxes that remain, then how many were picked of each class, then those.
int64_t boxes_scratch(std::span<const std::vector<int64_t>> extents, std::span<const int64_t>) {
  const std::vector<int64_t>& scores = extents[kScores];
  const int64_t classes = product_of({scores.data(), 2}), all = product_of(scores);
  int64_t words = 0, bytes = 0;
  if (classes < 0 || all < 0 || __builtin_add_overflow(classes, all, &words) ||
      __builtin_add_overflow(words, scores[2], &words) ||
      __builtin_mul_overflow(words, static_cast<int64_t>(sizeof(int64_t)), &bytes)) {
    return -1;
  }
  return bytes;
}

/// The tensors of a call, and what is picked, in the scratch.
class Boxes {
 public:
  explicit Boxes(const HostCall& call)
      : call_(call),
        batches_(call.reads[kScores].extent(0)),
        classes_(call.reads[kScores].extent(1)),
        boxes_(call.reads[kScores].extent(2)),
        rest_(reinterpret_cast<int64_t*>(call.scratch.data())),
        counts_(rest_ + boxes_),
        picked_(counts_ + batches_ * classes_) {}

  Result<int64_t> pick() {
    auto limits = take_limits();
    if (!limits) return limits.failure();
    int64_t* end = picked_;
    for (int64_t c = 0; c < batches_ * classes_; ++c) {
      int64_t* const begin = end;
      end = pick(c, begin);
      counts_[c] = end - begin;
    }
    return end - picked_;
  }

  void write(int64_t* rows) const {
    const int64_t* box = picked_;
    for (int64_t c = 0; c < batches_ * classes_; ++c) {
      for (int64_t k = 0; k < counts_[c]; ++k) {
        *rows++ = c / classes_;
        *rows++ = c % classes_;
        *rows++ = *box++;
      }
    }
  }

 private:
  /// The ends of a box along both axes.
  struct Ends {
    float low[2], high[2];
  };

  Failure bad(std::string text) const { return {ErrorCode::kArgument, std::move(text)}; }

  Result<Done> take_limits() {
    const auto extent = [&](Read t, int d) { return call_.reads[t].extent(d); };
    if (extent(kBoxes, 0) != batches_ || extent(kBoxes, 1) != boxes_ ||
        extent(kBoxes, 2) != kCoordinates) {
      return bad(fmt::format(
          "boxes are [{},{},{}] and scores [{},{},{}]; [B,N,4] and [B,C,N] are "
          "accepted",
          extent(kBoxes, 0), extent(kBoxes, 1), extent(kBoxes, 2), batches_, classes_, boxes_));
    }
    for (size_t i = kMost; i < call_.reads.size(); ++i) {
      if (call_.reads[i].count() == 1) continue;
      return bad(
          fmt::format("argument {} has {} elements; one is accepted", i, call_.reads[i].count()));
    }
    most_ = element_at<int64_t>(call_.reads[kMost].data(), 0);
    overlap_ = element_at<float>(call_.reads[kOverlap].data(), 0);
    if (most_ < 0) {
      return bad(fmt::format("the most boxes of a class are {}; 0 and more are accepted", most_));
    }
    if (!(overlap_ >= 0 && overlap_ <= 1)) {
      return bad(fmt::format("the threshold of overlap is {}; 0 to 1 is accepted", overlap_));
    }
    if (call_.numbers[1] >= 0) most_ = std::min(most_, call_.numbers[1]);
    filters_ = call_.reads.size() > kLeastScore;
    if (filters_) least_ = element_at<float>(call_.reads[kLeastScore].data(), 0);
    if (std::isnan(least_)) return bad("the threshold of scores is nan; numbers are accepted");
    return Done();
  }

  float score(int64_t c, int64_t box) const {
    return element_at<float>(call_.reads[kScores].data(), c * boxes_ + box);
  }

  /// Picks boxes of class `c` from the best on. Equal ones come in their order; a score that is no
  /// number is none. The end of what is picked.
  int64_t* pick(int64_t c, int64_t* picked) {
    int64_t count = 0;
    for (int64_t b = 0; b < boxes_; ++b) {
      const float s = score(c, b);
      if (std::isnan(s) || (filters_ && !(s > least_))) continue;
      rest_[count++] = b;
    }
    std::sort(rest_, rest_ + count, [&](int64_t a, int64_t b) {
      const float one = score(c, a), other = score(c, b);
      return one != other ? one > other : a < b;
    });
    int64_t* end = picked;
    for (int64_t k = 0; k < count && end - picked < most_; ++k) {
      const bool stays =
          std::none_of(picked, end, [&](int64_t p) { return overlap(c / classes_, p, rest_[k]); });
      if (stays) *end++ = rest_[k];
    }
    return end;
  }

  Ends ends(int64_t batch, int64_t box) const {
    const int64_t at = (batch * boxes_ + box) * kCoordinates;
    float v[kCoordinates];
    for (int64_t i = 0; i < kCoordinates; ++i) {
      v[i] = element_at<float>(call_.reads[kBoxes].data(), at + i);
    }
    Ends e;
    for (int d = 0; d < 2; ++d) {
      const bool center = call_.numbers[0] != 0;
      const float half = v[d + 2] / 2;
      e.low[d] = center ? v[d] - half : std::min(v[d], v[d + 2]);
      e.high[d] = center ? v[d] + half : std::max(v[d], v[d + 2]);
    }
    return e;
  }

  /// Is what two boxes share more than the threshold, as a part of what they cover?
  bool overlap(int64_t batch, int64_t one, int64_t other) const {
    const Ends a = ends(batch, one), b = ends(batch, other);
    float shared = 1, area_a = 1, area_b = 1;
    for (int d = 0; d < 2; ++d) {
      const float extent = std::min(a.high[d], b.high[d]) - std::max(a.low[d], b.low[d]);
      if (!(extent > 0)) return false;
      shared *= extent;
      area_a *= a.high[d] - a.low[d];
      area_b *= b.high[d] - b.low[d];
    }
    const float covered = area_a + area_b - shared;
    return covered > 0 && shared / covered > overlap_;
  }

  const HostCall& call_;
  int64_t batches_, classes_, boxes_;
  int64_t* rest_;
  int64_t* counts_;
  int64_t* picked_;
  int64_t most_ = 0;
  float overlap_ = 0, least_ = 0;
  bool filters_ = false;
};

Result<int64_t> pick_boxes(const HostCall& call) { return Boxes(call).pick(); }

void write_boxes(const HostCall& call, int64_t, std::span<void* const> results) {
  if (results[0]) Boxes(call).write(static_cast<int64_t*>(results[0]));
}

}  // namespace

const HostFunction kNonMaxSuppression{
    "non_max_suppression",
    "non_max_suppression<center=.., limit=..>(boxes, scores, most, overlap, least_score)",
    4,
    5,
    kBoxParams,
    boxes_results,
    boxes_scratch,
    pick_boxes,
    write_boxes};

}  // namespace hone::ops
