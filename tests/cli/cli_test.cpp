// SPDX-License-Identifier: Apache-2.0
// The hone program from outside: what it prints, its JSON keys, its exit codes.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "jit/code.h"
#include "runtime/cache/cache.h"
#include "tests/cli/program.h"

namespace fs = std::filesystem;

using hone::tests::Hone;
using hone::tests::Ran;

namespace {

/// The line of a record that this program wrote.
const std::string kGeneration = "codegen: " + std::to_string(hone::jit::kCodeGeneration) + "\n";

/// What `run` and the bench tell of a kernel.
constexpr const char* kRunKeys[] = {"problem", "target",    "schedule", "source",  "time_us",
                                    "gflops",  "gbps",      "limit",    "bound",   "of_limit",
                                    "max_err", "tolerance", "jit_us",   "threads", "code_bytes",
                                    "spills",  "numerics"};

}  // namespace

TEST_CASE("cli: run checks, times and tells in JSON") {
  const Hone hone;
  const Ran ran = hone("run --json 'matmul M=17 N=33 K=9'");
  CHECK(ran.code == 0);
  for (const char* key : kRunKeys) CHECK(ran.has("\"" + std::string(key) + "\":"));
  CHECK(ran.has("\"source\":\"default\""));
  CHECK(hone("run --json --no-check 'matmul M=3 N=3 K=3'").has("\"max_err\":null"));
  CHECK(hone("run --json --no-time 'matmul M=3 N=3 K=3'").has("\"time_us\":null"));
  const Ran given =
      hone("run --no-time 'matmul M=17 N=33 K=9 | x86 isa=avx2 | split C/m 4 -> a b; unroll b'");
  CHECK(given.code == 0);
  CHECK(given.has("(given)"));
  CHECK(hone("run --no-time --threads 1 'matmul M=3 N=3 K=3 | x86 isa=none'").has("interpreted"));
  CHECK(hone("run --no-time --op 'op twice(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] * 2 }' "
             "'twice N=5'")
            .has("right"));
}

TEST_CASE("cli: a problem for which no data can be good is told so") {
  const Ran ran = Hone()("run 'embedding_bag R=0 D=33 L=12 B=4'");
  CHECK(ran.code == 2);
  CHECK(ran.out.find("element 0 of ids is out of range") != std::string::npos);
}

TEST_CASE("cli: what promises an alignment is timed on tensors that have it") {
  const Hone hone;
  for (const char* promise : {"align=128", "align=4096", "B.align=256 const=B"}) {
    const Ran ran = hone(std::string("run --json 'matmul M=16 N=16 K=16 ") + promise + "'");
    CHECK(ran.code == 0);
    CHECK(ran.out.find("\"time_us\":null") == std::string::npos);
  }
}

TEST_CASE("cli: user errors end with 2 and say where") {
  const Hone hone;
  const Ran unknown = hone("run 'matmull M=3 N=3 K=3'");
  CHECK(unknown.code == 2);
  CHECK(unknown.has("matmul"));
  CHECK(hone("run 'matmul M=3'").code == 2);
  const Ran target = hone("run 'matmul M=3 N=3 K=3 | x86 isa=avx3'");
  CHECK(target.code == 2);
  CHECK(target.has("^^^"));
  CHECK(hone("run 'matmul M=3 N=3 K=3 | x86 | split C/m 2 -> a b tail=exact'").code == 2);
  CHECK(hone("run 'matmul M=3 N=3 K=3 | x86 | a | b'").code == 2);
  CHECK(hone("run").code == 2);
  CHECK(hone("dance").code == 2);
  CHECK(hone("bench --suite nothing").code == 2);
  CHECK(hone("cache dance").code == 2);
  CHECK(hone("tune --budget soon 'matmul M=3 N=3 K=3'").code == 2);
  for (const char* budget : {"nan", "inf", "1e300", "-1", "5x"}) {
    const Ran ran = hone(std::string("tune --budget=") + budget + " 'matmul M=3 N=3 K=3'");
    CHECK(ran.code == 2);
    CHECK(ran.has("is no duration"));
  }
  CHECK(hone("tune").code == 2);
  CHECK(hone("show --ops " + hone.file("none.hone") + " 'matmul M=3 N=3 K=3'").code == 2);
  const Ran json = hone("run --json 'matmul M=3'");
  CHECK(json.code == 2);
  CHECK(json.has("{\"error\":\""));
  CHECK(hone("--help").code == 0);
  for (const char* verb : {"run", "tune", "show", "cache", "cache export", "bench", "fuzz",
                           "target", "ops", "grad", "quantize"}) {
    CHECK(hone(std::string(verb) + " --help").has("--help"));
  }
}

