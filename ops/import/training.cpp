// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers, of ONNX's set for training: weights, their gradients, and what is kept.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/elementwise.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// The lists of inputs and of results have one part for each kind: all weights, all gradients.
struct Optimizer {
  std::string_view op;
  size_t kept;  ///< tensors that are kept for each weight
};

/// Fixed by: ONNX's definitions of these operators.
constexpr Optimizer kOptimizers[] = {{"Adagrad", 1}, {"Adam", 2}, {"Momentum", 1}};

/// A parameter of a step, a tensor of one element.
ImportArgument single(const ImportNode& node, size_t input, const char* name, std::string& read) {
  const ImportValue& v = node.input(input);
  if (v.shape.size() > 1) throw Unsupported{"rates of several dims"};
  read = fmt::format("cast<f32>({}[{}])", name, v.shape.empty() ? "" : "0");
  return {&v, name, v.shape.empty() ? "" : "1"};
}

/// The texts of a step at indices `at`: of the weight, then of what is kept. `g` is the gradient,
/// with the norm's part.
std::vector<std::string> texts_of(const ImportNode& node, const std::string& at,
                                  const std::string& rate, const std::string& step) {
  const auto number = [&](const char* name, double otherwise) {
    return import_number(node.number(name, otherwise));
  };
  const std::string x = fmt::format("X[{}]", at), g = fmt::format("g[{}]", at),
                    v = fmt::format("V[{}]", at);
  if (node.op() == "Adagrad") {
    const std::string h = fmt::format("({} + {}*{})", v, g, g);
    return {fmt::format("{} - {}/(1 + {}*{})*{}/(sqrt({}) + {})", x, rate, step,
                        number("decay_factor", 0), g, h, number("epsilon", 1e-6)),
            h};
  }
  if (node.op() == "Adam") {
    // ONNX's text has 1e-6 there, and its tests 1e-2.
    if (!node.has_attribute("epsilon")) throw Unsupported{"an epsilon that is left out"};
    const std::string alpha = number("alpha", 0.9), beta = number("beta", 0.999);
    const std::string first = fmt::format("({0}*{1} + (1 - {0})*{2})", alpha, v, g);
    const std::string second = fmt::format("({0}*H[{1}] + (1 - {0})*{2}*{2})", beta, at, g);
    const std::string adjusted =
        fmt::format("select({0} > 0, {1}*sqrt(1 - pow({2}, {0}))/(1 - pow({3}, {0})), {1})", step,
                    rate, beta, alpha);
    return {fmt::format("(1 - {})*({} - {}*{}/(sqrt({}) + {}))", number("norm_coefficient_post", 0),
                        x, adjusted, first, second, number("epsilon", 0)),
            first, second};
  }
  const std::string mode = node.text("mode", "");
  if (mode != "standard" && mode != "nesterov") throw Unsupported{"momentum of mode " + mode};
  const std::string alpha = number("alpha", 0);
  const std::string fresh =
      fmt::format("({}*{} + select({} > 0, {}, 1)*{})", alpha, v, step, number("beta", 0), g);
  return {fmt::format("{} - {}*{}", x, rate,
                      mode == "standard" ? fresh : fmt::format("({} + {}*{})", g, alpha, fresh)),
          fresh};
}

void import_step(const ImportNode& node) {
  const auto* row = std::find_if(std::begin(kOptimizers), std::end(kOptimizers),
                                 [&](const Optimizer& o) { return o.op == node.op(); });
  const size_t parts = 2 + row->kept, count = node.inputs() < 2 ? 0 : (node.inputs() - 2) / parts;
  if (count == 0 || node.inputs() != 2 + count * parts)
    throw Unsupported{"another number of inputs"};
  for (size_t i = 0; i < count; ++i) {
    const ImportValue& x = node.input(2 + i);
    if (x.type != DType::kF32) throw Unsupported{"weights of another type than f32"};
    std::string rate, step;
    const ImportArgument r = single(node, 0, "R", rate), t = single(node, 1, "T", step);
    const Broadcast all = declared(x.shape);
    const auto texts = texts_of(node, all.indices, rate, step);
    for (size_t result = 0; result < texts.size(); ++result) {
      std::vector<ImportArgument> arguments{{&x, "X", all.dims},
                                            {&node.input(2 + count + i), "G", all.dims}};
      const auto take = [&](const ImportArgument& a) {
        if (texts[result].find(a.name + "[") != std::string::npos) arguments.push_back(a);
      };
      take(r);
      take(t);
      take({&node.input(2 + 2 * count + i), "V", all.dims});
      if (row->kept > 1) take({&node.input(2 + 3 * count + i), "H", all.dims});
      node.importer().make(
          node, result * count + i, x.type, x.shape, arguments, all.dims,
          fmt::format("g[{0}] = {1}*X[{0}] + G[{0}]; Y[{0}] = {2}", all.indices,
                      import_number(node.number("norm_coefficient", 0)), texts[result]));
    }
  }
}

}  // namespace

ImportRow import_training_row(std::string_view op_type) {
  const bool there = std::any_of(std::begin(kOptimizers), std::end(kOptimizers),
                                 [&](const Optimizer& o) { return o.op == op_type; });
  return there ? import_step : nullptr;
}

}  // namespace hone::ops
