// SPDX-License-Identifier: Apache-2.0
#include "ops/onnx/context.h"

#include <fmt/format.h>

namespace hone::onnx {
namespace {

/// What a result may take beyond as much memory as the file. Chosen: room for small files, whose
/// nodes take some times as much in memory as in the file (not measured).
constexpr size_t kFreeBytes = size_t{64} << 20;
/// Chosen: about what the allocator takes for each block besides the block itself (not measured).
constexpr size_t kBlockBytes = 32;
/// Chosen: names longer than that do not help who reads the message (not measured).
constexpr size_t kMostQuoted = 64;
/// Fixed by: ASCII, whose printable characters lie between.
constexpr char kFirstPrintable = ' ', kLastPrintable = '~';

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMostQuoted)) {
    if (c < kFirstPrintable || c > kLastPrintable) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + (text.size() > kMostQuoted ? "...\"" : "\"");
}

Context::Context(std::string_view bytes, std::shared_ptr<const void> owner,
                 std::filesystem::path folder)
    : bytes_(bytes),
      owner_(std::move(owner)),
      folder_(std::move(folder)),
      at_(bytes.data()),
      budget_(bytes.size() + kFreeBytes) {}

std::string Context::located(const std::string& what) const {
  std::string place;
  const auto field = [&](const char* name) {
    if (!place.empty()) place += '.';
    place += name;
  };
  for (const Step& step : steps_) {
    field(step.field);
    if (step.index >= 0) place += fmt::format("[{}]", step.index);
    if (!step.name.empty()) place += " " + quoted(step.name);
  }
  if (field_ != nullptr) field(field_);
  const auto offset = at_ - bytes_.data();
  return fmt::format("{}{}at byte {}: {}", place, place.empty() ? "" : " ", offset, what);
}

Result<std::shared_ptr<const MappedFile>> Context::map(const std::filesystem::path& path) {
  const auto found = mapped_.find(path);
  if (found != mapped_.end()) return found->second;
  charge(path.native().size() + sizeof(*found));
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (file) mapped_.emplace(path, *file);
  return file;
}

void Context::charge(size_t bytes) {
  const size_t wanted = bytes + kBlockBytes;
  if (wanted > budget_) {
    refuse(fmt::format("what this file describes takes more memory than its own size and {} MB",
                       kFreeBytes >> 20),
           ErrorCode::kMemory);
  }
  budget_ -= wanted;
}

}  // namespace hone::onnx
