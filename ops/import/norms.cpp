// SPDX-License-Identifier: Apache-2.0
// Normalisations: by means and variances, by those that are given, by neighbours.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/axes.h"
#include "ops/import/elementwise.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// The dims of a parameter per channel.
ImportArgument per_channel(const ImportNode& node, size_t input, const char* name) {
  const ImportValue& v = node.input(input);
  if (v.shape.size() != 1) throw Unsupported{fmt::format("input {} is not of rank 1", input)};
  return {&v, name, "D1"};
}

/// Means `m` of what `a` reduces.
std::string means(const ImportValue& x, const Axes& a) {
  return fmt::format("m[{}] = sum[{}](X[{}])/{}; ", a.kept, a.over, a.at, counted(x, a.count));
}

/// The same with variances `v`.
std::string statistics(const ImportValue& x, const Axes& a) {
  return means(x, a) + fmt::format("v[{0}] = sum[{1}]((X[{2}] - m[{0}])*(X[{2}] - m[{0}]))/{3}; ",
                                   a.kept, a.over, a.at, counted(x, a.count));
}

/// Of training: statistics are those of the batch, and the given ones move towards them.
void make_batch_statistics(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  if (node.version() < 14) throw Unsupported{"statistics of a batch, before version 14"};
  if (node.wants(3) || node.wants(4)) throw Unsupported{"more than 3 results"};
  std::vector<bool> reduced(x.shape.size(), true);
  reduced[1] = false;
  const Axes a(x, reduced);
  const std::string momentum = import_number(node.number("momentum", 0.9)),
                    rest = import_number(1 - node.number("momentum", 0.9));
  const std::string known = statistics(x, a);
  const ImportArgument own{&x, "X", a.all};
  node.importer().make(
      node, 0, x.type, x.shape, {own, per_channel(node, 1, "S"), per_channel(node, 2, "B")}, a.all,
      fmt::format("{}Y[{}] = (X[{}] - m[i1])*rsqrt(v[i1] + {})*S[i1] + B[i1]", known, a.plain,
                  a.plain, import_number(node.number("epsilon", 1e-5))));
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const ImportValue& given = node.input(i + 2);
    node.importer().make(node, i, given.type, {x.shape[1]}, {own, per_channel(node, i + 2, "G")},
                         "D1",
                         fmt::format("{}Y[i1] = {}*G[i1] + {}*{}[i1]", i == 1 ? means(x, a) : known,
                                     momentum, rest, i == 1 ? "m" : "v"));
  }
}

void import_batch_normalization(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  if (x.shape.size() < 2) throw Unsupported{"its input has no channels"};
  if (node.integer("training_mode", 0) != 0) return make_batch_statistics(node);
  if (node.wants(1)) throw Unsupported{"statistics of a batch, which training makes"};
  const Axes a(x, std::vector<bool>(x.shape.size()));
  node.importer().make(node, 0, x.type, x.shape,
                       {{&x, "X", a.all},
                        per_channel(node, 1, "S"),
                        per_channel(node, 2, "B"),
                        per_channel(node, 3, "M"),
                        per_channel(node, 4, "V")},
                       a.all,
                       fmt::format("Y[{0}] = (X[{0}] - M[i1])*rsqrt(V[i1] + {1})*S[i1] + B[i1]",
                                   a.plain, import_number(node.number("epsilon", 1e-5))));
}

/// Means and inverses of deviations, of the type that the node computes in.
void make_layer_statistics(const ImportNode& node, const Axes& a, const std::string& epsilon) {
  const ImportValue& x = node.input(0);
  const int64_t stash = node.integer("stash_type", 1);
  const DType type = import_type(static_cast<onnx::DataType>(stash));
  const Reduced result = reduced_shape(x, a, true);
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const std::string value =
        i == 1 ? fmt::format("m[{}]", a.kept) : fmt::format("rsqrt(v[{}] + {})", a.kept, epsilon);
    node.importer().make(
        node, i, type, result.shape, {{&x, "X", a.all}}, result.dims,
        fmt::format("{}Y[{}] = cast<{}>({})", i == 1 ? means(x, a) : statistics(x, a), result.at,
                    name_of(type), value));
  }
}

/// Mean 0 and variance 1 over the dims from `axis` on, of each channel for instances.
void import_layer_normalization(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const bool instance = node.op() == "InstanceNormalization";
  const size_t axis = instance ? 2 : import_axis(node.integer("axis", -1), x.shape.size());
  std::vector<bool> reduced(x.shape.size());
  for (size_t i = axis; i < x.shape.size(); ++i) reduced[i] = true;
  const Axes a(x, reduced);
  if (a.none()) throw Unsupported{"there is nothing to normalise over"};
  const std::string epsilon = import_number(node.number("epsilon", 1e-5));
  std::vector<ImportArgument> arguments{{&x, "X", a.all}};
  std::string text = fmt::format("(X[{0}] - m[{1}])*rsqrt(v[{1}] + {2})", a.plain, a.kept, epsilon);
  for (const size_t input : {size_t{1}, size_t{2}}) {
    if (!node.has(input)) continue;
    const ImportValue& p = node.input(input);
    const std::string name = input == 1 ? "S" : "B";
    Broadcast at = instance ? Broadcast{"D1", "i1"} : broadcast(p.shape, x.shape);
    arguments.push_back({&p, name, at.dims});
    text += fmt::format("{}{}[{}]", input == 1 ? "*" : " + ", name, at.indices);
  }
  node.importer().make(node, 0, x.type, x.shape, arguments, a.all,
                       fmt::format("{}Y[{}] = {}", statistics(x, a), a.plain, text));
  if (!instance) make_layer_statistics(node, a, epsilon);
}

