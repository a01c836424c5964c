// SPDX-License-Identifier: Apache-2.0
// Suppression of boxes as a function of the host, against plain loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "include/hone/hone.h"

using hone::Engine;
using hone::Model;
using hone::NamedTensor;
using hone::TensorShape;

namespace {

using Row = std::vector<int64_t>;

Engine host_engine() {
  hone::EngineOptions options;
  options.cache = ":memory:";
  options.threads = 1;
  return Engine(options);
}

/// What two boxes of corners share, as a part of what they cover.
float shared_part(const float* a, const float* b) {
  float shared = 1, area_a = 1, area_b = 1;
  for (int d = 0; d < 2; ++d) {
    const float low_a = std::min(a[d], a[d + 2]), high_a = std::max(a[d], a[d + 2]);
    const float low_b = std::min(b[d], b[d + 2]), high_b = std::max(b[d], b[d + 2]);
    shared *= std::max(0.0f, std::min(high_a, high_b) - std::max(low_a, low_b));
    area_a *= high_a - low_a;
    area_b *= high_b - low_b;
  }
  return shared > 0 ? shared / (area_a + area_b - shared) : 0;
}

/// Boxes of one class: the best one again and again, without those that it suppresses.
std::vector<int64_t> best_boxes(const float* boxes, const float* scores, int64_t count,
                                int64_t most, float overlap, float least) {
  std::vector<bool> gone(static_cast<size_t>(count));
  std::vector<int64_t> out;
  while (static_cast<int64_t>(out.size()) < most) {
    int64_t best = -1;
    for (int64_t b = 0; b < count; ++b) {
      if (gone[static_cast<size_t>(b)] || !(scores[b] > least)) continue;
      if (best < 0 || scores[b] > scores[best]) best = b;
    }
    if (best < 0) break;
    out.push_back(best);
    gone[static_cast<size_t>(best)] = true;
    for (int64_t b = 0; b < count; ++b) {
      if (shared_part(boxes + 4 * best, boxes + 4 * b) > overlap)
        gone[static_cast<size_t>(b)] = true;
    }
  }
  return out;
}

struct Suppression {
  std::vector<float> boxes, scores;
  int64_t count = 0, most = 4;
  float overlap = 0.4f, least = 0.1f;

  explicit Suppression(unsigned seed) : boxes(), scores(), count(seed % 13) {
    std::mt19937 random(seed);
    const auto part = [&] { return static_cast<float>(random() % 1000) / 1000; };
    for (int64_t b = 0; b < 2 * count; ++b) {
      const float y = part(), x = part();
      for (const float v : {y, x, y + part(), x - part()}) boxes.push_back(v);
    }
    // Some scores are equal, and some are no numbers.
    for (int64_t s = 0; s < 6 * count; ++s) {
      scores.push_back(random() % 9 == 0 ? NAN : static_cast<float>(random() % 12) / 12);
    }
    boxes.reserve(1);
    scores.reserve(1);
  }

  std::string run(const Model& model, std::vector<Row>& rows) {
    std::vector<int64_t> y(static_cast<size_t>(18 * count) + 1, -1);
    std::vector<TensorShape> shapes(1);
    const std::vector<NamedTensor> in{{"boxes", {boxes.data(), {2, count, 4}}},
                                      {"scores", {scores.data(), {2, 3, count}}},
                                      {"most", {&most, {1}}},
                                      {"overlap", {&overlap, {1}}},
                                      {"least", {&least, {1}}}};
    const std::vector<NamedTensor> out{{"y", {y.data(), {6 * count, 3}}}};
    const auto done = model.try_run(in, out, {.shapes = shapes});
    const std::string wrong = done ? "" : done.failure().message;
    rows.clear();
    for (int64_t k = 0; k < (wrong.empty() ? shapes[0].extents[0] : 0); ++k) {
      rows.emplace_back(y.begin() + 3 * k, y.begin() + 3 * k + 3);
    }
    return wrong;
  }
};

constexpr const char* kSuppression =
    "graph g(boxes: f32[2,N,4], scores: f32[2,3,N], most: i64[1], overlap: f32[1],\n"
    "        least: f32[1]) -> (y: i64[n,3]) {\n"
    "  y = non_max_suppression(boxes, scores, most, overlap, least)\n"
    "}\n";

}  // namespace

