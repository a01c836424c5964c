// SPDX-License-Identifier: Apache-2.0
// The speed suite of `hone bench`: its rows, its tables, its picture, its tuned records.
#include <algorithm>
#include <cmath>

#include "bench/speed/picture.h"
#include "bench/speed/results.h"
#include "bench/speed/rows.h"
#include "ops/op.h"
#include "tests/cli/program.h"
#include "tests/support/source_root.h"

using namespace hone::bench;
using namespace hone::tests;

namespace {

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs a line of Python on `path`, which is its `f`; true where it ends well.
bool python(const std::string& line, const std::string& path) {
  const std::string command = "python3 -c \"import json, xml.etree.ElementTree as xml; f = open('" +
                              path + "'); " + line + "\"";
  return std::system(command.c_str()) == 0;
}

std::string what_is_wrong_with(const std::string& rows) {
  const auto parsed = parse_speed_rows(rows, "rows");
  return parsed ? "" : parsed.failure().message;
}

RowEntry entry(const std::string& name, double us, double of_limit) {
  RowEntry e;
  e.name = name;
  e.time_us = {us, us, us};
  e.of_limit = of_limit;
  e.gbps = 100 * of_limit;
  return e;
}

}  // namespace

TEST_CASE("speed suite: every problem of its rows is one") {
  const fs::path folder = fs::path(source_root()) / "bench/speed";
  const auto library = hone::ops::parse_library(text_of(folder / "ops.hone"), "ops.hone");
  REQUIRE(library);
  const auto groups = parse_speed_rows(text_of(folder / "rows.txt"), "rows.txt");
  REQUIRE(groups);
  size_t rows = 0;
  for (const SpeedGroup& group : *groups) {
    CAPTURE(group.name);
    CHECK_FALSE(group.rows.empty());
    for (const SpeedCase& row : group.rows) {
      CAPTURE(row.name);
      ++rows;
      for (const std::string& text : row.problems) {
        CAPTURE(text);
        CHECK(hone::ops::parse_problem(text, &*library));
      }
    }
  }
  CHECK(rows > 100);
}

TEST_CASE("speed suite: rows are read, and what is none is told") {
  const auto groups = parse_speed_rows(
      "# a comment\ngroup one\nmean 92%\ntotal under A\ngoal 60 GB/s at 265 GFLOP/s\nrow a b: x "
      "N=1\n"
      "goal over A\noperands in turns over 512K\nlayout free\nrow c: x || y M=2\ngroup two\nrow d: "
      "x\n",
      "rows");
  REQUIRE(groups);
  REQUIRE(groups->size() == 2);
  const SpeedGroup& one = (*groups)[0];
  CHECK(one.mean == doctest::Approx(0.92));
  CHECK(one.total_under == "A");
  REQUIRE(one.rows.size() == 2);
  CHECK(one.rows[0].name == "a b");
  CHECK(one.rows[0].goal.text() == "60 GB/s at 265 GFLOP/s");
  CHECK(one.rows[0].operands.text() == "hot");
  CHECK(one.rows[1].goal.over == "A");
  CHECK(one.rows[1].operands.bytes == 512 * 1024);
  CHECK(one.rows[1].free_layout);
  CHECK(one.rows[1].problems == std::vector<std::string>{"x", "y M=2"});
  // What held in one group does not in the next.
  CHECK((*groups)[1].rows[0].goal.none());
  CHECK_FALSE((*groups)[1].rows[0].free_layout);
  const auto chosen = chosen_rows(*groups, {"ON*"}, {"c", "z"});
  REQUIRE(chosen.size() == 1);
  REQUIRE(chosen[0].rows.size() == 1);
  CHECK(chosen[0].rows[0].name == "c");

  CHECK(what_is_wrong_with("row a: x").find("rows:1: expected `group NAME`") == 0);
  CHECK(what_is_wrong_with("group g\nrow a x").find("rows:2: expected `row NAME: PROBLEM`") == 0);
  CHECK(what_is_wrong_with("group g\ngoal fast").find("rows:2: expected `goal 98%`") == 0);
  CHECK(what_is_wrong_with("group g\noperands cold").find("operands hot") != std::string::npos);
  CHECK(what_is_wrong_with("group g\nrow a: x\nrow a: y").find("a second row") !=
        std::string::npos);
  CHECK(what_is_wrong_with("group g\ndance").find("expected group, row") != std::string::npos);
}

