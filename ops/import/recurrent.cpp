// SPDX-License-Identifier: Apache-2.0
// Recurrent networks. Each direction is statements of its own: gates from the state of the step
// before, in the order in which the network goes over time.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Fixed by: ONNX's networks of these kinds.
int64_t gates_of(std::string_view op) { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

/// A function of gates, as text of `x`, with its attributes by their defaults.
struct Activation {
  std::string_view name, text;
  int parameters;
  double alpha, beta;
};

/// Fixed by: ONNX's defaults.
constexpr Activation kActivations[] = {
    {"Affine", "(a*x + b)", 2, 1, 0},
    {"Elu", "select(x < 0, a*expm1(x), x)", 1, 1, 0},
    {"HardSigmoid", "max(0, min(1, a*x + b))", 2, 0.2, 0.5},
    {"LeakyRelu", "select(x < 0, a*x, x)", 1, 0.01, 0},
    {"Relu", "relu(x)", 0, 0, 0},
    {"ScaledTanh", "(a*tanh(b*x))", 2, 1, 1},
    {"Sigmoid", "sigmoid(x)", 0, 0, 0},
    {"Softplus", "softplus(x)", 0, 0, 0},
    {"Softsign", "(x/(1 + abs(x)))", 0, 0, 0},
    {"Tanh", "tanh(x)", 0, 0, 0},
    {"ThresholdedRelu", "select(x >= a, x, 0)", 1, 1, 0},
};

/// The functions of a direction: `sigmoid` of gates, `tanh` of what they let through.
class Functions {
 public:
  Functions(const ImportNode& node, size_t direction, size_t directions) {
    const bool lstm = node.op() == "LSTM", plain = node.op() == "RNN";
    std::vector<std::string> names = node.texts("activations");
    const size_t each = lstm ? 3 : plain ? 1 : 2;
    const std::vector<double> alphas = node.numbers("activation_alpha"),
                              betas = node.numbers("activation_beta");
    if (names.empty()) {
      for (size_t d = 0; d < directions; ++d) {
        if (!plain) names.push_back("Sigmoid");
        names.insert(names.end(), lstm ? 2 : 1, "Tanh");
      }
    }
    if (names.size() != each * directions) throw Unsupported{"another number of activations"};
    if (const double clip = node.number("clip", 0); clip > 0) clip_ = import_number(clip);
    // Parameters are listed for the functions that have them, in order.
    size_t alpha = 0, beta = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      const auto* row = std::find_if(std::begin(kActivations), std::end(kActivations),
                                     [&](const Activation& a) { return a.name == names[i]; });
      if (row == std::end(kActivations)) throw Unsupported{"the activation " + names[i]};
      const double a = row->parameters > 0 && alpha < alphas.size() ? alphas[alpha++] : row->alpha;
      const double b = row->parameters > 1 && beta < betas.size() ? betas[beta++] : row->beta;
      if (i / each != direction) continue;
      texts_.push_back(
          with_letters(std::string(row->text), {{'a', import_number(a)}, {'b', import_number(b)}}));
    }
  }

  std::string operator()(size_t which, const std::string& x) const {
    const std::string argument =
        clip_.empty() ? "(" + x + ")" : fmt::format("max(-{0}, min({0}, {1}))", clip_, x);
    return with_letters(texts_.at(which), {{'x', argument}});
  }

 private:
  std::vector<std::string> texts_;
  std::string clip_;
};

/// A network under import: names of its inputs, and the statements of its directions.
struct Network {
  explicit Network(const ImportNode& n) : node(n) {}

  const ImportNode& node;
  bool by_batch = false;  ///< batches come before steps
  int64_t hidden = 0;
  size_t directions = 1;
  bool bias = false, lengths = false, state = false, cell = false, peepholes = false;
  std::vector<ImportArgument> arguments;
  ImportExtent steps, batch;

