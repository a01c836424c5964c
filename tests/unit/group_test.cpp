// SPDX-License-Identifier: Apache-2.0
// Stages that read one another: where they are computed, and which schedules keep their order.
#include "jit/ir/group.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "jit/interp/reference.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "schedules/space/space.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

ir::Program program_of(const std::string& text) {
  auto p = ops::parse_problem(text);
  REQUIRE_MESSAGE(p, p.failure().message);
  return p->program;
}

ir::Program network(const std::string& earlier) {
  return program_of(
      "op f(X: f32[L,B,N], U: f32[N,N], s: f32[B,N]) -> (h: f32[L,B,N]) { "
      "h[t,b,j] = tanh(X[t,b,j] + sum[k](U[j,k]*(h[" +
      earlier + ",b,k] else s[b,k]))) } L=6 B=5 N=9");
}

/// An LSTM without inputs of its own: gates, cell and state read one another.
ir::Program cells() {
  return program_of(
      "op f(X: f32[L,B,4,N], U: f32[4,N,N]) -> (h: f32[L,B,N]) { "
      "g[t,b,q,j] = X[t,b,q,j] + sum[k](U[q,j,k]*(h[t-1,b,k] else 0)); "
      "c: f32[t,b,j] = sigmoid(g[t,b,1,j])*(c[t-1,b,j] else 0) + "
      "sigmoid(g[t,b,0,j])*tanh(g[t,b,2,j]); "
      "h[t,b,j] = sigmoid(g[t,b,3,j])*tanh(c[t,b,j]) } L=6 B=5 N=9");
}

std::string why_not(const ir::Program& p, const std::string& schedule) {
  auto s = schedules::Schedule::parse(schedule);
  REQUIRE_MESSAGE(s, s.failure().message);
  const auto applied = schedules::apply(p, *s);
  if (!applied) return applied.failure().reason;
  const auto nest = jit::lower(*applied, ir::Target{});
  return nest ? "" : "lowering: " + nest.failure().reason;
}

/// Places of all stages but the last, whose loops follow.
std::string places(const ir::Program& p) {
  std::string out;
  for (const ir::Stage& s : p.stages) {
    if (!s.at.root()) out += s.name + "@" + s.at.stage + "/" + s.at.loop + " ";
  }
  const ir::Stage& last = p.stages[p.stages.size() - 1];
  for (const ir::Loop& l : last.loops) out += l.name + (last.var(l.name)->backward ? "<" : "");
  return out;
}

}  // namespace

TEST_CASE("group: stages are computed in the loops of the last of them") {
  CHECK(places(network("t-1")) == "h.1.1@h/t h.1@h/t tbj");
  CHECK(places(network("t+2")) == "h.1.1@h/t h.1@h/t t<bj");
  CHECK(places(cells()) == "g.1.1@h/t g.1@h/t g@h/t c@h/t tbj");
  // What reads a group comes after it, though its statement stands between.
  const ir::Program between = program_of(
      "op f(X: f32[L,B]) -> (h: f32[L,B], s: f32[L]) { a[t,b] = X[t,b] + 0.5*(h[t-1,b] else 0); "
      "s[t] = sum[b](a[t,b]); h[t,b] = 2*a[t,b] } L=6 B=5");
  CHECK(between.stages[2].name == "s");
  CHECK(between.stages[0].at == ir::Place{"h", "t"});
  // Of two indices in order, what depends on one of them stands in its loop.
  const ir::Program rows = program_of(
      "op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] + 0.5*(Y[i,j-1] else 0) + "
      "max[k in 0..N](Y[i-1,k] else 0) } M=6 N=5");
  CHECK(rows.stages[rows.stages.index_of(*rows.stage("Y.1"))].at == ir::Place{"Y", "i"});
  // Both along both.
  const ir::Program gaps = program_of(
      "op f(X: f32[M,N]) -> (H: f32[M,N]) { E: f32[i,j] = max(E[i,j-1] else 0, H[i,j-1] else 0); "
      "F: f32[i,j] = max(F[i-1,j] else 0, H[i-1,j] else 0); H[i,j] = X[i,j] + E[i,j] - F[i,j] } "
      "M=6 N=5");
  CHECK(places(gaps) == "E@H/j F@H/j ij");
}