TEST_CASE("speed suite: goals, means and totals") {
  GroupResult group;
  group.group.mean = 0.7;
  group.group.total_under = "A";
  group.rows.resize(2);
  group.rows[0].entries = {entry("default", 4, 0.4), entry("tuned", 2, 0.8), entry("A", 3, 0.5)};
  group.rows[1].entries = {entry("default", 1, 0.5)};
  CHECK(group.mean("default") == doctest::Approx(std::sqrt(0.4 * 0.5)));
  CHECK(group.own_mean() == doctest::Approx(std::sqrt(0.8 * 0.5)));
  CHECK(group.mean_met() == Met::kNo);
  // A row that the peer does not have counts for nobody.
  CHECK(group.total("", "A") == 2);
  CHECK(group.total_met() == Met::kYes);
  RowResult row = group.rows[0];
  const auto met = [&](const RowGoal& goal) {
    row.row.goal = goal;
    return goal_met(row, 200);
  };
  CHECK(met({}) == Met::kUnknown);
  CHECK(met({.share = 0.8}) == Met::kYes);
  CHECK(met({.share = 0.81}) == Met::kNo);
  CHECK(met({.over = "A"}) == Met::kYes);
  CHECK(met({.over = "B"}) == Met::kUnknown);
  CHECK(met({.gbps = 81}) == Met::kNo);
  CHECK(met({.gbps = 81, .at_gflops = 300}) == Met::kYes);
  CHECK(goal_share(row, 200) == doctest::Approx(0.54));
  CHECK(contenders_of({group}) == std::vector<std::string>{"default", "tuned", "A"});
}

TEST_CASE("speed suite: a picture is well formed, whatever names have in them") {
  PictureText text;
  text.title = "a < b & \"c\"";
  text.contenders = {"default", "tuned", "P<1>"};
  for (int g = 0; g < 3; ++g) {
    PictureGroup group{"group " + std::to_string(g), {}};
    for (int r = 0; r < 12; ++r) {
      const double share = r / 8.0;
      group.rows.push_back({"row & " + std::to_string(r),
                            0.9,
                            {{"default", share / 2}, {"tuned", share}, {"P<1>", 0.3}}});
    }
    text.groups.push_back(group);
  }
  const std::string svg = svg_of(text);
  CHECK(svg == svg_of(text));
  const Hone hone;
  const std::string path = hone.write("picture.svg", svg);
  CHECK(python("n = len(xml.parse(f).getroot().findall('.//{*}rect/{*}title')); assert n == 108, n",
               path));
  CHECK(svg.find("prefers-color-scheme:dark") != std::string::npos);
  // A few rows stand in one column, which is wider than one of two.
  text.groups.resize(1);
  text.groups[0].rows.resize(2);
  CHECK(python("w = float(xml.parse(f).getroot().get('width')); assert 600 < w < 800, w",
               hone.write("small.svg", svg_of(text))));
  text.groups.clear();
  CHECK(python("xml.parse(f)", hone.write("empty.svg", svg_of(text))));
}

TEST_CASE("speed suite: rows are measured, checked and drawn") {
  const Hone hone;
  const std::string picture = hone.file("speed.svg");
  const Ran ran = hone(
      "bench --suite speed --peers --json --rounds 1 --case 'matmul 5' "
      "--case 'SOFTMAX 64x*' --svg " +
      picture);
  CHECK(ran.code == 0);
  CHECK(ran.has("{\"suite\":\"speed\",\"target\":\"x86"));
  CHECK(ran.has("\"row\":\"matmul 5\""));
  CHECK(ran.has("\"row\":\"softmax 64x1024\""));
  CHECK(ran.has("\"operands\":\"in turns over 512K\""));
  CHECK(ran.has("\"contender\":\"default\""));
  CHECK(ran.has("\"wrong\":0}"));
  CHECK(
      python("rows = [json.loads(l) for l in f]; assert any(r.get('sets', 1) > 100 for r in rows)",
             hone.write("rows.json", ran.out)));
  CHECK(python("xml.parse(f)", picture));
  const Ran text = hone("bench --suite speed --rounds 1 --case 'matmul 5'");
  CHECK(text.code == 0);
  CHECK(text.has("tiny products"));
  CHECK(text.has("0 contenders wrong"));
  CHECK(hone("bench --suite speed --list").has("  matmul 5: matmul M=5 N=5 K=5\n"));
  const Ran none = hone("bench --suite speed --case nothing");
  CHECK(none.code == 2);
  CHECK(none.has("--list"));
}

TEST_CASE("speed suite: tuned records are kept as text and serve again") {
  const Hone hone;
  const std::string row = "bench --suite speed --json --rounds 1 --case 'matmul 8' ";
  const std::string kept = hone.file("tuned");
  CHECK(hone(row + "--tuned none --tune 200ms --save-tuned " + kept).code == 0);
  const std::string record = kept + "/tiny-products.txt";
  CHECK(text_of(record).starts_with("hone-records 1\n"));
  // With a cache that knows nothing.
  const Ran again = hone(row + "--cache " + hone.file("other.db") + " --tuned " + kept);
  CHECK(again.code == 0);
  CHECK(again.has("\"contender\":\"tuned\""));
  CHECK(again.has("\"from\":\"" + kept + "\""));
  CHECK(hone("cache import " + record).code == 0);
  hone.write("bad.txt", "no records");
  CHECK(hone(row + "--tuned " + fs::path(record).parent_path().parent_path().string()).code == 2);
}
