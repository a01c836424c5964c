// SPDX-License-Identifier: Apache-2.0
#include "bench/speed/tuned.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/cache/text.h"

namespace hone::bench {
namespace {

namespace fs = std::filesystem;
using runtime::Key;
using runtime::Record;

/// A schedule made for vectors of another width is none: context_distance gives it this, or more.
constexpr double kOtherVectors = 8;

/// A group's name as that of a file: `fc + bias + gelu` is `fc-bias-gelu`.
std::string file_name(const std::string& group) {
  std::string name;
  for (const char c : group) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      name += static_cast<char>(std::tolower(byte));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

}  // namespace

Result<TunedFolder> TunedFolder::read(const std::string& path) {
  TunedFolder folder;
  folder.path_ = path;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(path, none)) {
    if (entry.path().extension() != ".txt") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    auto records = runtime::parse_records(text, entry.path().string());
    if (!records) return records.failure();
    folder.files_[entry.path().stem().string()].records = *std::move(records);
  }
  return folder;
}

std::optional<Record> TunedFolder::find(const Key& key) const {
  const Record* best = nullptr;
  double least = kOtherVectors;
  for (const auto& [name, file] : files_) {
    for (const Record& r : file.records) {
      if (!r.ok() || r.key.problem != key.problem) continue;
      const double distance = runtime::context_distance(r.key, key);
      const bool nearer = distance < least;
      const bool faster = best && distance == least && r.median_us < best->median_us;
      if (!nearer && !faster) continue;
      best = &r;
      least = distance;
    }
  }
  return best ? std::optional(*best) : std::nullopt;
}

void TunedFolder::put(const std::string& group, const Record& record) {
  File& file = files_[file_name(group)];
  std::erase_if(file.records, [&](const Record& r) {
    return r.key.problem == record.key.problem && r.key.target == record.key.target;
  });
  file.records.push_back(record);
  file.changed = true;
}

Result<Done> TunedFolder::write() const {
  std::error_code error;
  fs::create_directories(path_, error);
  for (const auto& [name, file] : files_) {
    if (!file.changed) continue;
    const fs::path path = fs::path(path_) / (name + ".txt");
    std::ofstream out(path, std::ios::binary);
    out << runtime::print_records(file.records);
    out.close();
    if (!out) return Failure{ErrorCode::kCache, path.string() + " cannot be written"};
  }
  return Done{};
}

}  // namespace hone::bench
