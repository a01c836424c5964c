// SPDX-License-Identifier: Apache-2.0
// Whole models of a folder in the bench program.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"

using hone::tests::Hone;
using hone::tests::Ran;
using hone::tests::fs::create_directory;

namespace {

using Json = nlohmann::json;

constexpr const char* kTwo =
    "graph two(x: f32[B,24], const w: f32[24,24]) -> (y) {\n"
    "  a = matmul(x, w)\n  b = relu(a)\n  c = matmul(b, w)\n  y = softmax(c)\n}\n";

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
  CHECK(hone("bench --models " + folder + " --peers").has("none of them runs a whole model"));
}
