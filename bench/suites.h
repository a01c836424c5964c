// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "runtime/cli/common.h"

namespace hone::bench {

/// Options of the bench program.
struct Options {
  runtime::Common common;
  std::string suite = "library";
  std::vector<std::string> problems;
  bool peers = false;
  std::string tune = "0s";
  std::chrono::milliseconds tuning{0};  ///< what `tune` says
  int rounds = 15;
  std::vector<std::string> groups;  ///< of the speed suite or `--target cuda`; empty: all
  bool list = false;                ///< name the problems, and run none
  // Of whole models:
  std::string models;             ///< a folder of them; empty: problems are run
  std::vector<std::string> dims;  ///< of those that have them, `batch=8`
  // Of the speed suite:
  std::vector<std::string> cases;     ///< rows, or models; empty: all
  std::string svg;                    ///< a file for a picture; empty: none
  std::string tuned = "bench/tuned";  ///< a folder of tuned records; `none`: no such
  std::string save_tuned;             ///< where those that serve are kept; empty: nowhere
  int schedules = 24;                 ///< of a problem, for the suite `estimate`
  double minutes = 0;                 ///< stop after so many; 0: when all is done
  // Of `--target cuda`:
  std::string state = "hone-bench-gpu.jsonl";  ///< what was found so far
  bool resume = false;                         ///< go on from there
  double limit = 0;                            ///< seconds that a problem may take; 0: any
  std::vector<std::string> forms;              ///< of kernels, beside those thought best
  bool tiny = false;                           ///< problems of a few elements
};

/// Default, tuned and peers in turns for every problem of the suite; a table, or a JSON row for
/// each contender. The exit code.
int run_races(const Options& options);

/// Text to kernel, call overhead, warm start.
int run_latency(const Options& options);

/// How well the cost model ranks schedules of the library's and of the outside problems.
int run_estimate(const Options& options);

/// The problems of a suite; `outside` ops are added to the engine by the caller.
std::vector<std::string> suite_problems(const std::string& suite);

/// The text of all files of bench/outside.
std::string_view outside_ops();

}  // namespace hone::bench
