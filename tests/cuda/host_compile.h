// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace hone::tests {

/// All of a file.
std::string read_file(const std::string& path);
/// Writes a file whole or not at all, since several may write it.
void write_file(const std::string& path, const std::string& text);
/// What no other thread calls its files, of whatever process.
std::string own_name();
/// A number that stands for a text.
uint64_t hash_of(const std::string& text);

/// The header that sources for the emulation include before anything else: the emulation and what
/// kernels are printed against. Beside it lie what the compiler can keep of it and the emulation's
/// sources, compiled, in a folder of the temporary folder, named by what it was made from.
std::string emulation_header();

/// Compiles a source for this machine into a library, with the emulation whose header is `header`;
/// what the compiler says, or "". A compiler that takes more than 2 GB ends with an error.
std::string compile_library(const std::string& source, const std::string& library,
                            const std::string& header);

}  // namespace hone::tests
