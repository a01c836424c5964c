// SPDX-License-Identifier: Apache-2.0
// The words of the command line: problems without quotes, fields that are empty, words misspelt.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/cli/lines.h"
#include "tests/cli/program.h"

using hone::runtime::lines_of;
using hone::runtime::parse_line;
using hone::tests::Hone;
using hone::tests::Ran;

TEST_CASE("words: a problem is one line, in quotes or not") {
  using Words = std::vector<std::string>;
  const struct {
    Words words, lines;
  } rows[] = {{{"matmul M=3 N=4 K=5"}, {"matmul M=3 N=4 K=5"}},
              {{"matmul", "M=3", "N=4", "K=5"}, {"matmul M=3 N=4 K=5"}},
              {{"matmul", "M=3 N=4", "K=5", "dot", "K=2"}, {"matmul M=3 N=4 K=5", "dot K=2"}},
              {{"dot K=2", "dot K=3"}, {"dot K=2", "dot K=3"}},
              {{"fc", "M=1..8", "at", "1,4", "N=5", "K=3", "W@N,K", "W.align=64", "const=W"},
               {"fc M=1..8 at 1,4 N=5 K=3 W@N,K W.align=64 const=W"}},
              {{"dot", "K", "=", "64", "T=", "f64", "const", "=A"}, {"dot K=64 T=f64 const=A"}},
              {{"op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] }", "N=5"},
               {"op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] } N=5"}},
              {{"dot", "K=2", "|", "x86", "isa=avx2", "|", "unroll", "C/k"},
               {"dot K=2 | x86 isa=avx2 | unroll C/k"}},
              {{"dot K=2", "| x86", "threads = 3"}, {"dot K=2 | x86 threads = 3"}},
              {{"dot K=2 | x86 |", "dot K=3"}, {"dot K=2 | x86 |", "dot K=3"}},
              {{}, {}}};
  for (const auto& row : rows) CHECK(lines_of(row.words) == row.lines);
}

TEST_CASE("words: parts of a line may be empty") {
  const auto parts = [](const char* text) {
    const auto line = parse_line(text).value();
    return line.problem + "/" + line.target + "/" + line.schedule + (line.scheduled ? "!" : "");
  };
  CHECK(parts("dot K=2") == "dot K=2//");
  CHECK(parts("dot K=2 |") == "dot K=2//");
  CHECK(parts("dot K=2 | | unroll k") == "dot K=2//unroll k!");
  CHECK(parts("dot K=2 |  |") == "dot K=2//!");
  CHECK(parts("dot K=2 | x86 |") == "dot K=2/x86/!");
  CHECK(parts(" dot K=2 | x86 | a; b ") == "dot K=2/x86/a; b!");
  CHECK(parts("op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = select(X[i] < 0 || X[i] > 9, 0, 1) } N=3")
            .ends_with("N=3//"));
  // Bits of an op are no parts of the line.
  CHECK(parts("op f(X: i32[N]) -> (Y: i32[N]) { Y[i] = X[i] | 2 } N=3 | x86 | unroll i")
            .ends_with("X[i] | 2 } N=3/x86/unroll i!"));
  CHECK_FALSE(parse_line("a | b | c | d"));
  const Hone hone;
  CHECK(hone("run --no-time 'matmul M=3 N=3 K=3 | | unroll C/k'").has("unroll C/k (given)"));
}

TEST_CASE("words: every verb takes a problem without quotes") {
  const Hone hone;
  const Ran two = hone("run --no-time matmul M=3 N=4 K=5 dot K=7 --threads 1");
  CHECK(two.code == 0);
  CHECK(two.has("matmul M=3 K=5 N=4"));
  CHECK(two.has("dot K=7"));
  CHECK(hone("show --ir matmul M=3 N=4 K=5").has("launch"));
  const Ran many = hone("show matmul M=3 N=4 K=5 dot K=7");
  CHECK(many.code == 2);
  CHECK(many.has("`dot K=7` begins another"));
  CHECK(hone("bench --json --rounds 1 --problem matmul M=3 N=4 K=5").has("matmul M=3 K=5 N=4"));
  if (hone("target").out.find("isa=none") != std::string::npos) return;
  CHECK(hone("tune --trials 1 matmul M=3 N=4 K=5").code == 0);
  CHECK(hone("fuzz --time 100ms --json dot K=7").has("\"failures\":0"));
}