/// Each group of channels by itself. Scales are per channel, until version 20 per group.
void import_group_normalization(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const int64_t groups = node.integer("num_groups", 0);
  if (x.shape.size() < 2) throw Unsupported{"its input has no channels"};
  const int64_t channels = import_fixed(x.shape[1]);
  if (groups < 1 || channels % groups != 0) {
    throw Unsupported{fmt::format("{} groups of {} channels", groups, channels)};
  }
  const int64_t each = channels / groups;
  std::vector<std::string> dims = import_dims(x.shape), at = import_indices(x.shape), count;
  std::vector<std::string> over{fmt::format("c in 0..{}", each)}, read = at;
  const std::string plain = joined(at);
  dims[1] = std::to_string(channels);
  read[1] = fmt::format("{}*g + c", each);
  for (size_t i = 2; i < dims.size(); ++i) {
    read[i] = fmt::format("r{}", i);
    over.push_back(read[i]);
    count.push_back(dims[i]);
  }
  count.push_back(std::to_string(each));
  const std::string group = fmt::format("i1/{}", each);
  const bool by_group = node.version() < 21;
  const std::string parameter = by_group ? group : "i1";
  const std::string length = std::to_string(by_group ? groups : channels);
  node.importer().make(
      node, 0, x.type, x.shape,
      {{&x, "X", joined(dims)}, {&node.input(1), "S", length}, {&node.input(2), "B", length}},
      joined(dims),
      fmt::format("m[i0,g in 0..{0}] = sum[{1}](X[{2}])/{3}; v[i0,g in 0..{0}] = "
                  "sum[{1}]((X[{2}] - m[i0,g])*(X[{2}] - m[i0,g]))/{3}; Y[{4}] = (X[{4}] - "
                  "m[i0,{5}])*rsqrt(v[i0,{5}] + {6})*S[{7}] + B[{7}]",
                  groups, joined(over), joined(read),
                  counted(x, fmt::format("{}", fmt::join(count, "*"))), plain, group,
                  import_number(node.number("epsilon", 1e-5)), parameter));
}

/// Mean 0 and deviation 1 over some axes.
void import_mean_variance_normalization(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  std::vector<bool> reduced(x.shape.size());
  for (const int64_t axis : node.integers("axes", {0, 2, 3})) {
    reduced.at(import_axis(axis, x.shape.size())) = true;
  }
  const Axes a(x, reduced);
  if (a.none()) throw Unsupported{"there is nothing to normalise over"};
  // Fixed by: the operator's definition.
  const std::string least = import_number(1e-9);
  node.importer().make(node, 0, x.type, x.shape, {{&x, "X", a.all}}, a.all,
                       fmt::format("{0}Y[{1}] = (X[{1}] - m[{2}])/(sqrt(v[{2}]) + {3})",
                                   statistics(x, a), a.plain, a.kept, least));
}

void import_lrn(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const int64_t size = node.integer("size", 1), before = (size - 1) / 2;
  if (x.shape.size() < 2 || size < 1) throw Unsupported{"its input has no channels"};
  const Axes a(x, std::vector<bool>(x.shape.size()));
  std::string window = "i0,i1 + q_ - " + std::to_string(before);
  for (size_t i = 2; i < x.shape.size(); ++i) window += "," + import_index(i);
  node.importer().make(
      node, 0, x.type, x.shape, {{&x, "X", a.all}}, a.all,
      fmt::format("q[{0}] = X[{0}]*X[{0}]; s[{0}] = sum[q_ in 0..{1}](q[{2}] else 0); Y[{0}] = "
                  "X[{0}]/pow({3} + {4}*s[{0}], {5})",
                  a.plain, size, window, import_number(node.number("bias", 1)),
                  import_number(node.number("alpha", 1e-4) / static_cast<double>(size)),
                  import_number(node.number("beta", 0.75))));
}

}  // namespace

std::vector<ImportEntry> rows_of_norms() {
  return {
      {"BatchNormalization", import_batch_normalization},
      {"GroupNormalization", import_group_normalization},
      {"InstanceNormalization", import_layer_normalization},
      {"LayerNormalization", import_layer_normalization},
      {"LRN", import_lrn},
      {"MeanVarianceNormalization", import_mean_variance_normalization},
  };
}

}  // namespace hone::ops
