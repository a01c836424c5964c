// SPDX-License-Identifier: Apache-2.0
// Schedule text reads back as itself; knobs and their arithmetic.
#include "schedules/schedule.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "ops/op.h"
#include "schedules/legal.h"
#include "schedules/step.h"
#include "tests/support/source_root.h"

using namespace hone;
using schedules::Schedule;

namespace {

Schedule parsed(std::string_view text) {
  auto s = Schedule::parse(text);
  REQUIRE_MESSAGE(s, s.failure().message);
  return *s;
}

/// A step of the row with every argument, its options by their older names or not.
std::string example(const schedules::StepRow& row, bool older, const char* verb = nullptr) {
  using schedules::Arg;
  std::string text = verb ? verb : row.verb;
  int names = 0;
  for (const schedules::Param& p : row.params) {
    const std::string option = older && p.alias ? p.alias : p.name ? p.name : "";
    switch (p.kind) {
      case Arg::kEnd:
        return text;
      case Arg::kWord:
        text += " " + std::string(p.name);
        break;
      case Arg::kNumber:
        text += " 4";
        break;
      case Arg::kPositions:
        text += " 0 2";
        break;
      case Arg::kOneOf:
        text += " " + std::string(p.choices).substr(0, std::string(p.choices).find('|'));
        break;
      case Arg::kClause:
      case Arg::kChoice:
        break;  // may be left out
      case Arg::kSetting:
      case Arg::kCount:
        text += " " + option + "=3";
        break;
      case Arg::kLayout:
        text += " " + option + "=[d0/4][d0%4]";
        break;
      default:
        text += " n" + std::to_string(++names);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("schedule: text is canonical and reads back") {
  const Schedule s = parsed(
      " split  Y/m ?mr=6..14 -> m.o  m.i tail=peel;split n ?nr=32|48 -> n.o n.i tail=mask;\n"
      "stage W at root -> Wp layout=[n/$nr][k][n%$nr] in=scratch ; compute e at s/j store Y/i "
      "in=registers;"
      "split k ?kc=64..512*64->k.o k.i; split k.o 2*$mr -> a b;");
  CHECK(s.text() ==
        "split Y/m ?mr=6..14 -> m.o m.i tail=peel; split n ?nr=32|48 -> n.o n.i; "
        "stage W at root -> Wp layout=[n/$nr][k][n%$nr]; "
        "compute e at s/j store Y/i in=registers; split k ?kc=64..512*64 -> k.o k.i; "
        "split k.o 2*$mr -> a b");
  CHECK(parsed(s.text()) == s);
  CHECK(parsed("").steps.empty());
}

TEST_CASE("schedule: knobs and fixing them") {
  const Schedule s = parsed(
      "split n ?nr=32|48 -> n.o n.i; split k ?kc=64..192*64 -> k.o k.i; split m $nr*$kc/2 -> a b; "
      "stage W at root -> Wp layout=[n/$nr][k][n%$nr]");
  const auto knobs = schedules::knobs(s);
  REQUIRE(knobs.size() == 2);
  CHECK(knobs[0].name == "nr");
  CHECK(knobs[0].values == std::vector<int64_t>{32, 48});
  CHECK(knobs[1].values == std::vector<int64_t>{64, 128, 192});
  const Schedule fixed = schedules::fix(s, {48, 128});
  CHECK(fixed.text() ==
        "split n 48 -> n.o n.i; split k 128 -> k.o k.i; split m 3072 -> a b; "
        "stage W at root -> Wp layout=[n/48][k][n%48]");
  CHECK(schedules::knobs(fixed).empty());
}

TEST_CASE("schedule: all that is wrong is told, but not what follows from it") {
  const auto problem = ops::parse_problem("matmul M=64 N=64 K=64");
  REQUIRE(problem);
  const auto told = [&](const char* text) { return schedules::objections(problem->program, text); };
  CHECK(told("split m 4 -> m.o m.i; unroll m.i").empty());
  // The third needs what the second would make.
  CHECK(told("split m 4 -> m.o m.i; split i 4 -> i.o i.i; unroll i.i; parallel C/m.o n; "
             "vectorize n") ==
        "schedule, step 2: there is no loop i; stage C has m.o, m.i, n and k\n"
        "  split i 4 -> i.o i.i\n"
        "        ^\n"
        "schedule, step 5: loop n is marked parallel already; a loop takes one mark\n"
        "  vectorize n\n"
        "            ^");
  // What does not parse stands beside what does not apply; the fourth needs what it would make.
  const std::string both = told(
      "split m 4 -> m.o m.i; unroll i; splt n 8 -> n.o n.i tail=peel; vectorize n.i; "
      "split k 8 -> tail k.i tail=best; parallel q");
  CHECK(both.starts_with("schedule, step 2: there is no loop i"));
  CHECK(both.find("\nschedule, step 3: there is no step `splt`") != std::string::npos);
  CHECK(both.find("step 4") == std::string::npos);
  CHECK(both.find("\nschedule, step 5: tail=best is not one of") != std::string::npos);
  CHECK(both.find("\nschedule, step 6: there is no loop q") != std::string::npos);
  const auto applied = schedules::apply_text(problem->program, "unroll i; splt n");
  REQUIRE(!applied);
  CHECK(applied.failure().code == ErrorCode::kSyntax);
  // What only the whole of the steps makes wrong.
  CHECK(told("unroll k; parallel n").starts_with("schedule, step 2: "));
}

TEST_CASE("schedule: every step documents itself") {
  for (const schedules::StepRow* row : schedules::steps()) {
    const std::string doc = row->doc;
    CHECK_MESSAGE(doc.find("  =>  ") != std::string::npos, row->verb);
    CHECK(schedules::usage(*row).starts_with(row->verb));
  }
}

TEST_CASE("schedule: an older word of a step reads as the step, whose text has the new one") {
  int aliases = 0;
  for (const schedules::StepRow* row : schedules::steps()) {
    std::vector<std::string> texts = {example(*row, false)};
    texts.push_back(row->alias ? example(*row, false, row->alias) : example(*row, true));
    if (row->alias) texts.push_back(example(*row, true, row->alias));
    for (const std::string& text : texts) {
      CAPTURE(text);
      const auto step = schedules::parse_step(text);
      REQUIRE(step);
      CHECK(step->row == row);
      CHECK(schedules::print(*step) == texts[0]);
      aliases += text != texts[0] ? 1 : 0;
    }
  }
  CHECK(aliases >= 3);  // parts, bulk, and stages= of a pipeline
  CHECK(*schedules::Schedule::parse("parts k 64 -> p; bulk A; pipeline k stages=3") ==
        *schedules::Schedule::parse("split_reduction k 64 -> p; tma A; pipeline k depth=3"));
}

TEST_CASE("schedule: the reference has every step's usage") {
  std::ifstream in(tests::source_root() + "/schedules/README.md");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  text = std::regex_replace(text, std::regex("\\s+"), " ");
  for (const schedules::StepRow* row : schedules::steps()) {
    const std::string line = "`" + schedules::usage(*row) + "`";
    CHECK_MESSAGE(text.find(line) != std::string::npos, line);
  }
}

TEST_CASE("schedule: a stage at a place that is not there is refused, whoever reads it") {
  const auto problem = ops::parse_problem(
      "op f(X: f32[N]) -> (Y: f32[N]) { a[i] = X[i]+1; b[i] = a[i]*2; Y[i] = b[i]+a[i] } N=4");
  REQUIRE(problem);
  for (const char* place : {"gone", "b"}) {
    ir::Program p = problem->program;
    for (size_t i = 0; i < p.stages.size(); ++i) {
      // In turn: at a stage that does not exist, and two stages inside each other.
      if (p.stages[i].name == "a") p.stages.edit(i).at = {"Y", "i"};
      if (p.stages[i].name == "a" && *place == 'b') p.stages.edit(i).at = {"b", "i"};
      if (p.stages[i].name == "b") p.stages.edit(i).at = {*place == 'b' ? "a" : "gone", "i"};
    }
    const auto illegal = schedules::find_illegal(p);
    REQUIRE(illegal);
    CHECK(illegal->reason.find(*place == 'b' ? "inside itself" : "no stage gone") !=
          std::string::npos);
  }
}