TEST_CASE("cli: what is wrong with the command line is JSON too, one object") {
  const Hone hone;
  const std::pair<const char*, const char*> lines[] = {
      {"run --json", "name a problem"},
      {"run --json --fast x", "--fast"},
      {"show --json", "name a problem"},
      {"dance --json", "run, tune, show, cache, bench, fuzz, target, ops"},
      {"cache --json", "ls, stat, export, import, merge, verify, prune"},
      {"cache fit --json --cache :memory:", "too few trials"},
      {"cache dance --json", "hone cache --help"},
      {"cache import --json", "files is required"},
      {"cache merge --json /none.db", "/none.db"},
      {"run --json --threads 0 x", "4096"},
      {"run --json --target 'x86 isa=avx3' 'matmul M=3 N=3 K=3'", "isa"},
      {"tune --json --strategy luck x", "evolve"},
      {"tune --json --trials 0 x", "--trials"},
      {"bench --json --suite none", "library"},
      {"bench --json --tune soon", "500ms"},
      {"fuzz --json --time soon", "500ms"},
      {"ops --json nothing", "softmax"},
      {"target --json --ops /none.hone", "/none.hone"}};
  for (const auto& asked : lines) {
    CAPTURE(asked.first);
    const Ran ran = hone(asked.first);
    CHECK(ran.code == 2);
    CHECK(ran.has(asked.second));
    CHECK(ran.out.starts_with("{\"error\":\""));
    CHECK(ran.out.ends_with("\"}\n"));
    CHECK(std::count(ran.out.begin(), ran.out.end(), '\n') == 1);
  }
}

TEST_CASE("cli: the options of every verb") {
  const Hone hone;
  for (const char* verb : {"run", "tune", "show", "cache", "cache ls", "cache stat", "cache export",
                           "cache import", "cache merge", "cache verify", "cache prune",
                           "cache trials", "cache fit", "bench", "fuzz", "target", "ops"}) {
    const Ran help = hone(std::string(verb) + " --help");
    CHECK(help.code == 0);
    for (const char* option : {"--json", "--cache", "--target", "--threads", "--op ", "--ops "}) {
      CHECK(help.has(option));
    }
  }
  CHECK(hone("run --no-time --threads 1 'matmul M=3 N=3 K=3 | x86 isa=avx2 threads=4'")
            .has("threads=1 "));
  CHECK(hone("run --no-time --target 'x86 isa=none' 'matmul M=3 N=3 K=3'").has("interpreted"));
  const Ran bench = hone("bench --json --threads 1 --rounds 1 --problem 'matmul M=17 N=33 K=9'");
  CHECK(bench.code == 0);
  for (const char* key : kRunKeys) CHECK(bench.has("\"" + std::string(key) + "\":"));
  CHECK(bench.has("\"threads\":1,"));
}

TEST_CASE("cli: figures come with their spread and their rounds, at each point") {
  const Hone hone;
  const Ran run = hone("run --json --threads 1 'fc_relu M=1..8 at 1,8 N=16 K=8'");
  for (const char* key :
       {"time_low_us", "time_high_us", "rounds", "noisy_rounds", "busy", "points", "limit_us"}) {
    CHECK(run.has("\"" + std::string(key) + "\":"));
  }
  CHECK(run.has("\"at\":\"M=1\""));
  CHECK(run.has("\"at\":\"M=8\""));
  CHECK(hone("run --help").has("middle half"));
  CHECK(hone("tune --help").has("geometric means"));
  CHECK(hone("tune --help").has("expected_gain"));
  CHECK(hone("bench --help").has("--threads"));
  // The later of two counts; --op and --ops are lists.
  const Ran twice =
      hone("bench --json --threads 2 --rounds 9 --problem 'add N=5' --threads 1 --rounds 1");
  CHECK(twice.code == 0);
  CHECK(twice.has("\"threads\":1,"));
  CHECK(hone("run --no-time --op 'op one(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] }' "
             "--op 'op two(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] }' one N=3")
            .code == 0);
}

