// SPDX-License-Identifier: Apache-2.0
// How often runs of integers stand in sequences: TfIdfVectorizer, whose vocabulary is constant.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Runs of one length, and the place of each in the result.
struct Grams {
  int64_t length = 0;
  std::vector<int64_t> items, places;
};

/// Where the runs of each length begin is listed by length; the vocabulary has them all.
std::vector<Grams> grams_of(const ImportNode& node) {
  const auto pool = node.integers("pool_int64s", {}), begins = node.integers("ngram_counts", {}),
             places = node.integers("ngram_indexes", {});
  if (pool.empty() || begins.empty()) throw Unsupported{"a vocabulary without integers"};
  const int64_t least = node.integer("min_gram_length", 1),
                most = node.integer("max_gram_length", 1);
  std::vector<Grams> out;
  size_t next = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    Grams g;
    g.length = static_cast<int64_t>(i) + 1;
    const auto all = static_cast<int64_t>(pool.size());
    const int64_t begin = begins[i], end = i + 1 < begins.size() ? begins[i + 1] : all;
    if (begin < 0 || begin > end || end > all || (end - begin) % g.length != 0) {
      throw Unsupported{"a vocabulary whose runs do not fit"};
    }
    g.items.assign(pool.begin() + begin, pool.begin() + end);
    for (int64_t k = 0; k < (end - begin) / g.length; ++k) g.places.push_back(places.at(next++));
    if (g.length >= least && g.length <= most && !g.places.empty()) out.push_back(g);
  }
  if (next != places.size()) throw Unsupported{"another number of places than of runs"};
  return out;
}

/// A constant of integers.
ImportValue constant_list(std::vector<int64_t> values, ImportShape shape) {
  ImportValue out;
  out.type = DType::kI64;
  out.shape = std::move(shape);
  out.known = std::move(values);
  return out;
}

/// The statement of counts `c2` of runs of length 2 by their places; elements of a run stand up to
/// `skips` others apart.
std::string run_counts(const Grams& g, bool batches, int64_t length, int64_t skips,
                       int64_t results) {
  const std::string ahead = batches ? "i0," : "";
  const auto n = static_cast<int64_t>(g.places.size());
  std::string same;
  for (int64_t k = 0; k < g.length; ++k) {
    const std::string at = k == 0 ? "r" : fmt::format("r + {}*(s + 1)", k);
    same += fmt::format("{}r + {}*(s + 1) < {} && cast<i64>(X[{}{}] else 0) == P{}[g,{}]",
                        k == 0 ? "" : " && ", k, length, ahead, at, g.length, k);
  }
  return fmt::format(
      "f{0}: f32[{1}g in 0..{2}] = sum[s in 0..{3},r in 0..{4}](cast<f32>({5})); "
      "c{0}: f32[{1}I{0}[q] in 0..{6}] += f{0}[{1}q]; ",
      g.length, ahead, n, g.length == 1 ? 1 : skips + 1, length, same, results);
}

void import_grams(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const bool batches = x.shape.size() == 2;
  if (is_float(x.type) || x.shape.empty() || x.shape.size() > 2) {
    throw Unsupported{"its input is no list of integers, and no batch of them"};
  }
  const std::string mode = node.text("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") throw Unsupported{"counts of mode " + mode};
  const auto places = node.integers("ngram_indexes", {});
  if (places.empty()) throw Unsupported{"a vocabulary without places"};
  const int64_t results = *std::max_element(places.begin(), places.end()) + 1,
                length = import_fixed(x.shape.back()), skips = node.integer("max_skip_count", 0);
  const std::vector<Grams> grams = grams_of(node);
  if (grams.empty() || skips < 0) throw Unsupported{"no runs of its lengths"};
  std::vector<ImportValue> constants;
  constants.reserve(2 * grams.size());
  const std::string dims = fmt::format("{}{}", batches ? "D0," : "", length);
  std::vector<ImportArgument> arguments{{&x, "X", dims}};
  const std::string at = batches ? "i0,i1" : "i1";
  std::string text, sum;
  for (const Grams& g : grams) {
    const auto n = static_cast<int64_t>(g.places.size());
    constants.push_back(constant_list(g.items, {{n, ""}, {g.length, ""}}));
    arguments.push_back(
        {&constants.back(), fmt::format("P{}", g.length), fmt::format("{},{}", n, g.length)});
    constants.push_back(constant_list(g.places, {{n, ""}}));
    arguments.push_back({&constants.back(), fmt::format("I{}", g.length), std::to_string(n)});
    text += run_counts(g, batches, length, skips, results);
    sum += fmt::format("{}c{}[{}]", sum.empty() ? "" : " + ", g.length, at);
  }
  if (mode == "IDF") sum = fmt::format("select({} > 0, 1.0, 0.0)", sum);
  if (mode != "TF" && node.has_attribute("weights")) {
    throw Unsupported{"weights of runs"};
  }
  ImportShape shape{{results, ""}};
  if (batches) shape.insert(shape.begin(), x.shape[0]);
  node.importer().make(node, 0, DType::kF32, shape, arguments,
                       fmt::format("{}{}", batches ? "D0," : "", results),
                       fmt::format("{}Y[{}] = {}", text, at, sum));
}

}  // namespace

std::vector<ImportEntry> rows_of_grams() { return {{"TfIdfVectorizer", import_grams}}; }

}  // namespace hone::ops
