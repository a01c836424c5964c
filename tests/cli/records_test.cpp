// SPDX-License-Identifier: Apache-2.0
// What the program tells of records and trials, and which records it refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "jit/code.h"
#include "runtime/cli/step_changes.h"
#include "runtime/cli/terminal.h"
#include "tests/cli/program.h"

using hone::runtime::in_lines;
using hone::runtime::step_changes;
using hone::schedules::Schedule;
using hone::tests::Hone;
using hone::tests::Ran;

namespace {

/// A file of records of one problem and one target, one for each schedule.
std::string records(const std::string& problem, const std::vector<std::string>& schedules) {
  std::string text = "hone-records 1\n";
  for (const std::string& schedule : schedules) {
    text += "\nproblem: " + problem +
            "\ntarget: x86 isa=avx2\ncodegen: " + std::to_string(hone::jit::kCodeGeneration) +
            "\nschedule: " + schedule + "\nverdict: ok\nmedian_us: 1.5\n";
  }
  return text;
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool no_code(const Hone& hone) { return hone("target").out.find("isa=none") != std::string::npos; }

}  // namespace

TEST_CASE("records: an import takes what makes sense and names what does not") {
  const Hone hone;
  const char* problem = "matmul M=8 K=8 N=8";
  const std::string mixed =
      hone.write("mixed.txt",
                 records(problem, {"unroll C/k", "unrol C/k", "split C/q 3 -> a b", "unroll C/m"}));
  const Ran ran = hone("cache import " + mixed);
  CHECK(ran.code == 2);
  CHECK(ran.has("2 records read, 2 refused"));
  CHECK(ran.has("mixed.txt: matmul M=8 K=8 N=8 | x86 isa=avx2 | unrol C/k"));
  CHECK(ran.has("C/q"));
  CHECK(hone("cache stat --json").has("\"records\":2,"));
  CHECK(hone("cache verify").code == 0);
  // Nothing is taken of what has no op, no canonical text, or no target.
  const std::pair<std::string, const char*> bad[] = {
      {records("matmull M=8 K=8 N=8", {""}), "no op of this name"},
      {records("matmul N=8 K=8 M=8", {""}), "which is `matmul M=8 K=8 N=8`"},
      {records("matmul M=8 K=8", {""}), "`N` is not given"}};
  for (const auto& [text, why] : bad) {
    const Hone fresh;
    const Ran refused = fresh("cache import " + fresh.write("bad.txt", text));
    CHECK(refused.code == 2);
    CHECK(refused.has("0 records read, 1 refused"));
    CHECK(refused.has(why));
  }
  const Ran json = hone("cache import --json " + mixed);
  CHECK(json.code == 2);
  CHECK(json.has("\"flaw\":\""));
  CHECK(json.has("{\"records\":2}\n"));
}

TEST_CASE("records: of another code generation only the problem is looked at") {
  const Hone hone;
  std::string text = records("matmul M=8 K=8 N=8", {"transmogrify C/k"});
  const std::string now = "codegen: " + std::to_string(hone::jit::kCodeGeneration);
  text.replace(text.find(now), now.size(), "codegen: 1");
  CHECK(hone("cache import " + hone.write("old.txt", text)).code == 0);
}

TEST_CASE("records: a list fits the lines of a terminal, and is one line each elsewhere") {
  const Hone hone;
  const std::string schedule =
      "split C/n 4 -> n.o n.i tail=peel; split C/m 4 -> m.o m.i tail=peel; "
      "reorder C/n.o C/m.o C/k C/m.i C/n.i; unroll C/n.i";
  REQUIRE(
      hone("cache import " + hone.write("r.txt", records("matmul M=8 K=8 N=8", {schedule}))).code ==
      0);
  const std::vector<std::string> wide = lines_in(hone("cache ls", "unset COLUMNS; ").out);
  REQUIRE(wide.size() == 1);
  CHECK(wide[0].ends_with("| " + schedule));
  const std::vector<std::string> narrow = lines_in(hone("cache ls", "COLUMNS=60 ").out);
  CHECK(narrow.size() > 3);
  for (const std::string& line : narrow) CHECK(line.size() <= 60);
  const std::vector<std::string> run =
      lines_in(hone("run --no-time 'matmul M=8 N=8 K=8 | | " + schedule + "'", "COLUMNS=72 ").out);
  CHECK(std::count_if(run.begin(), run.end(), [](const std::string& line) {
          return line.starts_with("            ") || line.starts_with("  schedule  ");
        }) > 1);
}

TEST_CASE("records: a schedule in lines is the schedule") {
  const std::string text =
      "split C/n 4 -> n.o n.i tail=peel; unroll C/n.i; vectorize C/m; unroll k";
  for (size_t width : {20, 40, 60, 200}) {
    const std::string lines = in_lines(text, 4, width);
    CHECK(Schedule::parse(lines).value().text() == Schedule::parse(text).value().text());
    for (const std::string& line : lines_in("    " + lines)) {
      CHECK((line.size() <= width || std::count(line.begin(), line.end(), ';') <= 1));
    }
  }
}

TEST_CASE("records: how one schedule differs from another is a few words") {
  const auto differ = [](const char* from, const char* to) {
    return step_changes(Schedule::parse(from).value(), Schedule::parse(to).value());
  };
  CHECK(differ("split C/n 4 -> a b; unroll b", "split C/n 4 -> a b; unroll b") == "");
  CHECK(differ("split C/n 4 -> a b; unroll b", "split C/n 8 -> a b; unroll b") == "C/n 4->8");
  CHECK(differ("unroll k", "unroll k; vectorize C/n") == "+vectorize C/n");
  CHECK(differ("unroll k; vectorize C/n", "vectorize C/n") == "-unroll k");
  CHECK(differ("reorder C/a C/b", "reorder C/b C/a") == "reorder C");
  CHECK(differ("unroll k; parallel i", "parallel i; unroll k") == "order of steps");
  CHECK(differ("split C/n 4 -> a b tail=peel", "split C/n 4 -> a b tail=exact") ==
        "other split C/n");
}

TEST_CASE("records: what was tried is listed, the best first, and logged as it is tried") {
  const Hone hone;
  const Ran none = hone("cache trials matmul M=24 N=40 K=56");
  CHECK(none.code == 0);
  CHECK(none.has("nothing was tried for matmul M=24 K=56 N=40"));
  CHECK(hone("cache trials").code == 2);
  CHECK(hone("cache trials matmull M=2").code == 2);
  if (no_code(hone)) return;
  const std::string file = hone.file("log.jsonl");
  CHECK(hone("tune --trials 6 --log " + file + " matmul M=24 N=40 K=56").code == 0);
  std::ifstream log(file);
  std::ostringstream logged;
  logged << log.rdbuf();
  const size_t tried = lines_in(logged.str()).size();
  CHECK(tried > 0);
  CHECK(logged.str().starts_with("{\"problem\":\"matmul M=24 N=40 K=56\",\"number\":0,"));
  for (const char* key : {"schedule", "verdict", "time_us", "elapsed_s", "note"}) {
    CHECK(logged.str().find("\"" + std::string(key) + "\":") != std::string::npos);
  }
  const Ran trials = hone("cache trials matmul M=24 N=40 K=56", "COLUMNS=70 ");
  CHECK(trials.code == 0);
  CHECK(trials.has(std::to_string(tried) + " tried"));
  const std::vector<std::string> lines = lines_in(trials.out);
  CHECK(std::count_if(lines.begin(), lines.end(),
                      [](const std::string& line) { return line.ends_with("the default"); }) == 1);
  for (const std::string& line : lines) CHECK(line.size() <= 70);
  const std::vector<std::string> rows =
      lines_in(hone("cache trials --json matmul M=24 N=40 K=56").out);
  CHECK(rows.size() == tried);
  double last = 0;
  for (const std::string& row : rows) {
    if (row.find("\"verdict\":\"ok\"") == std::string::npos) continue;
    const std::string key = "\"median_us\":";
    const double time = std::stod(row.substr(row.find(key) + key.size()));
    CHECK(time >= last);
    last = time;
  }
}

TEST_CASE("records: a log that cannot be written is told") {
  const Hone hone;
  CHECK(hone("tune --trials 1 --log /none/log matmul M=2 N=2 K=2").has("/none/log"));
  if (no_code(hone)) return;
  const Ran full = hone("tune --trials 1 --log /dev/full matmul M=2 N=2 K=2");
  CHECK(full.code == 2);
  CHECK(full.has("/dev/full"));
}
