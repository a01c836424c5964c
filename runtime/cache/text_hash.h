// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace hone::runtime {

/// 128 bits of FNV-1a of some texts behind each other, in hex. Against accidents, not against
/// people.
std::string text_hash(std::initializer_list<std::string_view> texts);

}  // namespace hone::runtime