TEST_CASE("cli: the bench tells a problem whole, and that a build has no peers") {
  const Hone hone;
  const std::string name = "an_op_whose_name_is_longer_than_a_column_of_any_table";
  const Ran ran =
      hone("bench --rounds 1 --threads 1 --peers --op 'op " + name +
           "(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] + 1 }' --problem '" + name + " N=1000'");
  CHECK(ran.code == 0);
  CHECK(ran.has(name));
  CHECK(ran.has(" N=1000, "));
  CHECK(ran.has("round"));
  CHECK((ran.out.find("this build has none") != ran.out.npos ||
         hone("bench --json --rounds 1 --peers --problem 'matmul M=8 N=8 K=8'").has("\"peer\"")));
}

TEST_CASE("cli: a file of ops and a file of problems") {
  const Hone hone;
  const std::string ops =
      hone.write("mine.hone", "op twice(X: f32[N]) -> (Y: f32[N]) {\n  Y[i] = X[i] * 2\n}\n");
  const std::string problems = hone.write("problems.txt", "# mine\ntwice N=50\n\ntwice N=70\n");
  CHECK(hone("run --no-time --ops " + ops + " 'twice N=5'").has("right"));
  CHECK(hone("run --no-time --verbose --ops " + ops + " 'twice N=5'").has("compile: default "));
  if (hone("target").out.find("isa=none") != std::string::npos) return;
  const Ran tuned = hone("tune --json --trials 2 --ops " + ops + " --problems " + problems);
  CHECK(tuned.code == 0);
  CHECK(tuned.has("N=50"));
  CHECK(tuned.has("N=70"));
  // Results go to another machine as text, and are a hit there.
  const Hone other;
  CHECK(hone("cache export " + hone.file("tuned.txt")).code == 0);
  CHECK(other("cache import " + hone.file("tuned.txt")).code == 0);
  const Ran hit = other("tune --json --ops " + ops + " 'twice N=70'");
  CHECK(hit.has("\"end\":\"hit\""));
  for (const char* unknown : {"of_limit", "limit_us", "default_us", "speedup"}) {
    CHECK(hit.has("\"" + std::string(unknown) + "\":null"));
  }
}

TEST_CASE("cli: an unwritable cache and a full disk are told, and work goes on") {
  const Hone hone;
  const Ran nowhere = hone("run --no-time --cache /proc/none/cache.db 'matmul M=3 N=3 K=3'");
  CHECK(nowhere.code == 0);
  CHECK(nowhere.has("records stay in memory"));
  if (hone("target").out.find("isa=none") != std::string::npos) return;
  // Neither records nor code find a place: the interpreter serves.
  const Ran full = hone("run --no-time 'matmul M=24 N=40 K=56'", "ulimit -f 16; ");
  CHECK(full.code == 0);
  CHECK(full.has("stay in memory"));
  CHECK(full.has("the interpreter serves"));
  const Ran tuned = hone("tune --trials 3 'matmul M=24 N=40 K=56'", "ulimit -f 16; ");
  CHECK(tuned.code == 2);
  CHECK(tuned.has("executable memory"));
  CHECK(hone("cache verify").code == 0);
}

TEST_CASE("cli: show has every view") {
  const Hone hone;
  const std::string line = " 'matmul M=16 N=32 K=8 | x86 isa=avx2 threads=1'";
  CHECK(hone("show --schedule" + line).has("vectorize"));
  CHECK(hone("show --ir" + line).has("launch"));
  const Ran report = hone("show --report" + line);
  CHECK(report.has("spills"));
  if (hone("target").out.find("isa=none") == std::string::npos) {
    for (const char* fact :
         {"limit_us ", "intensity ", "l2_bytes ", "arithmetic_share ", "bound "}) {
      CHECK(report.has(fact));
    }
    CHECK(report.has("  operations          8192"));
    CHECK_FALSE(report.has("best_us"));
    CHECK(hone("tune --trials 1 --target 'x86 isa=avx2 threads=1' matmul M=16 N=32 K=8").code == 0);
    CHECK(hone("show --report" + line).has("best_us"));
    CHECK(hone("show --lir" + line).has("vfmadd"));
    CHECK(hone("show --asm" + line).has("vfmadd"));
  }
  CHECK(hone("show --json --ir --report" + line).has("\"report\":"));
  CHECK(hone("show --asm 'matmul M=3 N=3 K=3 | x86 isa=none'").has("the interpreter serves\n"));
}

