// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "runtime/cache/record.h"

namespace hone::bench {

/// Tuned schedules in a folder of texts that `hone cache export` writes, a file for each group.
class TunedFolder {
 public:
  /// Reads all `*.txt` of `path`; no such folder is an empty one.
  static Result<TunedFolder> read(const std::string& path);

  /// The fastest good record of a problem made where `key` says, else of the nearest place.
  std::optional<runtime::Record> find(const runtime::Key& key) const;
  /// Keeps a record of `group`, in place of what was known of its problem and target.
  void put(const std::string& group, const runtime::Record& record);
  /// Writes the groups that something was put into, each with what else it had.
  Result<Done> write() const;

  const std::string& path() const { return path_; }

 private:
  struct File {
    std::vector<runtime::Record> records;
    bool changed = false;
  };

  std::string path_;
  std::map<std::string, File> files_;  ///< by name without `.txt`
};

}  // namespace hone::bench