  std::string at(const char* name, size_t d, const std::string& indices) const {
    return fmt::format("{}{}[{}]", name, d, indices);
  }
  /// `Z[d,b,j]`, or `Z[b,d,j]` where batches come first.
  std::string initial(const char* name, bool there, size_t d, const std::string& j) const {
    if (!there) return "0.0";
    return by_batch ? fmt::format("{}[b,{},{}]", name, d, j)
                    : fmt::format("{}[{},b,{}]", name, d, j);
  }
  /// The state `name` of the step before, of unit `j`.
  std::string before(const char* name, size_t d, const std::string& j) const {
    const bool back = backwards(d), there = name[0] == 'h' ? state : cell;
    return fmt::format("({}{}[t {} 1,b,{}] else {})", name, d, back ? "+" : "-", j,
                       initial(name[0] == 'h' ? "H" : "C", there, d, j));
  }
  bool backwards(size_t d) const {
    return d == 1 || node.text("direction", "forward") == "reverse";
  }
  std::string row(int64_t gate, const std::string& j) const {
    return gate == 0 ? j : fmt::format("{} + {}", gate * hidden, j);
  }
  /// What gate `gate` takes from the inputs and biases of this step: `x0_0[t,b,j]`.
  std::string taken(int64_t gate, size_t d, bool of_state_too) const {
    std::string text =
        fmt::format("sum[k](X[{},k]*W[{},{},k])", by_batch ? "b,t" : "t,b", d, row(gate, "j"));
    if (bias) text += fmt::format(" + B[{},{}]", d, row(gate, "j"));
    if (bias && of_state_too)
      text += fmt::format(" + B[{},{}]", d, row(gate + gates_of(node.op()), "j"));
    return fmt::format("x{}_{}: {}[t,b,j in 0..{}] = {}; ", d, gate, type(), hidden, text);
  }
  std::string input(int64_t gate, size_t d) const { return fmt::format("x{}_{}[t,b,j]", d, gate); }
  std::string from_state(int64_t gate, size_t d) const {
    return fmt::format("sum[k in 0..{}](R[{},{},k]*{})", hidden, d, row(gate, "j"),
                       before("h", d, "k"));
  }
  std::string peephole(int64_t gate, size_t d, const std::string& of) const {
    return peepholes ? fmt::format(" + P[{},{}]*{}", d, row(gate, "j"), of) : "";
  }
  /// A state that stays where its sequence has ended.
  std::string state_of(const char* name, size_t d, const std::string& value) const {
    return fmt::format(
        "{}{}: {}[t in 0..{},b in 0..{},j in 0..{}] = {}; ", name, d, type(), extent(0), extent(1),
        hidden,
        lengths ? fmt::format("select(t < cast<i64>(L[b]), {}, {})", value, before(name, d, "j"))
                : value);
  }
  std::string type() const { return node.input(0).type == DType::kF64 ? "f64" : "f32"; }
  std::string extent(size_t which) const {
    const ImportExtent& e = which == 0 ? steps : batch;
    return e.fixed() ? e.text() : which == 0 ? "T" : "N";
  }
};

/// `reset`, `update` and new state; the reset comes before or after the product.
std::string gru_statements(const Network& n, size_t d) {
  const Functions f(n.node, d, n.directions);
  const bool after = n.node.integer("linear_before_reset", 0) != 0;
  const auto gate = [&](const char* name, int64_t i) {
    return fmt::format("{}{}: {}[t,b,j in 0..{}] = {}; ", name, d, n.type(), n.hidden,
                       f(0, n.input(i, d) + " + " + n.from_state(i, d)));
  };
  std::string text = n.taken(0, d, true) + n.taken(1, d, true) + n.taken(2, d, !after) +
                     gate("z", 0) + gate("r", 1);
  std::string fresh;
  if (after) {
    const std::string bias = n.bias ? fmt::format(" + B[{},{}]", d, n.row(5, "j")) : "";
    fresh = fmt::format("{}*({}{})", n.at("r", d, "t,b,j"), n.from_state(2, d), bias);
  } else {
    fresh = fmt::format("sum[k in 0..{}](R[{},{},k]*({}*{}))", n.hidden, d, n.row(2, "j"),
                        n.at("r", d, "t,b,k"), n.before("h", d, "k"));
  }
  text += fmt::format("n{}: {}[t,b,j in 0..{}] = {}; ", d, n.type(), n.hidden,
                      f(1, n.input(2, d) + " + " + fresh));
  const std::string z = n.at("z", d, "t,b,j");
  return text + n.state_of("h", d,
                           fmt::format("(1 - {0})*{1} + {0}*{2}", z, n.at("n", d, "t,b,j"),
                                       n.before("h", d, "j")));
}