TEST_CASE("cli: records go out as text and come back") {
  const Hone hone, other;
  const std::string text =
      "hone-records 1\n\nproblem: matmul M=8 K=8 N=8\n"
      "target: x86 isa=avx2 cpu=any threads=1 l1d=32K l2=1M l3=16M\n" +
      kGeneration +
      "schedule: unroll C/k\nverdict: ok\nmedian_us: 1.5\nsamples_us: 1.5 1.6\nnumerics: C:seq\n"
      "seed: 1\n";
  const std::string path = hone.write("records.txt", text);
  CHECK(hone("cache import " + path).has("1 records read"));
  CHECK(hone("cache ls").has("matmul M=8 K=8 N=8"));
  CHECK(hone("cache export").out == text);
  CHECK(hone("cache verify").code == 0);
  CHECK(hone("cache stat --json").has("\"records\":1"));
  const Ran json = hone("cache export --json");
  CHECK(json.out.starts_with("{\"problem\":\"matmul M=8 K=8 N=8\",\"target\":\"x86 isa=avx2 "));
  CHECK(json.out == hone("cache --json ls").out);
  CHECK(json.out == hone("cache export --json " + hone.file("records.json") + " && cat " +
                         hone.file("records.json"))
                        .out);
  CHECK(hone("cache verify --json").out == "{\"records\":1,\"flaws\":0}\n");
  CHECK(hone("cache import --json " + path).out == "{\"records\":1}\n");
  CHECK(hone("cache prune --json --other-codegen").out == "{\"removed\":0}\n");
  CHECK(other("cache merge " + hone.file("cache.db")).code == 0);
  CHECK(other("cache export").out == text);
  for (const std::string& taking : {"import " + path, "merge " + hone.file("cache.db")}) {
    const Ran nowhere = other("cache " + taking + " --cache /proc/none/x.db");
    CHECK(nowhere.code == 2);
    CHECK(nowhere.has("the records are not kept: cache /proc/none/x.db: "));
  }
  CHECK(other("cache import " + path).code == 0);
  CHECK(other("cache export").out == text);
  // A record of a context near this machine's is adapted.
  CHECK(hone("run --no-time 'matmul M=8 N=8 K=8 | x86 isa=avx2 threads=1'").has("transferred"));
  const std::string bad = hone.write("bad.txt", "hone-records 1\nproblem: x\nspeed: 3\n");
  const Ran refused = hone("cache import " + bad);
  CHECK(refused.code == 2);
  CHECK(refused.has("bad.txt:3:"));
  CHECK(hone("cache prune --other-codegen").has("0 records removed"));
  CHECK(hone("cache stat").has("1 records"));
}

TEST_CASE("cli: verify names a record that makes no sense") {
  const Hone hone;
  hone::runtime::Record record;
  record.key = {"matmul M=8 K=8 N=8", "x86 isa=avx2", hone::jit::kCodeGeneration};
  record.schedule = "split C/q 3 -> a b";
  record.median_us = 1;
  hone::runtime::CacheOptions options;
  options.path = hone.file("cache.db");
  hone::runtime::Cache(options).put(record);
  const Ran ran = hone("cache verify");
  CHECK(ran.code == 1);
  CHECK(ran.has("1 flaws"));
}

TEST_CASE("cli: a corrupt cache is set aside and work goes on") {
  const Hone hone;
  hone.write("cache.db", std::string(5000, 'x'));
  const Ran ran = hone("run --no-time 'matmul M=3 N=3 K=3'");
  CHECK(ran.code == 0);
  CHECK(ran.has("corrupt-1"));
  CHECK(fs::exists(hone.file("cache.db.corrupt-1")));
}

