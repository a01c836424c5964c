// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>

#include "include/hone/error.h"

namespace hone::onnx {

/// A regular file's bytes, mapped for reading.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// All bytes, as long as the object lives and nobody shortens the file.
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  MappedFile() = default;

  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hone::onnx