TEST_CASE("words: a schedule by hand is an option, too") {
  const Hone hone;
  const std::string steps = "--schedule 'split C/m 2 -> a b; unroll b' ";
  CHECK(hone("run --no-time " + steps + "matmul M=3 N=3 K=3").has("unroll b (given)"));
  CHECK(hone("run --no-time --schedule '' matmul M=3 N=3 K=3").has("none (given)"));
  // The line's own goes first.
  CHECK(hone("run --no-time " + steps + "'matmul M=3 N=3 K=3 | | unroll C/k'").has("C/k (given)"));
  CHECK(hone("run --no-time --schedule 'unroll q' matmul M=3 N=3 K=3").code == 2);
  CHECK(hone("show --ir " + steps + "matmul M=3 N=3 K=3").has("unroll:b"));
  for (const char* line : {"show --schedule 'matmul M=3 N=3 K=3'", "show --schedule dot K=3",
                           "show dot K=3 --schedule", "show --schedule --json dot K=3"}) {
    const Ran ran = hone(line);
    CHECK(ran.code == 0);
    CHECK(ran.out.find("given") == std::string::npos);
  }
}

TEST_CASE("words: what was likely meant is said") {
  const Hone hone;
  const std::pair<const char*, const char*> rows[] = {
      {"rnu dot K=3", "did you mean run?"},
      {"tnue dot K=3", "did you mean tune?"},
      {"cache improt x", "did you mean import?"},
      {"run --tagret=x86 dot K=3", "did you mean --target?"},
      {"run --no-tme dot K=3", "did you mean --no-time?"},
      {"tune --budgt 3s dot K=3", "did you mean --budget?"},
      {"cache ls --jsn", "did you mean --json?"},
      {"bench --piers", "did you mean --peers?"},
      {"--verison", "did you mean --version?"}};
  for (const auto& [line, part] : rows) {
    const Ran ran = hone(line);
    CHECK(ran.code == 2);
    CHECK(ran.has(part));
  }
  CHECK(hone("frobnicate").out.find("did you mean") == std::string::npos);
}

TEST_CASE("words: what the machine has no memory for is told before it is tried") {
  const Hone hone;
  for (const char* line :
       {"run matmul M=3000000 N=3000000 K=3", "run --json add N=9000000000000",
        "run --no-check matmul M=3 N=3000000 K=3000000 const=B",
        "tune matmul M=3000000 N=3000000 K=3", "run --no-time matmul M=1..3000000 N=3000000 K=3"}) {
    const Ran ran = hone(line);
    CHECK(ran.code != 0);
    CHECK(ran.has("TB, this machine has "));
  }
}

TEST_CASE("words: an output without elements is said to be empty") {
  const Hone hone;
  CHECK(hone("run matmul M=0 N=3 K=3").has("  empty  "));
  CHECK(hone("run --no-check copy N=0").has("  empty  "));
  CHECK(hone("run --no-time matmul M=3 N=3 K=0").out.find("empty") == std::string::npos);
  CHECK(hone("run --no-time matmul M=0..2 N=3 K=3").out.find("empty") == std::string::npos);
}

TEST_CASE("words: ops by the beginning of their names, and what an expression may have") {
  const Hone hone;
  const Ran soft = hone("ops soft");
  CHECK(soft.code == 0);
  CHECK(soft.has("op softmax"));
  CHECK(soft.out.find("matmul") == std::string::npos);
  // A name that is one is shown whole, though others begin with it.
  CHECK(hone("ops softmax").has("case small softmax"));
  CHECK(hone("ops --json row_s").has("{\"name\":\"row_sum\""));
  const Ran none = hone("ops sotfmax");
  CHECK(none.code == 2);
  CHECK(none.has("did you mean `softmax`?"));
  const Ran functions = hone("ops --functions", "COLUMNS=70 ");
  CHECK(functions.code == 0);
  for (const char* word :
       {"gelu(x)", "select(condition,x,y)", "argmax[i](x)", "pow(x,y)", "bf16"}) {
    CHECK(functions.has(word));
  }
  CHECK(hone("ops --functions --json").has("\"reductions\":[\"sum[i](x)\""));
}
