// SPDX-License-Identifier: Apache-2.0
#pragma once

struct sqlite3;

namespace hone::runtime {

/// Gives a connection the SQL function hone_sum(...): a number of all its arguments, which differs
/// where a byte of one does. Returns SQLite's code.
int add_checksum(sqlite3* db);

}  // namespace hone::runtime