TEST_CASE("group: chains, shared indices, what is carried") {
  const ir::Program p = cells();
  const ir::Groups groups(p);
  REQUIRE(groups.all().size() == 1);
  const auto order = groups.order(groups.all()[0]);
  REQUIRE(order);
  CHECK(order->shared.size() == 1);
  CHECK(order->shared[0].var == "t");
  CHECK(order->chains == std::vector<std::string>{"b"});
  const auto number = [&](const char* name) { return p.stages.index_of(*p.stage(name)); };
  CHECK(groups.is_carried(number("c")));
  CHECK(groups.is_carried(number("h")));
  CHECK_FALSE(groups.is_carried(number("g")));
  CHECK_FALSE(groups.is_carried(number("g.1.1")));
}

TEST_CASE("group: schedules that keep the order") {
  const ir::Program p = cells();
  for (const std::string legal : {
           "",
           "compute g.1.1 g.1 g at h/t",
           "inline g; compute g.1.1 g.1 at h/t",
           "reorder h/b h/t h/j; parallel h/b",
           "split h/b 2 -> b.o b.i; reorder h/b.o h/t h/b.i h/j; parallel h/b.o",
           "partition h/t",
           "vectorize h/j c/j g/j g.1/k",
           "split g.1/k 4 -> k.o k.i; rfactor g.1 k.i -> part",
           "stage U at root -> P layout=[d0][d2][d1]",
           "stage g.1 at g.1/j -> tile in=registers",
       }) {
    CAPTURE(legal);
    CHECK(why_not(p, legal) == "");
  }
  const auto refused = [&](const std::string& schedule, const std::string& part) {
    const std::string why = why_not(p, schedule);
    CAPTURE(schedule);
    CHECK_MESSAGE(why.find(part) != std::string::npos, why);
  };
  refused("parallel h/t", "run at one time");
  refused("compute c at h/t", "not kept from one iteration to the next");
  refused("compute g.1 at h/j", "stage g reads g.1 before h computes it");
  refused("reorder h/j h/t h/b", "stands in a loop over j, which would compute the same again");
  refused("split h/t 4 -> t.o t.i", "is placed at loop t");
  refused("precompute c 1 -> part", "reads c, which c writes");
  // Threads of a step would have to wait for one another, wherever what it leaves is kept.
  for (const char* loop : {"h/j", "g.1/j"}) {
    refused(std::string("bind ") + loop + " thread.x", "a loop over a GPU's threads");
    refused(std::string("bind ") + loop + " thread.x; compute g.1.1 g.1 g at h/t", "threads");
  }
  const auto chains = schedules::Schedule::parse(
      "reorder h/b h/t h/j; split h/b 2 -> b.b b.t; bind h/b.b block.x; bind h/b.t thread.x");
  REQUIRE(chains);
  CHECK(schedules::apply(p, *chains));
}

TEST_CASE("group: a long one is legal, and known to be soon") {
  constexpr int kStatements = 40;  // ways from the first to the last double with each
  std::string text =
      "op f(X: f32[L,B]) -> (h: f32[L,B]) { s0: f32[t,b] = X[t,b] + (h[t-1,b] else 0); ";
  for (int i = 1; i < kStatements; ++i) {
    const std::string name = "s" + std::to_string(i), last = "s" + std::to_string(i - 1);
    text += name + ": f32[t,b] = " + last + "[t,b] - 0.5*(" + name + "[t-1,b] else 1); ";
  }
  text += "h[t,b] = s" + std::to_string(kStatements - 1) + "[t,b] } L=4 B=5";
  CHECK(why_not(program_of(text), "") == "");
}

TEST_CASE("group: lowering refuses what no step was asked about") {
  ir::Program threads = network("t-1");
  threads.stages.edit(1).loops.back().mark = ir::Mark::kThreadX;
  const auto torn = jit::lower(threads, ir::Target{});
  REQUIRE_FALSE(torn);
  CHECK(torn.failure().reason.find("is for threads, inside a loop of h") != std::string::npos);
  ir::Program p = network("t-1");
  REQUIRE(jit::lower(p, ir::Target{}));
  p.stages.edit(p.stages.size() - 1).vars[0].backward = true;
  const auto nest = jit::lower(p, ir::Target{});
  REQUIRE_FALSE(nest);
  CHECK(nest.failure().reason.find("later iteration") != std::string::npos);
  ir::Program apart = network("t-1");
  apart.stages.edit(0).at = {};
  const auto none = jit::lower(apart, ir::Target{});
  REQUIRE_FALSE(none);
  CHECK(none.failure().reason.find("inside a loop of h") != std::string::npos);
}