TEST_CASE("cli: show --halide prints a program, whether or not there is Halide") {
  const Hone hone;
  const Ran given = hone(
      "show --halide 'matmul M=16 N=16 K=8 | halide threads=1 | split C/m 4 -> a b; unroll b'");
  CHECK(given.code == 0);
  CHECK(given.has("f_C.unroll(v_b);"));
  CHECK(given.has("int main("));
  CHECK(hone("show --halide 'add N=1..100'").has("Halide::Param<int32_t> dim_N"));
  CHECK(hone("show --json --halide 'relu N=8'").has("{\"halide\":\"// relu N=8"));
  CHECK(hone("show --halide 'relu N=8 | halide autoschedule=adams2019'").code == 2);
}

TEST_CASE("cli: show --why tells what the rules made of a problem") {
  const Hone hone;
  const Ran ran = hone("show --why 'softmax M=64 N=512 | x86 isa=avx2 threads=1'");
  CHECK(ran.code == 0);
  CHECK(ran.has("yes split Y/i"));
  CHECK(ran.has("no  the stage reduces"));
  CHECK(hone("show --why fc_relu M=64 N=90 K=40").has("decided: fuse"));
  CHECK(hone("show --why 'relu N=70 | x86 isa=none'").has("no rule is for this target"));
}

TEST_CASE("cli: tune takes targets with its problems, and no schedule") {
  const Hone hone;
  if (hone("target").out.find("isa=none") != std::string::npos) return;
  const Ran tuned = hone("tune --json --trials 1 'relu N=70 | x86 isa=avx2 threads=1' relu N=90");
  CHECK(tuned.code == 0);
  CHECK(tuned.has("\"target\":\"x86 isa=avx2 "));
  CHECK(tuned.has("relu N=90"));
  const Ran hit = hone("run --no-time --json 'relu N=70 | x86 isa=avx2 threads=1'");
  CHECK(hit.has("\"source\":\"tuned\""));
  const Ran given = hone("tune 'relu N=70 | x86 isa=avx2 | vectorize Y/i'");
  CHECK(given.code == 2);
  CHECK(given.has("PROBLEM [ | TARGET ]"));
}

TEST_CASE("cli: a second run takes what tune found") {
  const Hone hone;
  if (hone("target").out.find("isa=none") != std::string::npos) return;
  const Ran tuned = hone("tune --json --trials 6 'row_sum M=8 N=100'");
  CHECK(tuned.code == 0);
  CHECK(hone("run --no-time 'row_sum M=8 N=100'").has("(tuned)"));
  CHECK(hone("cache verify").code == 0);
}

TEST_CASE("cli: the library and the machine") {
  const Hone hone;
  CHECK(hone("ops").has("op softmax"));
  CHECK(hone("ops softmax").has("case small softmax"));
  CHECK(hone("ops --json softmax").has("\"cases\":["));
  CHECK(hone("ops nothing").code == 2);
  CHECK(hone("target").has("x86 isa="));
  CHECK(hone("target --json --threads 3").has("threads=3"));
}

TEST_CASE("cli: fuzz ends in time and counts") {
  const Hone hone;
  if (hone("target").out.find("isa=none") != std::string::npos) return;
  const Ran ran = hone("fuzz --json --seed 1 --time 1s 'row_sum M=8 N=100'");
  CAPTURE(ran.out);
  CHECK(ran.code == 0);
  CHECK(ran.has("\"failures\":0"));
  CHECK(hone("fuzz --time soon").code == 2);
}

TEST_CASE("cli: fuzz --speed says how near to the limit random problems come") {
  const Hone hone;
  if (hone("target").out.find("isa=none") != std::string::npos) return;
  const Ran ran = hone("fuzz --speed --json --seed 5 --time 1500ms --budget 200ms --threads 1");
  CAPTURE(ran.out);
  CHECK(ran.code == 0);
  CHECK(ran.has("\"failures\":0"));
  CHECK(ran.has("\"untuned\":"));
  CHECK(hone("fuzz --speed --budget soon").code == 2);
  CHECK(hone("fuzz --speed dot K=7").code == 2);
}
