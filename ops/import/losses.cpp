// SPDX-License-Identifier: Apache-2.0
// Losses over classes.
#include <fmt/format.h>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// The parts of a loss of logarithms `L` of probabilities by class: input [N,C,d...], labels
/// [N,d...].
struct Loss {
  std::string dims;                 ///< of the input, `D0,D1,D2`
  std::string labels;               ///< of the labels, `D0,D2`
  std::string at;                   ///< `i0,i2`
  std::string all;                  ///< `r0,r2`
  std::vector<std::string> picked;  ///< the input's indices, with the label as class
};

Loss loss_of(const ImportValue& x) {
  if (x.shape.size() < 2) throw Unsupported{"its input has no classes"};
  Loss out;
  std::vector<std::string> dims, labels, at, all;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    dims.push_back(import_dim(i));
    out.picked.push_back(import_index(i));
    if (i == 1) continue;
    labels.push_back(import_dim(i));
    at.push_back(import_index(i));
    all.push_back(fmt::format("r{}", i));
  }
  out.dims = joined(dims);
  out.labels = joined(labels);
  out.at = joined(at);
  out.all = joined(all);
  out.picked[1] = fmt::format("J[{}]", out.at);
  return out;
}

/// What a label counts: nothing where it is the one that is ignored.
std::string weight_of(const ImportNode& node, const Loss& loss) {
  const std::string weight =
      node.has(2) ? fmt::format("(W[J[{}]] else 0)", loss.at) : std::string("1.0");
  if (!node.has_attribute("ignore_index")) return weight;
  return fmt::format("select(J[{}] == {}, 0.0, {})", loss.at, node.integer("ignore_index", 0),
                     weight);
}

/// The loss from logarithms in `logs`, whose statements stand before.
void make_loss(const ImportNode& node, const std::string& before, const std::string& logs) {
  const ImportValue &x = node.input(0), &labels = node.input(1);
  if (x.type != DType::kF32) throw Unsupported{"of another type than f32"};
  const Loss loss = loss_of(x);
  const std::string reduction = node.text("reduction", "mean");
  std::vector<ImportArgument> arguments{{&x, "X", loss.dims}, {&labels, "J", loss.labels}};
  if (node.has(2)) arguments.push_back({&node.input(2), "W", "D1"});
  const std::string each =
      fmt::format("{0}w: f32[{1}] = {2}; l[{1}] = -({3}[{4}] else 0)*w[{1}]; ", before, loss.at,
                  weight_of(node, loss), logs, joined(loss.picked));
  if (reduction == "none") {
    ImportShape shape = x.shape;
    shape.erase(shape.begin() + 1);
    // The shape has no class, so its indices are by place.
    std::string text = each + fmt::format("Y[{0}] = l[{0}]", loss.at);
    return node.importer().make(node, 0, x.type, shape, arguments, loss.labels, text);
  }
  const std::string sum = fmt::format("sum[{0}](l[{0}])", loss.all);
  node.importer().make(
      node, 0, x.type, {}, arguments, "",
      each + (reduction == "sum" ? fmt::format("Y[] = {}", sum)
                                 : fmt::format("Y[] = {0}/sum[{1}](w[{1}])", sum, loss.all)));
}

void import_negative_log_likelihood(const ImportNode& node) { make_loss(node, "", "X"); }

std::string log_softmax(const ImportValue& x) {
  std::vector<std::string> at, plain, kept;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    plain.push_back(import_index(i));
    at.push_back(i == 1 ? "c" : plain.back());
    if (i != 1) kept.push_back(plain.back());
  }
  return fmt::format(
      "m[{0}] = max[c](X[{1}]); s[{0}] = log(sum[c](exp(X[{1}] - m[{0}]))); p[{2}] = X[{2}] - "
      "m[{0}] - s[{0}]; ",
      joined(kept), joined(at), joined(plain));
}

void import_cross_entropy(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const Loss loss = loss_of(x);
  make_loss(node, log_softmax(x), "p");
  if (!node.wants(1)) return;
  std::vector<std::string> plain;
  for (size_t i = 0; i < x.shape.size(); ++i) plain.push_back(import_index(i));
  node.importer().make(node, 1, x.type, x.shape, {{&x, "X", loss.dims}}, loss.dims,
                       log_softmax(x) + fmt::format("Y[{0}] = p[{0}]", joined(plain)));
}

}  // namespace

std::vector<ImportEntry> rows_of_losses() {
  return {
      {"NegativeLogLikelihoodLoss", import_negative_log_likelihood},
      {"SoftmaxCrossEntropyLoss", import_cross_entropy},
  };
}

}  // namespace hone::ops
