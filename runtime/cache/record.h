// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::runtime {

/// The identity of a record. The problem's canonical text is the semantic part; target and code
/// generation are the context. A result measured in another context is a hint, not a fact.
struct Key {
  std::string problem;
  std::string target;  ///< canonical target text, threads included
  int codegen = 0;     ///< jit::kCodeGeneration of the emitter
  bool operator==(const Key&) const = default;
};

/// The verdict of a candidate that was checked and timed; any other word names what went wrong.
inline constexpr std::string_view kVerdictOk = "ok";

/// What is known of one schedule for one key. A verdict other than ok quarantines the schedule.
struct Record {
  Key key;
  std::string schedule;
  std::string verdict = std::string(kVerdictOk);
  double median_us = 0;
  std::vector<double> samples_us;
  std::string numerics;
  uint64_t seed = 0;
  std::string note;  ///< what a failure looked like

  bool ok() const { return verdict == kVerdictOk; }
};

/// One line of the log of a tuning run, kept as it is made: a killed run resumes from it.
struct Trial {
  Key key;
  std::string run;  ///< seed, strategy and effort: what makes the run replayable
  int64_t number = 0;
  std::string schedule;
  std::string verdict;  ///< ok, rejected, or what went wrong
  double median_us = 0;
  std::string note;
};

/// Weights of the estimate, fitted to the trials of one context.
struct Weights {
  std::string text;    ///< `ports=1 issue=0.2 ...`
  int64_t trials = 0;  ///< that were logged when they were fitted
};

/// Whether the problem of a key is a graph, `graph mlp 6c62.. B=1..64` with a hash of its text.
bool names_graph(std::string_view problem);

/// The problem's text without the values of its dims: problems of one family may share schedules.
std::string family_of(std::string_view problem);

/// How far apart two problems of one family are: the sum of |log2| of the ratios of their dims.
double shape_distance(std::string_view a, std::string_view b);

/// Distance between two contexts; 0 where they are equal. Another vector width weighs most, then
/// the CPU model and the threads, then caches and the code generation. Infinite where the record is
/// of no use. A schedule tuned for PTX of an earlier generation (`ptx=86`) is not preferred to a
/// default that may use more.
double context_distance(const Key& record, const Key& asked);

}  // namespace hone::runtime