/// Input, output, forget and cell gates, in this order. Peepholes see the cell.
std::string lstm_statements(const Network& n, size_t d) {
  const Functions f(n.node, d, n.directions);
  const std::string old = n.before("c", d, "j");
  std::string text;
  const auto sum = [&](int64_t i) { return n.input(i, d) + " + " + n.from_state(i, d); };
  const bool coupled = n.node.integer("input_forget", 0) != 0;
  for (int64_t i = 0; i < 4; ++i) text += coupled && i == 2 ? "" : n.taken(i, d, true);
  const auto gate = [&](const char* name, const std::string& value) {
    return fmt::format("{}{}: {}[t,b,j in 0..{}] = {}; ", name, d, n.type(), n.hidden, value);
  };
  text += gate("i", f(0, sum(0) + n.peephole(0, d, old)));
  text += gate("f", coupled ? fmt::format("1 - {}", n.at("i", d, "t,b,j"))
                            : f(0, sum(2) + n.peephole(2, d, old)));
  text += gate("g", f(1, sum(3)));
  text += n.state_of("c", d,
                     fmt::format("{}*{} + {}*{}", n.at("f", d, "t,b,j"), old, n.at("i", d, "t,b,j"),
                                 n.at("g", d, "t,b,j")));
  const std::string cell = n.at("c", d, "t,b,j");
  text += gate("o", f(0, sum(1) + n.peephole(1, d, cell)));
  return text + n.state_of("h", d, fmt::format("{}*{}", n.at("o", d, "t,b,j"), f(2, cell)));
}

std::string statements_of(const Network& n, size_t d) {
  if (n.node.op() == "LSTM") return lstm_statements(n, d);
  if (n.node.op() == "GRU") return gru_statements(n, d);
  const Functions f(n.node, d, n.directions);
  return n.taken(0, d, true) + n.state_of("h", d, f(0, n.input(0, d) + " + " + n.from_state(0, d)));
}

Network network_of(const ImportNode& node) {
  const ImportValue &x = node.input(0), &w = node.input(1), &r = node.input(2);
  if (x.shape.size() != 3 || w.shape.size() != 3 || r.shape.size() != 3) {
    throw Unsupported{"its input or weights are of another rank than 3"};
  }
  const std::string direction = node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    throw Unsupported{"the direction " + direction};
  }
  Network n(node);
  n.by_batch = node.integer("layout", 0) != 0;
  n.hidden = import_fixed(r.shape[2]);
  n.directions = direction == "bidirectional" ? 2 : 1;
  n.steps = x.shape[n.by_batch ? 1 : 0];
  n.batch = x.shape[n.by_batch ? 0 : 1];
  n.bias = node.has(3);
  n.lengths = node.has(4);
  n.state = node.has(5);
  n.cell = node.op() == "LSTM" && node.has(6);
  n.peepholes = node.op() == "LSTM" && node.has(7);
  const auto count = static_cast<int64_t>(n.directions), rows = gates_of(node.op()) * n.hidden;
  if (!w.shape[0].is(count) || !w.shape[1].is(rows) || !r.shape[1].is(rows)) {
    throw Unsupported{"its weights are of other sizes than its gates"};
  }
  const std::string all = std::to_string(rows), units = std::to_string(n.hidden),
                    ways = std::to_string(count);
  const std::string steps = n.extent(0), batch = n.extent(1),
                    state = n.by_batch ? fmt::format("{},{},{}", batch, ways, units)
                                       : fmt::format("{},{},{}", ways, batch, units);
  n.arguments = {{&x, "X", n.by_batch ? batch + "," + steps + ",K" : steps + "," + batch + ",K"},
                 {&w, "W", fmt::format("{},{},K", ways, all)},
                 {&r, "R", fmt::format("{},{},{}", ways, all, units)}};
  if (n.bias) n.arguments.push_back({&node.input(3), "B", fmt::format("{},{}", ways, 2 * rows)});
  if (n.lengths) n.arguments.push_back({&node.input(4), "L", batch});
  if (n.state) n.arguments.push_back({&node.input(5), "H", state});
  if (n.cell) n.arguments.push_back({&node.input(6), "C", state});
  if (n.peepholes) {
    n.arguments.push_back({&node.input(7), "P", fmt::format("{},{}", ways, 3 * n.hidden)});
  }
  return n;
}

