// SPDX-License-Identifier: Apache-2.0
// Stands in for the reader and the writer in a build without protozero.
#include "ops/onnx/read.h"
#include "ops/onnx/write.h"

namespace hone::onnx {
namespace {

Failure absent() {
  return {ErrorCode::kUnsupported,
          "this hone was built without protozero, which reads ONNX files; build it with "
          "-Donnx=enabled"};
}

}  // namespace

Result<Model> read(std::string_view, const std::filesystem::path&) { return absent(); }
Result<Model> read_file(const std::filesystem::path&) { return absent(); }
Result<Tensor> read_tensor_file(const std::filesystem::path&) { return absent(); }
Result<std::string> edited(std::string_view, const Edits&) { return absent(); }
Result<Done> write_edited(const std::filesystem::path&, const std::filesystem::path&,
                          const Edits&) {
  return absent();
}

}  // namespace hone::onnx