TEST_CASE("group: defaults keep what one step needs in scratch, and cut chains among threads") {
  const ir::Target target = tests::target_named("x86 isa=avx2 threads=2");
  const ir::Program p = program_of(
      "op f(X: f32[L,B,N], U: f32[N,N]) -> (h: f32[L,B,N]) { h[t,b,j] = tanh(X[t,b,j] + "
      "sum[k](U[j,k]*(h[t-1,b,k] else 0))) } L=32 B=16 N=256");
  const auto applied = schedules::apply(p, schedules::default_schedule(p, target));
  REQUIRE(applied);
  const ir::Stage& h = *applied->stage("h");
  CHECK(h.loops[0].name == "b.o");
  CHECK(h.loops[0].mark == ir::Mark::kParallel);
  CHECK(h.loops[1].name == "t");
  CHECK(h.loops.back().mark == ir::Mark::kVector);
  CHECK(applied->buffer("h.1")->space == ir::Space::kScratch);
  CHECK(applied->stage("h.1")->at == ir::Place{"h", "t"});
}

namespace {

std::vector<float> waves(size_t n, double by) {
  std::vector<float> out;
  for (size_t i = 0; i < n; ++i) {
    out.push_back(static_cast<float>(0.5 * std::sin(by * static_cast<double>(i) + 0.3)));
  }
  return out;
}

constexpr int64_t kL = 6, kB = 5, kN = 9;

jit::ReferenceOutcome states(const ir::Program& p, std::vector<float>& h,
                             const std::vector<std::vector<int64_t>>& elements) {
  static std::vector<float> x = waves(kL * kB * kN, 0.7), u = waves(kN * kN, 1.1),
                            s = waves(kB * kN, 0.4);
  jit::ReferenceOptions options;
  options.bounds = true;
  options.elements = elements;
  const std::vector<jit::TensorView> views = {
      {x.data(), DType::kF32, {kL, kB, kN}, {kB * kN, kN, 1}},
      {u.data(), DType::kF32, {kN, kN}, {kN, 1}},
      {s.data(), DType::kF32, {kB, kN}, {kN, 1}},
      {h.data(), DType::kF32, {kL, kB, kN}, {kB * kN, kN, 1}}};
  auto out = jit::evaluate(p, views, {}, {}, options);
  REQUIRE_MESSAGE(out, out.failure().message);
  return *std::move(out);
}

/// The same by plain loops.
std::vector<double> states_by_hand(bool backward) {
  const std::vector<float> x = waves(kL * kB * kN, 0.7), u = waves(kN * kN, 1.1),
                           s = waves(kB * kN, 0.4);
  std::vector<double> h(kL * kB * kN);
  for (int64_t step = 0; step < kL; ++step) {
    const int64_t t = backward ? kL - 1 - step : step, before = backward ? t + 1 : t - 1;
    for (int64_t b = 0; b < kB; ++b) {
      for (int64_t j = 0; j < kN; ++j) {
        double sum = x[(t * kB + b) * kN + j];
        for (int64_t k = 0; k < kN; ++k) {
          const double state = step == 0 ? s[b * kN + k] : h[(before * kB + b) * kN + k];
          sum += u[j * kN + k] * state;
        }
        h[(t * kB + b) * kN + j] = std::tanh(sum);
      }
    }
  }
  return h;
}

}  // namespace

TEST_CASE("group: the reference runs steps in order, of all chains or of those asked for") {
  for (const bool backward : {false, true}) {
    const ir::Program p = network(backward ? "t+1" : "t-1");
    std::vector<float> h(kL * kB * kN);
    const jit::ReferenceOutcome all = states(p, h, {});
    const std::vector<double> hand = states_by_hand(backward);
    for (size_t i = 0; i < hand.size(); ++i) {
      CHECK(all.outputs[0].f[i] == doctest::Approx(hand[i]).epsilon(1e-5));
      CHECK(all.outputs[0].bound[i] < 1e-3);
    }
    const jit::ReferenceOutcome some = states(p, h, {{7, 200, 0, 269}});
    REQUIRE(some.outputs[0].elements.size() == 4);
    for (size_t k = 0; k < some.outputs[0].elements.size(); ++k) {
      const auto at = static_cast<size_t>(some.outputs[0].elements[k]);
      CHECK(some.outputs[0].f[k] == all.outputs[0].f[at]);
      CHECK(some.outputs[0].bound[k] == all.outputs[0].bound[at]);
    }
  }
}
