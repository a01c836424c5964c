// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/diff/back_ends.h"
#include "tests/diff/subject.h"

namespace hone::tests {

/// The interpreter and the instruction sets of x86.
extern const std::vector<const BackEnd*> kCpuBackEnds;

/// A problem that must be good. `dims` are the values of Program::dims.
Subject subject_of(const std::string& problem, const std::vector<int64_t>& dims = {});

/// What a back end makes of a schedule: nothing wrong, or why it refuses, or what is wrong with the
/// line that repeats it.
std::string outcome(const std::string& problem, const std::string& steps, const BackEnd& back_end,
                    const std::vector<int64_t>& dims = {});

/// Checks that no back end which runs here refuses a schedule or makes anything wrong of it.
void expect_right(Subject* subject, const schedules::Schedule& schedule,
                  std::span<const BackEnd* const> back_ends = kCpuBackEnds);
void expect_right(const std::string& problem, const std::vector<std::string>& schedules,
                  const std::vector<int64_t>& dims = {},
                  std::span<const BackEnd* const> back_ends = kCpuBackEnds);

}  // namespace hone::tests
