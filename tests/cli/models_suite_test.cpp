// SPDX-License-Identifier: Apache-2.0
// Whole models of a folder in the bench program.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bench/models/results.h"
#include "runtime/cli/model_compare.h"
#include "tests/cli/program.h"

using hone::bench::mean_beside;
using hone::bench::ModelRow;
using hone::bench::PeerMean;
using hone::bench::PeerRow;
using hone::bench::start_ratio;
using hone::tests::Hone;
using hone::tests::Ran;
using hone::tests::fs::create_directory;

namespace {

using Json = nlohmann::json;

constexpr const char* kTwo =
    "graph two(x: f32[B,24], const w: f32[24,24]) -> (y) {\n"
    "  a = matmul(x, w)\n  b = relu(a)\n  c = matmul(b, w)\n  y = softmax(c)\n}\n";

/// A peer's row: its load in milliseconds, and how many times as long hone takes.
PeerRow beside(const std::string& name, double load_ms, double ratio) {
  PeerRow row;
  row.name = name;
  row.start.load_ms = load_ms;
  row.ratio = {ratio, ratio, ratio};
  row.tolerance = 1e-3;
  return row;
}

/// A folder with two models, a broken one, and something else.
std::string folder_of_models(const Hone& hone) {
  create_directory(hone.file("m"));
  hone.write("m/two.graph", kTwo);
  hone.write("m/one.graph", "graph one(x: f32[64]) -> (y) { y = relu(x) }\n");
  hone.write("m/broken.graph", "graph broken(x: f32[64]) -> (y) { y = rleu(x) }\n");
  hone.write("m/notes.txt", "no model\n");
  return hone.file("m");
}

std::vector<Json> rows_of(const std::string& text) {
  std::vector<Json> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("{")) rows.push_back(Json::parse(line));
  }
  return rows;
}

}  // namespace

TEST_CASE("models suite: each model has its figures, or why it has none") {
  const Hone hone;
  const std::string folder = folder_of_models(hone);
  const Ran run = hone("bench --models " + folder + " --dim B=16 --json --rounds 3 --threads 1");
  CHECK(run.code == 2);
  const std::vector<Json> rows = rows_of(run.out);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["model"] == "broken");
  CHECK(rows[0]["message"].get<std::string>().find("there is no op `rleu`") != std::string::npos);
  CHECK(rows[1]["model"] == "one");
  CHECK(rows[1]["nodes"] == 1);
  CHECK(rows[1]["weights_bytes"] == 0);
  const Json& two = rows[2];
  CHECK(two["model"] == "two");
  CHECK(two["nodes"] == 4);
  CHECK(two["kernels"].get<int>() < 4);
  CHECK(two["weights_bytes"].get<int>() >= 2 * 24 * 24 * 4);
  for (const char* figure : {"load_ms", "first_us", "time_us", "apart_us", "limit_us"}) {
    CHECK(two[figure].get<double>() > 0);
  }
  CHECK(two["low_us"].get<double>() <= two["time_us"].get<double>());
  CHECK(two["time_us"].get<double>() <= two["high_us"].get<double>());
  CHECK(two["rounds"].get<int>() + two["noisy"].get<int>() >= 3);
}

TEST_CASE("models suite: a table, of the models that are asked for") {
  const Hone hone;
  const std::string folder = folder_of_models(hone);
  const Ran run = hone("bench --models " + folder + " --case 'o*' --rounds 3 --threads 1");
  CHECK(run.code == 0);
  CHECK(run.has("limit us"));
  CHECK(run.has("\none  "));
  CHECK(run.has(" 1/1 "));
  CHECK(run.out.find("two") == std::string::npos);
  CHECK(hone("bench --models " + folder + " --list").out == "broken\none\ntwo\n");
  const Ran open = hone("bench --models " + folder + " --case two --rounds 3");
  CHECK(open.code == 2);
  CHECK(open.has("dims of `two` are not bound: B"));
  CHECK(hone("bench --models " + folder + " --case q").has("of the names that --case gives"));
  CHECK(hone("bench --models " + folder + "/none").has("cannot be read"));
}

TEST_CASE("models suite: a peer that is not there is told before anything runs") {
  const Hone hone;
  const std::string line = "bench --models " + folder_of_models(hone) + " --peers";
  const Ran run = hone(line, "HONE_ONNXRUNTIME=/none.so ");
  CHECK(run.code == 2);
  // As the program is built: with the peer, or without any.
  const bool built_in = run.out.find("no peer of this build runs whole models") == run.out.npos;
  if (built_in) CHECK(run.has("--peers: ONNX Runtime: it cannot be opened"));
  CHECK(run.out.find("load ms") == run.out.npos);
  // Names take no peer.
  CHECK(hone(line + " --list").out == "broken\none\ntwo\n");
}

TEST_CASE("models suite: starts and means beside a peer") {
  std::vector<ModelRow> rows(4);
  rows[0].start = {.load_ms = 3, .first_us = 1000};
  rows[0].peers = {beside("p", 2, 0.5)};
  CHECK(start_ratio(rows[0], rows[0].peers[0]) == doctest::Approx(2));
  rows[1].start = {.load_ms = 1, .first_us = 1000};
  rows[1].peers = {beside("p", 16, 8), beside("q", 1, 1)};
  // What a peer cannot run, or has other results of, is no part of a mean.
  rows[2].start = {.load_ms = 1, .first_us = 1};
  rows[2].peers = {beside("p", 1, 100)};
  rows[2].peers[0].message = "it has no such operator";
  rows[3].start = rows[2].start;
  rows[3].peers = {beside("p", 1, 100)};
  CHECK_FALSE(rows[3].wrong());
  rows[3].peers[0].error = 0.5;
  CHECK(rows[3].wrong());
  rows[3].peers[0].error = NAN;
  CHECK(rows[3].wrong());
  const PeerMean mean = mean_beside(rows, "p");
  CHECK(mean.models == 2);
  CHECK(mean.call == doctest::Approx(2));
  CHECK(mean.start == doctest::Approx(0.5));
  CHECK(mean_beside(rows, "q").models == 1);
  CHECK(mean_beside(rows, "none").models == 0);
}

TEST_CASE("models suite: differences are shares of the largest element of a tensor") {
  using hone::runtime::difference_of;
  CHECK(difference_of({{1, -4}, {100}}, {{1, -4}, {100}}) == 0);
  CHECK(difference_of({{1, -4}, {100}}, {{2, -4}, {101}}) == doctest::Approx(0.25));
  CHECK(difference_of({{NAN, 1}}, {{NAN, 1}}) == 0);
  CHECK(std::isinf(difference_of({{1, 2}}, {{NAN, 2}})));
  CHECK(std::isinf(difference_of({{NAN, 2}}, {{1, 2}})));
  const float f[] = {1.5F, -2};
  const int8_t i[] = {-3};
  const auto elements = hone::runtime::elements_of(
      std::vector<hone::NamedTensor>{{"f", hone::TensorRef(f)}, {"i", hone::TensorRef(i)}});
  CHECK(elements == std::vector<std::vector<double>>{{1.5, -2}, {-3}});
}
