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
  return std::regex_replace(text, std::regex(R"(\b(f32|f16|bf16)\b)"), "f64");
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
  std::string error;    ///< of the gradient, if it has one
  std::string differs;  ///< what is wrong
};

Outcome check(const ops::Op& op, const std::map<std::string, std::string>& dims, uint64_t seed) {
  Outcome out;
  std::mt19937_64 rng(seed);
  const auto problem = ops::make_problem(op, words_for(op, dims));
  if (!problem) return {0, problem.failure().message, ""};
  if (jit::scalar_operations(problem->definition, {}) > 3e5) return {0, "too large", ""};
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
    if (out.compared > 0) {
      ++cases[name];
      compared.insert(name);
    }
    if (out.error != "too large" && !out.error.empty()) without.insert(name);
  }
  CHECK((tests::effort() == tests::Effort::kSmoke || without.count("row_argmax") == 1));
  CHECK(compared.size() >= static_cast<size_t>(tests::by_effort(20, 110, 110)));
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

TEST_CASE("gradients: those of random ops are what differences say") {
  ops::RandomOptions options;
  options.ranged = options.layouts = false;
  options.most_dim = 6;
  options.most_points = 2000;
  const uint64_t first = static_cast<uint64_t>(tests::setting("HONE_FUZZ_SEED", 1));
  const int count = static_cast<int>(tests::by_effort(60, 300, 1000));
  int compared = 0, unchecked = 0;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed) {
    const std::string text = in_f64(ops::random_problem(seed, options));
    const auto problem = ops::parse_problem(text);
    if (!problem) continue;
    const std::string bindings = text.substr(text.rfind('}') + 1);
    const Outcome out = check(problem->op, numbers(bindings), seed);
    INFO(text, ": ", out.error);
    CHECK(out.differs == "");
    compared += out.compared;
    const bool odd = out.error.find("cannot check") != out.error.npos;
    unchecked += odd;
    if (odd && tests::setting("HONE_SHOW_UNCHECKED", 0) != 0) MESSAGE(text, "\n", out.error);
  }
  CHECK(compared >= count / 4);
  CHECK(unchecked <= 5 + compared / 10);
}
