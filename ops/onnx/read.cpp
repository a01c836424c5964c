// SPDX-License-Identifier: Apache-2.0
#include "ops/onnx/read.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "ops/onnx/fields.h"
#include "ops/onnx/mapped_file.h"
#include "ops/onnx/message.h"
#include "ops/onnx/reader.h"

namespace hone::onnx {
namespace {

// Fixed by: protocol buffers, whose lengths have 31 bits.
constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max();

Opset read_opset(std::string_view bytes, Context& context) {
  Opset opset;
  Message message(bytes, OpsetFields::kAll, context);
  while (message.next()) {
    if (message.tag() == OpsetFields::kDomain) opset.domain = message.bytes();
    if (message.tag() == OpsetFields::kVersion) opset.version = message.integer();
  }
  if (opset.version < 1) {
    context.refuse(fmt::format("the version of the operators of domain {} is {}; it is 1 or more",
                               quoted(opset.domain), opset.version));
  }
  return opset;
}

Model read_model(std::string_view bytes, Context& context) {
  const Overview overview(bytes, ModelFields::kAll, context);
  if (overview.count(ModelFields::kGraph) != 1 || overview.count(ModelFields::kIrVersion) == 0) {
    context.refuse(
        fmt::format("this message has {} graphs and {} ir_version; a model has one of "
                    "each",
                    overview.count(ModelFields::kGraph), overview.count(ModelFields::kIrVersion)));
  }
  Model model;
  model.producer = overview.bytes(ModelFields::kProducer);
  model.producer_version = overview.bytes(ModelFields::kProducerVersion);
  model.functions = static_cast<int64_t>(overview.count(ModelFields::kFunction));
  model.has_training = overview.count(ModelFields::kTraining) > 0;
  model.file = context.owner();
  context.reserve(model.opsets, overview.count(ModelFields::kOpset));
  context.reserve(model.metadata, overview.count(ModelFields::kMetadata));
  Message message(bytes, ModelFields::kAll, context);
  while (message.next()) {
    switch (message.tag()) {
      case ModelFields::kIrVersion:
        model.ir_version = message.integer();
        break;
      case ModelFields::kGraph:
        context.within_graph(
            -1, [&, graph = message.bytes()] { read_graph(graph, context, model.graph); });
        break;
      case ModelFields::kOpset:
        context.within(static_cast<int64_t>(model.opsets.size()), [&, opset = message.bytes()] {
          model.opsets.push_back(read_opset(opset, context));
        });
        break;
      case ModelFields::kMetadata:
        context.within(static_cast<int64_t>(model.metadata.size()), [&, entry = message.bytes()] {
          model.metadata.push_back(read_entry(entry, context));
        });
        break;
      default:
        message.skip();
    }
  }
  if (model.ir_version < 1) {
    context.refuse(fmt::format("ir_version is {}; it is 1 or more", model.ir_version));
  }
  return model;
}

/// Refuses bytes that cannot be one message, whatever stands there.
void check_size(std::string_view bytes, const Context& context) {
  if (bytes.empty()) context.refuse("there are no bytes here", ErrorCode::kSyntax);
  if (bytes.size() > kMostBytes) {
    context.refuse(fmt::format("{} bytes are here, and a message has at most {}; larger weights "
                               "are kept as external data",
                               bytes.size(), kMostBytes),
                   ErrorCode::kSyntax);
  }
}

/// The message in a file, and its failures with the file's name before them.
template <class T, class Read>
Result<T> read_mapped(const std::filesystem::path& path, const Read& read) {
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file) return file.failure();
  const std::string_view bytes = (*file)->bytes();
  Context context(bytes, *file, path.has_parent_path() ? path.parent_path() : ".");
  Result<T> result = guarded<T>(context, [&] {
    check_size(bytes, context);
    return read(bytes, context);
  });
  if (result) return result;
  return Failure{result.failure().code,
                 fmt::format("{}: {}", path.string(), result.failure().message)};
}

}  // namespace

Result<Model> read(std::string_view bytes, const std::filesystem::path& folder) {
  Context context(bytes, nullptr, folder);
  return guarded<Model>(context, [&] {
    check_size(bytes, context);
    return read_model(bytes, context);
  });
}

Result<Model> read_file(const std::filesystem::path& path) {
  return read_mapped<Model>(path, read_model);
}

Result<Tensor> read_tensor_file(const std::filesystem::path& path) {
  return read_mapped<Tensor>(path, [](std::string_view bytes, Context& context) {
    Tensor tensor;
    read_tensor(bytes, context, tensor);
    return tensor;
  });
}

}  // namespace hone::onnx
