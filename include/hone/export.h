// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what libhone.so exports; everything else in the library is hidden.
#define HONE_API __attribute__((visibility("default")))
