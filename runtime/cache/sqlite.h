// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "include/hone/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hone::runtime {

/// Why the database refused: what the cache does next depends on the kind.
struct Trouble {
  enum Kind : uint8_t {
    kCorrupt,   ///< the file's content makes no sense: set it aside
    kReadOnly,  ///< it can be read, not written
    kFull,      ///< disk full, file too large, or an input/output error
    kForeign,   ///< a database, but not a cache that this version reads
    kBusy,      ///< another process holds it past the timeout
    kOther,     ///< it cannot be opened, ...
  } kind = kOther;
  std::string message;
};

/// A prepared statement: bind in order, then step through rows.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
  Statement(Statement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  /// Binds the next parameter; text is copied.
  Statement& bind(std::string_view text);
  Statement& bind(int64_t value);
  Statement& bind(double value);
  Statement& bind_bytes(const std::vector<uint8_t>& bytes);

  /// True while there is a row.
  Result<bool, Trouble> step();
  std::string text(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  std::vector<uint8_t> bytes(int column) const;

 private:
  sqlite3_stmt* handle_;
  int next_ = 1;
};

/// One connection. Not for several threads at a time.
class Database {
 public:
  enum class Mode : uint8_t { kWrite, kRead, kImmutable };

  static Result<Database, Trouble> open(const std::string& path, Mode mode);
  Database(Database&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Database& operator=(Database&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Database();

  /// Runs statements that give no rows.
  Result<bool, Trouble> run(const char* sql);
  Result<Statement, Trouble> prepare(std::string_view sql);
  /// The first column of the first row, as text and as a number.
  Result<std::string, Trouble> text(std::string_view sql);
  Result<int64_t, Trouble> integer(std::string_view sql);
  /// Rows that the last statement changed.
  int64_t changes() const;
  /// How long statements wait for another process.
  void set_patience(int milliseconds);
  /// Gives up the handle without closing it: in a child after fork it is the parent's.
  void abandon() { handle_ = nullptr; }

 private:
  explicit Database(sqlite3* handle) : handle_(handle) {}
  sqlite3* handle_;
};

}  // namespace hone::runtime
