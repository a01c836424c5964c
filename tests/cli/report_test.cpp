// SPDX-License-Identifier: Apache-2.0
// The page that reports a model: what data it has, and that nothing of a model becomes its code.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

using hone::tests::Hone;
using hone::tests::Ran;

namespace {

using Json = nlohmann::json;

constexpr const char* kModel =
    "op clip(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = select(X[i,j] < 0, 0, X[i,j]) }\n"
    "graph m(x: f32[B,24], const w: f32[24,24]) -> (y) {\n"
    "  a = matmul(x, w)\n  b = clip(a)\n  c = matmul(b, w)\n  y = softmax(c)\n}\n";

constexpr std::string_view kBegin = "<script id=\"data\" type=\"application/json\">";

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The text of the page's data.
std::string data_of(const std::string& page) {
  const size_t begin = page.find(kBegin);
  REQUIRE(begin != std::string::npos);
  const size_t from = begin + kBegin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

int count(const std::string& text, std::string_view part) {
  int n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}

}  // namespace

TEST_CASE("report: kernels with times and limits, wiring, memory and searches") {
  const Hone hone;
  const std::string graph = hone.write("m.graph", kModel), path = hone.file("m.html");
  CHECK(hone("tune " + graph + " B=8 --threads 1 --budget 400ms").code == 0);
  const Ran shown = hone("show " + graph + " --dim B=8 --threads 1 --html " + path);
  CHECK(shown.code == 0);
  CHECK(shown.has(path + ": 3 kernels, "));
  const Json data = Json::parse(data_of(contents(path)));
  CHECK(data["file"] == "m.graph");
  CHECK(data["graph"] == "m");
  CHECK(data["dims"] == "B=8");
  CHECK(data["nodes"] == 4);
  CHECK(data["time_us"].get<double>() > 0);
  REQUIRE(data["kernels"].size() == 3);
  const Json& first = data["kernels"][0];
  CHECK(first["ops"] == Json{"matmul", "clip"});
  CHECK(first["nodes"].size() == 2);
  CHECK(first["operations"].get<double>() >= 2 * 8 * 24 * 24);
  CHECK(first["bytes"].get<double>() >= 4 * (2 * 8 * 24 + 24 * 24));
  for (const char* figure : {"time_us", "limit_us", "gflops"}) {
    CHECK(first[figure].get<double>() > 0);
  }
  CHECK(data["wiring"]["units"].size() == 5);  // with input and output
  CHECK(data["wiring"]["edges"].size() == 4);
  CHECK(data["wiring"]["edges"][1]["from"] == 0);
  CHECK(data["wiring"]["edges"][1]["to"] == 1);
  CHECK(data["plan"]["tensors"][0]["bytes"] == 8 * 24 * 4);
  CHECK(data["machine"]["gflops"].get<double>() > 0);
  CHECK(data["machine"]["levels"].size() == 4);
  REQUIRE(data["searches"].size() == 3);
  const Json& search = data["searches"][first["search"].get<size_t>()];
  CHECK(search["trials"].get<int>() >= 1);
  CHECK(search["verdicts"]["ok"].get<int>() >= 1);
  double last = search["best"][0][1].get<double>() + 1;
  for (const Json& better : search["best"]) {
    CHECK(better[1].get<double>() < last);
    last = better[1].get<double>();
  }
}

TEST_CASE("report: what a model has in it stays text, and nothing comes from elsewhere") {
  const Hone hone;
  const std::string graph = hone.write("a<script>\"'&<!--.graph", kModel);
  const std::string quoted = "'" + hone.file("a<script>\"'\\''&<!--.graph") + "'";
  const std::string path = hone.file("m.html");
  CHECK(hone("show " + quoted + " B=1..4 --threads 1 --html " + path).code == 0);
  const std::string page = contents(path), data = data_of(page);
  CHECK(data.find('<') == std::string::npos);
  CHECK(Json::parse(data)["file"] == "a<script>\"'&<!--.graph");
  CHECK(Json::parse(data)["kernels"][0]["problem"].get<std::string>().find(" < 0") !=
        std::string::npos);
  CHECK(count(page, "<script") == 2);
  CHECK(count(page, "</script>") == 2);
  CHECK(page.find("@DATA@") == std::string::npos);
  for (const char* way : {" src=", " href=", "url(", "@import", "fetch(", "innerHTML"}) {
    CHECK(page.find(way) == std::string::npos);
  }
  CHECK(page.find("default-src 'none'") != std::string::npos);
}

TEST_CASE("report: a model with nothing between kernels, JSON, and what is refused") {
  const Hone hone;
  const std::string graph = hone.write("g.graph", "graph g(x: f32[8]) -> (y) { y = relu(x) }\n");
  const std::string path = hone.file("g.html");
  const Ran json = hone("show " + graph + " --json --threads 1 --html " + path);
  CHECK(json.code == 0);
  CHECK(Json::parse(json.out)["bytes"].get<size_t>() == contents(path).size());
  const Json data = Json::parse(data_of(contents(path)));
  CHECK(data["plan"]["tensors"].empty());
  CHECK(data["searches"].empty());
  const Ran nowhere = hone("show " + graph + " --html " + hone.file("no/g.html"));
  CHECK(nowhere.code == 2);
  CHECK(nowhere.has("no/g.html cannot be written"));
  const Ran none = hone("show relu N=3 --html " + path);
  CHECK(none.code == 2);
  CHECK(none.has("and so is --html"));
}
