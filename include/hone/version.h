// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hone/export.h"

namespace hone {

/// The version of the library that is linked, as "major.minor.patch".
HONE_API const char* version();

}  // namespace hone