TEST_CASE("data dims: boxes are suppressed by better ones of their class") {
  Engine engine = host_engine();
  const Model model = engine.load_graph(kSuppression, {.dims = "N=0..13"});
  size_t all = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Suppression task(seed);
    std::vector<Row> want, rows;
    for (int64_t c = 0; c < 6; ++c) {
      for (const int64_t b : best_boxes(task.boxes.data() + c / 3 * 4 * task.count,
                                        task.scores.data() + c * task.count, task.count, task.most,
                                        task.overlap, task.least)) {
        want.push_back({c / 3, c % 3, b});
      }
    }
    REQUIRE(task.run(model, rows) == "");
    CHECK(rows == want);
    all += rows.size();
  }
  CHECK(all > 100);
}

TEST_CASE("data dims: limits and thresholds of boxes may be weights") {
  Engine engine = host_engine();
  std::string text = kSuppression;
  for (const char* name : {"most", "overlap", "least"}) {
    const std::string declared = std::string(name) + ": ";
    text.insert(text.find(declared), "const ");
  }
  Suppression task(12);
  std::vector<Row> want, rows;
  REQUIRE(task.run(engine.load_graph(kSuppression, {.dims = "N=0..13"}), want) == "");
  // The third of some, with others between.
  const std::vector<float> spread{7, 7, task.overlap};
  const Model model =
      engine.load_graph(text, {.dims = "N=0..13",
                               .weights = {{"most", {&task.most, {1}}},
                                           {"overlap", {spread.data() + 2, {1}, {3}}},
                                           {"least", hone::TensorRef(std::span(&task.least, 1))}}});
  std::vector<int64_t> y(18 * 12, -1);
  std::vector<TensorShape> shapes(1);
  const std::vector<NamedTensor> in{{"boxes", {task.boxes.data(), {2, 12, 4}}},
                                    {"scores", {task.scores.data(), {2, 3, 12}}}};
  const std::vector<NamedTensor> out{{"y", {y.data(), {72, 3}}}};
  model.run(in, out, {.shapes = shapes});
  for (int64_t k = 0; k < shapes[0].extents[0]; ++k) {
    rows.emplace_back(y.begin() + 3 * k, y.begin() + 3 * k + 3);
  }
  CHECK(!rows.empty());
  CHECK(rows == want);
  CHECK(model.memory().weights >= 16);
  const auto wrong = engine.try_load_graph(text, {.dims = "N=0..13",
                                                  .weights = {{"most", {&task.most, {1}}},
                                                              {"overlap", {spread.data(), {3}}},
                                                              {"least", {&task.least, {1}}}}});
  REQUIRE(!wrong);
  CHECK(wrong.failure().message.find("the weight `overlap` is f32[1]") != std::string::npos);
}

TEST_CASE("data dims: thresholds and limits out of their ranges are told with their values") {
  Engine engine = host_engine();
  const Model model = engine.load_graph(kSuppression, {.dims = "N=0..13"});
  std::vector<Row> rows;
  Suppression none(12), negative(12), wide(12), no_number(12), no_score(12), unordered(12);
  none.most = 0;
  CHECK(none.run(model, rows) == "");
  CHECK(rows.empty());
  negative.most = -1;
  CHECK(negative.run(model, rows).find("most boxes of a class are -1; 0 and more") !=
        std::string::npos);
  wide.overlap = 1.5f;
  CHECK(wide.run(model, rows).find("threshold of overlap is 1.5; 0 to 1") != std::string::npos);
  no_number.overlap = NAN;
  CHECK(no_number.run(model, rows).find("threshold of overlap is nan") != std::string::npos);
  no_score.least = NAN;
  CHECK(no_score.run(model, rows).find("threshold of scores is nan") != std::string::npos);
  std::fill(unordered.scores.begin(), unordered.scores.end(), NAN);
  CHECK(unordered.run(model, rows) == "");
  CHECK(rows.empty());
}
