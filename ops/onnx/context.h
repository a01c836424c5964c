// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "include/hone/error.h"
#include "ops/onnx/mapped_file.h"

namespace hone::onnx {

/// Ends the reading of a file; only guarded() catches it.
struct Refusal {
  ErrorCode code;
  std::string what;
};

/// The file that is read: where in it reading has come to, and how much memory what was read takes.
class Context {
 public:
  /// `owner` keeps `bytes` alive, or is null; external data are in `folder`.
  Context(std::string_view bytes, std::shared_ptr<const void> owner, std::filesystem::path folder);

  const std::shared_ptr<const void>& owner() const { return owner_; }
  const std::filesystem::path& folder() const { return folder_; }

  /// Maps a file of external data, each but once.
  Result<std::shared_ptr<const MappedFile>> map(const std::filesystem::path& path);

  /// Reading has come to a field; `at` points to its value.
  void reach(const char* field, const char* at) {
    field_ = field;
    at_ = at;
  }
  /// How deep graphs are nested here.
  int graphs() const { return graphs_; }

  /// Calls `read` for the message in the field reached. `index` is -1 where there is but one.
  /// After an error the place stays, so that the failure can name it.
  template <class Read>
  void within(int64_t index, const Read& read) {
    steps_.push_back({field_, index, {}});
    field_ = nullptr;
    read();
    steps_.pop_back();
  }
  /// The same for a graph, which counts as one level.
  template <class Read>
  void within_graph(int64_t index, const Read& read) {
    ++graphs_;
    within(index, read);
    --graphs_;
  }
  /// Names the message that is being read.
  void name(std::string_view name) {
    if (!steps_.empty()) steps_.back().name = name;
  }

  /// Ends the reading; the failure says where.
  [[noreturn]] void refuse(std::string what, ErrorCode code = ErrorCode::kSemantic) const {
    throw Refusal{code, std::move(what)};
  }
  /// What a Refusal here says in full: the place, and `what`.
  std::string located(const std::string& what) const;

  /// Takes memory from the budget; refuses when it is spent.
  void charge(size_t bytes);
  /// Makes room for `count` elements.
  template <class T>
  void reserve(std::vector<T>& list, size_t count) {
    if (count == 0) return;
    charge(count * sizeof(T));
    list.reserve(count);
  }

 private:
  struct Step {
    const char* field;
    int64_t index;
    std::string_view name;
  };

  std::string_view bytes_;
  std::shared_ptr<const void> owner_;
  std::filesystem::path folder_;
  std::map<std::filesystem::path, std::shared_ptr<const MappedFile>> mapped_;
  std::vector<Step> steps_;
  const char* field_ = nullptr;
  const char* at_ = nullptr;
  int graphs_ = 0;
  size_t budget_;
};

/// A text of the file in quotes, fit for a message: short, and without control characters.
std::string quoted(std::string_view text);

}  // namespace hone::onnx
