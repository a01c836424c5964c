// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "runtime/cache/checksum.h"
#include "runtime/cache/file_size_signal.h"

namespace hone::runtime {
namespace {

/// Chosen: patience with another process (not measured).
constexpr int kBusyMilliseconds = 1000;

Trouble trouble_of(sqlite3* db, int code) {
  Trouble::Kind kind = Trouble::kOther;
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      kind = Trouble::kCorrupt;
      break;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      kind = Trouble::kReadOnly;
      break;
    case SQLITE_FULL:
    case SQLITE_IOERR:
      kind = Trouble::kFull;
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      kind = Trouble::kBusy;
      break;
    default:
      break;
  }
  return {kind,
          fmt::format("{} (SQLite {})", db ? sqlite3_errmsg(db) : sqlite3_errstr(code), code)};
}

/// `path` as a URI: the characters that mean something there are escaped.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

Statement::~Statement() {
  const FileSizeSignal held;
  sqlite3_finalize(handle_);
}

Statement& Statement::bind(std::string_view text) {
  sqlite3_bind_text(handle_, next_++, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(int64_t value) {
  sqlite3_bind_int64(handle_, next_++, value);
  return *this;
}

Statement& Statement::bind(double value) {
  sqlite3_bind_double(handle_, next_++, value);
  return *this;
}

Statement& Statement::bind_bytes(const std::vector<uint8_t>& bytes) {
  sqlite3_bind_blob64(handle_, next_++, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool, Trouble> Statement::step() {
  const FileSizeSignal held;
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return trouble_of(sqlite3_db_handle(handle_), code);
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  return bytes ? std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(handle_, column)))
               : std::string();
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

double Statement::real(int column) const { return sqlite3_column_double(handle_, column); }

std::vector<uint8_t> Statement::bytes(int column) const {
  const auto* data = static_cast<const uint8_t*>(sqlite3_column_blob(handle_, column));
  const int size = sqlite3_column_bytes(handle_, column);
  return data ? std::vector<uint8_t>(data, data + size) : std::vector<uint8_t>();
}

Result<Database, Trouble> Database::open(const std::string& path, Mode mode) {
  const FileSizeSignal held;
  int flags = SQLITE_OPEN_NOMUTEX;
  flags |= mode == Mode::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const bool immutable = mode == Mode::kImmutable;
  if (immutable) flags |= SQLITE_OPEN_URI;
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(immutable ? uri_of(path).c_str() : path.c_str(), &handle, flags, nullptr);
  if (code != SQLITE_OK) {
    const Trouble trouble = trouble_of(handle, code);
    sqlite3_close(handle);
    return trouble;
  }
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  add_checksum(handle);
  sqlite3_extended_result_codes(handle, 1);
  return Database(handle);
}

Database::~Database() {
  const FileSizeSignal held;
  sqlite3_close(handle_);
}

Result<bool, Trouble> Database::run(const char* sql) {
  const FileSizeSignal held;
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return trouble_of(handle_, code);
  return true;
}

Result<Statement, Trouble> Database::prepare(std::string_view sql) {
  const FileSizeSignal held;
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return trouble_of(handle_, code);
  return Statement(statement);
}

Result<std::string, Trouble> Database::text(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return statement.failure();
  const auto row = statement->step();
  if (!row) return row.failure();
  return *row ? statement->text(0) : std::string();
}

Result<int64_t, Trouble> Database::integer(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return statement.failure();
  const auto row = statement->step();
  if (!row) return row.failure();
  return *row ? statement->integer(0) : int64_t{0};
}

void Database::set_patience(int milliseconds) { sqlite3_busy_timeout(handle_, milliseconds); }

int64_t Database::changes() const { return sqlite3_changes(handle_); }

}  // namespace hone::runtime
