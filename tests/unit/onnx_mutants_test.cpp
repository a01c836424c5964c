// SPDX-License-Identifier: Apache-2.0
// Damaged files: each is read or refused, and nothing else happens.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ops/onnx/read.h"
#include "tests/support/effort.h"
#include "tests/unit/onnx_models.h"

using namespace hone::onnx;
using namespace hone::tests;

namespace {

/// One way of damaging a file, at random places.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  /// A copy with one to four faults.
  std::string mutant(const std::string& from, const std::string& other) {
    std::string bytes = from;
    for (size_t left = 1 + below(4); left > 0 && !bytes.empty(); --left) damage(bytes, other);
    return bytes;
  }
  size_t below(size_t end) { return static_cast<size_t>(random_() % end); }

 private:
  void damage(std::string& bytes, const std::string& other) {
    const size_t at = below(bytes.size());
    switch (below(7)) {
      case 0:  // a bit
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:  // a byte
        bytes[at] = static_cast<char>(random_());
        break;
      case 2:  // cut off
        bytes.resize(at);
        break;
      case 3:  // a hole
        bytes.erase(at, 1 + below(16));
        break;
      case 4:  // a piece of another file
        if (!other.empty()) {
          const size_t from = below(other.size());
          bytes.insert(at, other, from, 1 + below(64));
        }
        break;
      case 5: {  // a huge length or number: a varint of up to ten bytes
        const std::string huge = std::string(1 + below(9), '\xff') + '\x01';
        bytes.replace(at, 1 + below(3), huge);
        break;
      }
      default:  // a piece over another one
        bytes.replace(at, std::min(bytes.size() - at, 1 + below(16)), bytes, below(bytes.size()),
                      1 + below(16));
    }
  }

  std::mt19937_64 random_;
};

/// Touches all that the views point to, so that a sanitizer sees them; the sum is of no use.
size_t touched(std::string_view bytes) {
  size_t sum = bytes.size();
  for (const char c : bytes) sum += static_cast<unsigned char>(c);
  return sum;
}

size_t touched(const Tensor& tensor) {
  size_t sum = touched(tensor.name) + touched(tensor.data);
  for (const std::string_view text : tensor.strings) sum += touched(text);
  for (const int64_t dim : tensor.dims) sum += dim < 0 ? 1 : 0;
  const size_t values =
      tensor.type == DataType::kString ? tensor.strings.size() : tensor.data.size();
  const int64_t wanted =
      tensor.type == DataType::kString ? tensor.elements : bytes_of(tensor.type, tensor.elements);
  CHECK(static_cast<int64_t>(values) == wanted);
  return sum;
}

size_t touched(const ValueInfo& value) {
  size_t sum = touched(value.name);
  for (const Dim& dim : value.shape) sum += touched(dim.parameter);
  return sum;
}

size_t touched(const Graph& graph) {
  size_t sum = touched(graph.name);
  for (const Node& node : graph.nodes) {
    sum += touched(node.op_type) + touched(node.domain) + touched(node.name);
    for (const std::string_view name : node.inputs) sum += touched(name);
    for (const std::string_view name : node.outputs) sum += touched(name);
    for (const Attribute& attribute : node.attributes) {
      sum += touched(attribute.name) + touched(attribute.s) + touched(attribute.reference);
      for (const std::string_view text : attribute.strings) sum += touched(text);
      for (const Tensor& tensor : attribute.tensors) sum += touched(tensor);
      for (const Graph& inner : attribute.graphs) sum += touched(inner);
    }
  }
  for (const Tensor& tensor : graph.initializers) sum += touched(tensor);
  for (const ValueInfo& value : graph.inputs) sum += touched(value);
  for (const ValueInfo& value : graph.outputs) sum += touched(value);
  for (const ValueInfo& value : graph.value_infos) sum += touched(value);
  return sum;
}

}  // namespace

TEST_CASE("onnx: damaged files are read or refused") {
  const std::vector<std::string> seeds = {
      onnx_sample(),
      onnx_model(onnx_graph_with(onnx_attribute(
          5, 6, onnx_graph_with(onnx_attribute(4, 5, onnx_raw(1, {2}, "12345678")))))),
      onnx_model(message([](protozero::pbf_writer& graph) {
        add(graph, 5, onnx_external(1, {2}, {{"location", "weights"}, {"offset", "4"}}));
      })),
  };
  Mutator mutator(static_cast<uint64_t>(setting("HONE_FUZZ_SEED", 1)));
  const auto count =
      static_cast<int>(setting("HONE_ONNX_MUTANTS", by_effort(2000, 20'000, 100'000)));
  int accepted = 0, refused = 0;
  size_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const std::string& from = seeds[mutator.below(seeds.size())];
    // A copy of its own, so that a read past the end is one past an allocation.
    const std::string made = mutator.mutant(from, seeds[mutator.below(seeds.size())]);
    const std::vector<char> bytes(made.begin(), made.end());
    const hone::Result<Model> model = read({bytes.data(), bytes.size()});
    if (model) {
      ++accepted;
      sum += touched(model->graph) + touched(model->producer);
    } else {
      ++refused;
      CHECK(model.failure().code != hone::ErrorCode::kInternal);
      CHECK(model.failure().message.find("at byte ") != std::string::npos);
    }
  }
  // Both happen, or the faults are too small or too large to say much.
  CHECK(accepted > count / 100);
  CHECK(refused > count / 4);
  CHECK(sum > 0);
}
