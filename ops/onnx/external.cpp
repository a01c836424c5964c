// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "ops/onnx/mapped_file.h"
#include "ops/onnx/message.h"
#include "ops/onnx/reader.h"

namespace hone::onnx {
namespace {

namespace fs = std::filesystem;

/// The entry of that key, or nothing. The last one counts.
std::optional<std::string_view> find(const std::vector<Entry>& entries, std::string_view key) {
  std::optional<std::string_view> found;
  for (const Entry& entry : entries) {
    if (entry.key == key) found = entry.value;
  }
  return found;
}

/// The number in an entry, or `otherwise` when there is none of that key.
int64_t number(const std::vector<Entry>& entries, std::string_view key, int64_t otherwise,
               const Context& context) {
  const std::optional<std::string_view> text = find(entries, key);
  if (!text) return otherwise;
  int64_t value = -1;
  const char* end = text->data() + text->size();
  const auto [last, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || last != end || value < 0) {
    context.refuse(fmt::format("the {} {} of external data is no number of bytes; write digits",
                               key, quoted(*text)));
  }
  return value;
}

/// True if `path` is below `folder`, both canonical.
bool is_below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

/// The file of external data; it lies in the model's folder, whatever links lead there.
fs::path resolve(std::string_view location, const Context& context) {
  const fs::path path(location);
  bool inside = !location.empty() && path.is_relative() && location.find('\0') == location.npos;
  for (const fs::path& part : path) inside = inside && part != "..";
  if (!inside) {
    context.refuse(fmt::format("external data are in {}; a path below the model's folder is read",
                               quoted(location)));
  }
  if (context.folder().empty()) {
    context.refuse(fmt::format("external data are in {}, and no folder was given to look for it",
                               quoted(location)));
  }
  std::error_code error;
  const fs::path folder = fs::canonical(context.folder(), error);
  const fs::path file = error ? fs::path() : fs::canonical(folder / path, error);
  if (error) {
    context.refuse(
        fmt::format("external data in {} cannot be read: {}", quoted(location), error.message()),
        ErrorCode::kNotFound);
  }
  if (!is_below(file, folder)) {
    context.refuse(
        fmt::format("external data in {} are outside of the model's folder, where a "
                    "link leads; put the file itself there",
                    quoted(location)));
  }
  return file;
}

}  // namespace

ExternalData read_external(const std::vector<Entry>& entries, int64_t wanted, Context& context) {
  const std::optional<std::string_view> location = find(entries, "location");
  if (!location) context.refuse("external_data has no location; it names a file");
  const int64_t offset = number(entries, "offset", 0, context);
  const int64_t length = number(entries, "length", wanted, context);
  if (length != wanted) {
    context.refuse(
        fmt::format("the external data have {} bytes; this tensor has {}", length, wanted));
  }
  const Result<std::shared_ptr<const MappedFile>> file = context.map(resolve(*location, context));
  if (!file) context.refuse(file.failure().message, file.failure().code);
  const std::string_view bytes = (*file)->bytes();
  if (std::cmp_greater(offset, bytes.size()) ||
      std::cmp_greater(wanted, bytes.size() - static_cast<size_t>(offset))) {
    context.refuse(fmt::format("{} bytes of external data begin at byte {}; {} has {} bytes",
                               wanted, offset, quoted(*location), bytes.size()));
  }
  return {bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(wanted)), {*file}};
}

}  // namespace hone::onnx
