// SPDX-License-Identifier: Apache-2.0
// Gradients against central differences, in f64 and by the interpreter.
#include "ops/gradient/gradient.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "jit/interp/reference.h"
#include "jit/ir/functions/function.h"
#include "ops/definition.h"
#include "ops/random.h"
#include "tests/support/effort.h"

using namespace hone;

namespace {

/// Values of tensors and scalars, by name.
using Values = std::map<std::string, std::vector<double>>;

/// The memory of a tensor of any of the types that ops have here.
struct Memory {
  std::vector<double> f;
  std::vector<int64_t> i;
  std::vector<int32_t> i32;
  std::vector<uint8_t> bytes;
};

void* place(Memory& m, DType type, const std::vector<double>& v) {
  switch (type) {
    case DType::kF64:
      m.f = v;
      return m.f.data();
    case DType::kI64:
      m.i.assign(v.begin(), v.end());
      return m.i.data();
    case DType::kI32:
      m.i32.assign(v.begin(), v.end());
      return m.i32.data();
    case DType::kBool:
    case DType::kU8:
    case DType::kI8:
      for (const double x : v) m.bytes.push_back(static_cast<uint8_t>(x));
      return m.bytes.data();
    default:
      return nullptr;
  }
}

std::vector<const ir::Buffer*> parameters(const ir::Program& p) {
  std::vector<const ir::Buffer*> out;
  for (const ir::Buffer& b : p.buffers) {
    if (b.role != ir::Role::kTemp) out.push_back(&b);
  }
  return out;
}

/// The results at a point; nothing where they are no finite numbers, or data is out of range.
std::optional<Values> results(const ops::Problem& problem, const Values& at) {
  const ir::Program& p = problem.definition;
  std::vector<jit::TensorView> views = jit::parameter_views(p, {});
  const std::vector<const ir::Buffer*> buffers = parameters(p);
  std::vector<Memory> memory(views.size());
  for (size_t i = 0; i < views.size(); ++i) {
    const auto given = at.find(buffers[i]->name);
    const std::vector<double> nothing(static_cast<size_t>(views[i].elements()));
    views[i].data = place(memory[i], views[i].type, given == at.end() ? nothing : given->second);
    if (!views[i].data && views[i].elements() > 0) return {};
  }
  std::vector<double> scalars;
  for (const auto& s : p.scalars) scalars.push_back(at.at(s.name)[0]);
  jit::ReferenceOptions options;
  options.bounds = false;
  const auto out = jit::evaluate(p, views, scalars, {}, options);
  if (!out || out->bad) return {};
  Values found;
  for (const jit::ReferenceTensor& t : out->outputs) {
    if (!is_float(t.type)) continue;
    for (const double x : t.f) {
      if (!std::isfinite(x)) return {};
    }
    found[t.name] = t.f;
  }
  return found;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// An op in f64, whatever it was in, with fixed dims.
struct Subject {
  std::string text;      ///< of the op
  std::string bindings;  ///< ` M=3 N=4`
};

std::string in_f64(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(\b(f32|f16|bf16|f8e4m3|f8e5m2)\b)"), "f64");
}

/// `NAME=number` words, with the lower half of a range.
std::map<std::string, std::string> numbers(const std::string& bindings) {
  std::map<std::string, std::string> out;
  const std::regex word(R"((\w+)=(-?\d+)(?:\.\.(\d+))?(?=\s|$))");
  for (std::sregex_iterator at(bindings.begin(), bindings.end(), word), end; at != end; ++at) {
    const std::smatch& m = *at;
    const bool range = m[3].matched;
    out[m[1]] = range ? std::to_string((std::stoll(m[2]) + std::stoll(m[3])) / 2) : m[2].str();
  }
  return out;
}

/// The words for the dims and parameters that an op has.
std::string words_for(const ops::Op& op, const std::map<std::string, std::string>& numbers) {
  std::string out;
  const auto add = [&](const std::string& name) {
    const auto at = numbers.find(name);
    if (at != numbers.end()) out += " " + name + "=" + at->second;
  };
  for (const std::string& dim : op.definition->dims) add(dim);
  for (const ops::Param& p : op.definition->params) add(p.name);
  return out;
}

/// Random data: floats in a range, integers that ascend, as offsets do.
Values data_for(const ops::Problem& problem, double lo, double hi, std::mt19937_64& rng) {
  Values out;
  std::uniform_real_distribution<double> real(lo, hi);
  std::uniform_int_distribution<int> whole(0, 4);
  const auto fill = [&](const std::string& name, DType type, size_t n) {
    std::vector<double>& v = out[name];
    for (size_t i = 0; i < n; ++i) {
      v.push_back(is_float(type) ? real(rng) : type == DType::kBool ? whole(rng) % 2 : whole(rng));
    }
    if (!is_float(type)) std::sort(v.begin(), v.end());
  };
  const std::vector<jit::TensorView> views = jit::parameter_views(problem.definition, {});
  const std::vector<const ir::Buffer*> buffers = parameters(problem.definition);
  for (size_t i = 0; i < views.size(); ++i) {
    if (buffers[i]->role == ir::Role::kOutput) continue;
    fill(buffers[i]->name, views[i].type, static_cast<size_t>(views[i].elements()));
  }
  for (const auto& s : problem.definition.scalars) fill(s.name, s.type, 1);
  return out;
}

enum class Verdict { kAgrees, kDiffers, kNothing };

/// Compares `made`, the gradient by `name`, with differences of the results along a direction.
Verdict compare(const ops::Problem& problem, const Values& at, const Values& weights,
                const std::string& name, const std::vector<double>& made, std::mt19937_64& rng,
                std::string* why) {
  std::normal_distribution<double> normal;
  std::vector<double> direction;
  for (size_t i = 0; i < made.size(); ++i) direction.push_back(normal(rng));
  double slopes[2], size = 1;
  for (int k = 0; k < 2; ++k) {
    const double h = k == 0 ? 1e-5 : 2.5e-6;
    double ends[2];
    for (int side = 0; side < 2; ++side) {
      Values moved = at;
      for (size_t i = 0; i < made.size(); ++i) {
        moved[name][i] += (side == 0 ? -h : h) * direction[i];
      }
      const auto there = results(problem, moved);
      if (!there) return Verdict::kNothing;
      ends[side] = 0;
      for (const auto& [out, w] : weights) {
        ends[side] += dot(w, there->at(out));
        for (const double x : there->at(out)) size = std::max(size, std::fabs(x));
      }
    }
    slopes[k] = (ends[1] - ends[0]) / (2 * h);
  }
  const double slope = dot(made, direction);
  double terms = 0;
  for (size_t i = 0; i < made.size(); ++i) terms += std::fabs(made[i] * direction[i]);
  const double allowed = 1e-6 * (std::fabs(slopes[1]) + terms + size);
  // Across a kink the two steps say different things.
  if (std::fabs(slopes[0] - slopes[1]) > allowed) return Verdict::kNothing;
  if (std::fabs(slope - slopes[1]) <= allowed) return Verdict::kAgrees;
  *why = fmt::format("d{}: {} by the gradient, {} by differences", name, slope, slopes[1]);
  return Verdict::kDiffers;
}

/// Arguments of floats.
std::vector<std::string> float_arguments(const ops::Op& op) {
  std::vector<std::string> out;
  for (const ops::Argument& a : op.definition->args) {
    const bool real = a.type == "f64" || (op.definition->param(a.type) &&
                                          is_float(op.definition->param(a.type)->type));
    if (a.role != ir::Role::kOutput && real) out.push_back(a.name);
  }
  return out;
}

struct Outcome {
  int compared = 0;     ///< gradients by single arguments
  int scatters = 0;     ///< those of them that have a scatter
  std::string error;    ///< of the gradient, if it has one
  std::string differs;  ///< what is wrong
};

bool has_scatter(const ops::Op& op) {
  const std::vector<ops::Statement>& all = op.definition->statements;
  return std::any_of(all.begin(), all.end(), [](const ops::Statement& s) { return s.scatters(); });
}

Outcome check(const ops::Op& op, const std::map<std::string, std::string>& dims, uint64_t seed) {
  Outcome out;
  std::mt19937_64 rng(seed);
  const auto problem = ops::make_problem(op, words_for(op, dims));
  if (!problem) return {0, 0, problem.failure().message, ""};
  if (jit::scalar_operations(problem->definition, {}) > 3e5) return {0, 0, "too large", ""};
  for (const std::string& name : float_arguments(op)) {
    const auto made = ops::gradient(op, {{name}, {}});
    if (!made) {
      out.error = made.failure().message;
      continue;
    }
    const auto adjoint = ops::make_problem(*made, words_for(*made, dims));
    if (!adjoint) {
      out.error = "cannot check: " + adjoint.failure().message;
      continue;
    }
    if (jit::scalar_operations(adjoint->definition, {}) > 2e6) continue;
    // Somewhere in these ranges every function of the language has a value and a slope.
    for (const auto& [lo, hi] : {std::pair{-1.0, 1.0}, {0.2, 0.9}, {1.2, 1.9}}) {
      Values at = data_for(*problem, lo, hi, rng);
      const auto there = results(*problem, at);
      if (!there) continue;
      Values weights, given = at;
      std::normal_distribution<double> normal;
      for (const auto& [result, values] : *there) {
        for (size_t i = 0; i < values.size(); ++i) weights[result].push_back(normal(rng));
        if (!values.empty()) given["d" + result] = weights[result];
      }
      const auto gradients = results(*adjoint, given);
      if (!gradients || gradients->size() != 1) continue;
      const Verdict v =
          compare(*problem, at, weights, name, gradients->begin()->second, rng, &out.differs);
      if (v == Verdict::kDiffers) {
        out.differs += "\n" + made->text() + "\n" + problem->text;
        return out;
      }
      if (v == Verdict::kAgrees) {
        ++out.compared;
        out.scatters += has_scatter(*made);
        break;
      }
    }
  }
  return out;
}

ops::Op parsed(const std::string& text) {
  auto op = ops::Op::parse(text);
  if (!op) FAIL(op.failure().message);
  return *op;
}

}  // namespace

TEST_CASE("gradients: those of the library are what differences say") {
  const ops::Library& library = ops::stock_library();
  std::set<std::string> compared, without;
  std::map<std::string, int> cases;
  const int most = static_cast<int>(tests::by_effort(1, 2, 4));
  for (const ops::Case& c : library.cases) {
    const std::string name = c.problem.substr(0, c.problem.find(' '));
    const bool sampled =
        tests::effort() != tests::Effort::kSmoke || std::hash<std::string>()(name) % 4 == 0;
    if (!c.small || !sampled || cases[name] >= most) continue;
    const ops::Op op = parsed(in_f64(library.find(name)->text()));
    const Outcome out = check(op, numbers(c.problem), 1 + cases[name]);
    INFO(c.problem, ": ", out.error);
    CHECK(out.differs == "");
    // An op may have no gradient, but one that the language refuses is a defect.
    CHECK(out.error.find("as it came out") == std::string::npos);
    if (out.compared > 0) {
      ++cases[name];
      compared.insert(name);
    }
    if (out.error != "too large" && !out.error.empty()) without.insert(name);
  }
  CHECK((tests::effort() == tests::Effort::kSmoke || without.count("row_argmax") == 1));
  CHECK(compared.size() >= static_cast<size_t>(tests::by_effort(25, 135, 135)));
}

TEST_CASE("gradients: those of the library's gradients are what differences say") {
  const ops::Library& library = ops::stock_library();
  std::set<std::string> compared, seen;
  for (const ops::Case& c : library.cases) {
    const std::string name = c.problem.substr(0, c.problem.find(' '));
    const bool sampled =
        tests::effort() != tests::Effort::kSmoke || std::hash<std::string>()(name) % 8 == 0;
    if (!c.small || !sampled || !seen.insert(name).second) continue;
    const ops::Op op = parsed(in_f64(library.find(name)->text()));
    const auto first = ops::gradient(op, {float_arguments(op), {}});
    if (!first) continue;
    const Outcome out = check(*first, numbers(c.problem), 1);
    INFO(c.problem, ": ", out.error);
    CHECK(out.differs == "");
    CHECK(out.error.find("as it came out") == std::string::npos);
    CHECK_FALSE(out.error.starts_with("cannot check"));
    if (out.compared > 0) compared.insert(name);
  }
  CHECK(compared.size() >= static_cast<size_t>(tests::by_effort(6, 60, 60)));
}

TEST_CASE("gradients: values under conditions are read where those hold") {
  const std::string same = "(A[i+k]*B[k] + 1)";
  const std::vector<std::string> values = {
      // Of one value under a condition, its contrary, another one, and none.
      "select(k < 2, " + same + "*tanh(S[i])*A[i+k], " + same + "*C[k])",
      "select(k < 2, " + same + "*tanh(S[i])*A[i+k], 0) + " + same + "*C[k]*exp(S[i])",
      "select(k < 2, tanh(A[i+k])*B[k], tanh(A[i+k])*C[k])",
      "select(k < 2, tanh(A[i+k])*B[k], 0) + select(k < 3, tanh(A[i+k])*C[k], 0)",
      "tanh(A[i+k])*B[k] + select(1 <= k, tanh(A[i+k])*C[k], 0)",
      // Reads that leave the tensor elsewhere.
      "select(i + k < M, tanh(D[i+k]), 0)*B[k]",
      "select(i + k < M, exp(D[i+k])*D[i+k]*S[i], 0) + C[k]",
      "select(i + k < M, tanh(D[i+k]*S[i])*S[i], S[i]*B[k])",
      "select(i + k < M, select(k < 2, D[i+k]/S[i]*D[i+k], sin(D[i+k])*S[i]), 0)",
      "(select(i + k < M, D[i+k]*B[k], C[k]) + 1)*exp(S[i])*S[i]",
  };
  for (const std::string& value : values) {
    std::string takes;
    for (const char* argument :
         {"A: f64[N+4]", "B: f64[4]", "C: f64[4]", "D: f64[M]", "S: f64[N]"}) {
      if (value.find(std::string(1, argument[0]) + "[") == std::string::npos) continue;
      takes += (takes.empty() ? "" : ", ") + std::string(argument);
    }
    const std::string text =
        fmt::format("op f({}) -> (Y: f64[N]) {{ Y[i] = sum[k in 0..4]({}) + S[i] }}",
                    takes + (takes.find("S:") == std::string::npos ? ", S: f64[N]" : ""), value);
    INFO(text);
    const ops::Op op = parsed(text);
    std::map<std::string, std::string> dims = {{"N", "7"}};
    if (takes.find("[M]") != std::string::npos) dims["M"] = "8";
    const auto made = ops::gradient(op, {float_arguments(op), {}});
    REQUIRE(made);
    for (const ops::Op& each : {op, *made}) {
      const Outcome out = check(each, dims, 1);
      INFO(each.text());
      CHECK(out.differs == "");
      CHECK(out.error == "");
      CHECK(out.compared == static_cast<int>(float_arguments(each).size()));
    }
  }
}

TEST_CASE("gradients: each function has a derivative, or says that it has none") {
  for (const ir::Function& f : ir::functions()) {
    INFO(f.name);
    REQUIRE(f.by_first != nullptr);
    REQUIRE((f.by_second != nullptr) == (f.arity == 2));
    const std::string call = f.arity == 1 ? "(X[i])" : "(X[i], Z[i])";
    const std::string takes = f.arity == 1 ? "X: f64[N]" : "X: f64[N], Z: f64[N]";
    const ops::Op op =
        parsed(fmt::format("op f({}) -> (Y: f64[N]) {{ Y[i] = {}{} }}", takes, f.name, call));
    const Outcome out = check(op, {{"N", "9"}}, 1);
    CHECK(out.differs == "");
    CHECK((out.compared == f.arity) == (*f.by_first != 0));
    CHECK(out.error.empty() == (*f.by_first != 0));
  }
}

TEST_CASE("gradients: those of gathers and scatters are what differences say") {
  const char* texts[] = {
      // Reads at places from data: several, beside others, with an `else`, through intermediates.
      "(E: f64[R,D], ids: i64[N]) -> (Y: f64[N,D]) { Y[n in 0..N,d] = E[ids[n],d] * E[n,d] }",
      "(E: f64[R], ids: i64[N], at: i64[N]) -> (Y: f64[N]) { Y[n] = E[ids[n]] * E[at[n]+2] else 3 "
      "}",
      "(E: f64[R], c: f64[N], ids: i64[N]) -> (Y: f64[N]) { Y[n] = exp(E[ids[n]-2] else c[n]) }",
      "(X: f64[R], ids: i64[N]) -> (Y: f64[N]) { t[r] = exp(X[r]); Y[n] = t[ids[n]] * t[ids[n]] }",
      "(E: f64[R,D], ids: i64[N]) -> (Y: f64[N]) { Y[n in 0..N] = E[ids[n],1] * E[ids[n],2] + "
      "E[ids[0],n] }",
      "(E: f64[R,D], W: f64[D,K], ids: i64[N]) -> (Y: f64[N,K]) "
      "{ Y[n,k] = sum[d](E[ids[n],d] * W[d,k]) }",
      "(E: f64[R,R], ids: i64[N], at: i64[N]) -> (Y: f64[N]) { Y[n] = sin(E[ids[n],at[n]]) }",
      "(E: f64[R,D], ids: i64[N]) -> (Y: f64[N,D]) { Y[n,d] = E[ids[n],d/2] * E[ids[n],d] }",
      "(E: f64[R], ids: i64[N,M]) -> (Y: f64[N,M]) { Y[n in 0..N,m] = E[ids[n,m]] * E[n] where m < "
      "n else 0 }",
      "(E: f64[R], ids: i64[N]) -> (Y: f64[N]) { Y[n] = E[ids[n]] + (Y[n-1] else E[0]) * 0.5 }",
      // Ranges from data, with reads by the index itself and at places.
      "(X: f64[L], w: f64[B], offs: i64[B+1]) -> (Y: f64[B]) "
      "{ Y[b] = sum[j in offs[b]..offs[b+1]](X[j] * X[j] * w[b]) }",
      "(E: f64[R,D], ids: i64[L], w: f64[L], offs: i64[B+1]) -> (Y: f64[B,D]) "
      "{ Y[b,d] = sum[j in offs[b]..offs[b+1]](w[j] * E[ids[j],d]) }",
      "(E: f64[R], ids: i64[L], offs: i64[B+1]) -> (Y: f64[B]) "
      "{ Y[b] = max[j in offs[b]..offs[b+1]](E[ids[j]]) * 2 where b > 0 else 0 }",
      "(X: f64[B,L], len: i64[B]) -> (Y: f64[B]) { Y[b] = sum[j in 0..len[b]](X[b,j] * X[b,j]) }",
      "(X: f64[L], offs: i64[B+1]) -> (Y: f64[B]) "
      "{ m[b in 0..B] = sum[j in offs[b]..offs[b+1]](X[j]); Y[b] = sum[j in "
      "offs[b]..offs[b+1]](exp(X[j] - m[b])) }",
      // Scatters: each way to combine, with `else skip`, conditions, and what was there before.
      "(V: f64[N], ids: i64[N]) -> (Y: f64[R]) { Y[ids[n]] += V[n] * V[n] }",
      "(V: f64[N], ids: i64[N]) -> (Y: f64[R]) { Y[ids[n]+3] else skip += V[n] * V[n] }",
      "(V: f64[N], ids: i64[N]) -> (Y: f64[R]) { Y[ids[n]] = V[n] * V[n] where n < N-1 }",
      "(V: f64[N], ids: i64[N]) -> (Y: f64[N,R]) { Y[n,ids[n]] = V[n] * V[n] }",
      "(V: f64[N,D], ids: i64[N]) -> (Y: f64[R,D]) { t[ids[n] in 0..R,d] max= V[n,d]; Y[r,d] = "
      "t[r,d] * (t[r+1,d] else 1) "
      "where r % 2 == 0 && r < 1 else 0 }",
      "(V: f64[N], ids: i64[N]) -> (Y: f64[R]) { t[ids[n]-1 in 0..R] else skip min= sin(V[n]); "
      "Y[r] = min(t[r], 9) }",
      "(V: f64[N], ids: i64[N]) -> (Y: f64[R]) { Y[ids[n]] *= V[n] + V[n] * V[n] }",
      "(V: f64[N], ids: i64[N], inout Y: f64[R]) { Y[ids[n]] += exp(V[n]) }",
      "(V: f64[N], ids: i64[N], inout Y: f64[R]) { Y[ids[n]] = exp(V[n]) }",
      "(V: f64[N], ids: i64[N], inout Y: f64[N,R]) { Y[n,ids[n]] = exp(V[n]) }",
      "(V: f64[N], ids: i64[N], inout Y: f64[R]) { Y[ids[n]] *= exp(V[n]) where n > 0 }",
      "(V: f64[N], ids: i64[N], inout Y: f64[R]) { Y[ids[n]] max= sin(V[n]) }",
      "(V: f64[N,M], ids: i64[N,M]) -> (Y: f64[R]) { Y[ids[n,m]] = sin(V[n,m]) }",
      "(V: f64[N,M], ids: i64[N,M]) -> (Y: f64[R]) { t[ids[n,m] in 0..R] min= sin(V[n,m]) for m in "
      "1..M; Y[r] = min(t[r], 9) }",
      "(V: f64[B], ids: i64[L], w: f64[L], offs: i64[B+1]) -> (Y: f64[R]) "
      "{ Y[ids[j]] += V[b] * V[b] * w[j] for b in 0..B, j in offs[b]..offs[b+1] }",
      "(V: f64[B], offs: i64[B+1]) -> (Y: f64[L]) { Y[j] += V[b] * V[b] for b in 0..B, j in "
      "offs[b]..offs[b+1] }",
      // What reads them: a softmax over the edges of each node, and an optimiser.
      "(s: f64[N], at: i64[N], X: f64[R]) -> (a: f64[N]) { m[at[n] in 0..R] max= s[n]; x[n] = "
      "exp(s[n] - m[at[n]]); "
      "t[at[n] in 0..R] += x[n]; a[n] = x[n] / t[at[n]] * X[at[n]] }",
      "(G: f64[N,D], ids: i64[N], inout M: f64[R], inout W: f64[R,D]) { M[ids[n]] += sum[d](G[n,d] "
      "* G[n,d]); "
      "W[ids[n],d] += -0.1 * G[n,d] / (sqrt(M[ids[n]]) + 1.5) }",
  };
  const std::map<std::string, std::string> dims = {{"N", "4"}, {"M", "3"}, {"R", "7"}, {"D", "5"},
                                                   {"K", "3"}, {"L", "6"}, {"B", "3"}};
  for (const char* text : texts) {
    const ops::Op op = parsed(std::string("op f") + text);
    INFO(op.text());
    int compared = 0;  // not where an empty range has an infinite maximum
    for (uint64_t seed = 1; seed <= tests::by_effort(3, 3, 9); ++seed) {
      const Outcome out = check(op, dims, seed);
      CHECK(out.error == "");
      CHECK(out.differs == "");
      compared += out.compared;
    }
    CHECK(compared >= static_cast<int>(float_arguments(op).size()));
  }
}

TEST_CASE("gradients: those of random ops are what differences say") {
  ops::RandomOptions options;
  options.ranged = options.layouts = false;
  options.most_dim = 6;
  options.most_points = 2000;
  const uint64_t first = static_cast<uint64_t>(tests::setting("HONE_FUZZ_SEED", 1));
  const int count = static_cast<int>(tests::by_effort(60, 300, 1000));
  int compared = 0, unchecked = 0;
  double of_gathers = 0, of_scatters = 0;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed) {
    const std::string random = ops::random_problem(seed, options);
    const auto used = ops::parse_problem(random);
    REQUIRE_MESSAGE(used, random);
    const std::string bindings = random.substr(random.rfind('}') + 1);
    // Ops that it uses are written out: they may have types of their own.
    const std::string text = in_f64(used->op.text() + bindings);
    const auto problem = ops::parse_problem(text);
    if (!problem) continue;
    const Outcome out = check(problem->op, numbers(bindings), seed);
    INFO(text, ": ", out.error);
    CHECK(out.differs == "");
    compared += out.compared;
    of_gathers += out.scatters;
    if (has_scatter(problem->op)) of_scatters += out.compared;
    const bool odd = out.error.find("cannot check") != out.error.npos;
    unchecked += odd;
    if (odd && tests::setting("HONE_SHOW_UNCHECKED", 0) != 0) MESSAGE(text, "\n", out.error);
  }
  CHECK(compared >= count / 4);
  CHECK(of_gathers >= tests::by_effort(0, 5, 20));
  CHECK(of_scatters >= tests::by_effort(0, 5, 20));
  CHECK(unchecked <= 2 + count / 100);
}