/// The value of one direction, or of the one that index `w` says.
template <class F>
std::string by_direction(const Network& n, const F& of) {
  if (n.directions == 1) return of(size_t{0});
  return fmt::format("select(w == 0, {}, {})", of(size_t{0}), of(size_t{1}));
}

/// The state `name` after the last step; before the first where there is none.
std::string last_of(const Network& n, const char* name) {
  const std::string end =
      n.steps.fixed() ? std::to_string(n.steps.times - 1) : n.extent(0) + " - 1";
  return by_direction(n, [&](size_t d) {
    const bool cell = name[0] == 'c';
    return fmt::format("({}{}[{},b,j] else {})", name, d, n.backwards(d) ? "0" : end,
                       n.initial(cell ? "C" : "H", cell ? n.cell : n.state, d, "j"));
  });
}

/// All steps, then the state after the last one, then the cell.
void import_recurrent(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const Network n = network_of(node);
  std::string text;
  for (size_t d = 0; d < n.directions; ++d) text += statements_of(n, d);
  const ImportExtent ways{static_cast<int64_t>(n.directions), ""}, units{n.hidden, ""};
  const std::string steps = n.extent(0), batch = n.extent(1), w = ways.text(), u = units.text();
  std::vector<ImportResult> results;
  if (node.wants(0)) {
    const std::string value = by_direction(n, [&](size_t d) { return n.at("h", d, "t,b,j"); });
    text +=
        fmt::format("Y[{}] = {}; ", n.by_batch ? "b,t,w,j" : "t,w,b,j",
                    n.lengths ? fmt::format("select(t < cast<i64>(L[b]), {}, 0)", value) : value);
    if (n.by_batch) {
      results.push_back({0,
                         x.type,
                         {n.batch, n.steps, ways, units},
                         "Y",
                         fmt::format("{},{},{},{}", batch, steps, w, u)});
    } else {
      results.push_back({0,
                         x.type,
                         {n.steps, ways, n.batch, units},
                         "Y",
                         fmt::format("{},{},{},{}", steps, w, batch, u)});
    }
  }
  const ImportShape shape =
      n.by_batch ? ImportShape{n.batch, ways, units} : ImportShape{ways, n.batch, units};
  const std::string dims =
      n.by_batch ? fmt::format("{},{},{}", batch, w, u) : fmt::format("{},{},{}", w, batch, u);
  for (const size_t output : {size_t{1}, size_t{2}}) {
    if (!node.wants(output) || (output == 2 && node.op() != "LSTM")) continue;
    const char* name = output == 1 ? "YH" : "YC";
    results.push_back({output, x.type, shape, name, dims});
    text += fmt::format("{}[{}] = {}; ", name, n.by_batch ? "b,w,j" : "w,b,j",
                        last_of(n, output == 1 ? "h" : "c"));
  }
  node.importer().make(node, results, n.arguments, text.substr(0, text.rfind("; ")));
}

}  // namespace

std::vector<ImportEntry> rows_of_recurrent() {
  return {{"GRU", import_recurrent}, {"LSTM", import_recurrent}, {"RNN", import_recurrent}};
}

}  // namespace hone::ops
