// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/trials.h"

#include <algorithm>
#include <charconv>

namespace hone::runtime {
namespace {

constexpr int kOpenMs = 120000;
constexpr int kTrialsOfAWorker = 1000;

std::vector<double> numbers(std::string_view list) {
  std::vector<double> out;
  const char* at = list.data();
  const char* end = at + list.size();
  while (at < end) {
    double v = 0;
    const auto read = std::from_chars(at, end, v);
    if (read.ec != std::errc()) break;
    out.push_back(v);
    at = read.ptr + 1;
  }
  return out;
}

Failure stopped() { return {ErrorCode::kCancelled, "stopped before a trial"}; }

}  // namespace

Result<std::monostate> Trials::open() {
  auto worker = WorkerProcess::start(program_);
  if (!worker) return worker.failure();
  Message open{"open", {}};
  open.add("problem", problem_).add("target", target_);
  open.add("gpu", static_cast<int64_t>(gpu_)).add("again", static_cast<int64_t>(opened_));
  auto reply = (*worker)->ask(open, kOpenMs, stop_);
  if (!reply && stop_.stop_requested()) return stopped();
  if (!reply) {
    return Failure{ErrorCode::kInternal,
                   "the worker failed on `" + problem_ + "`: " + (*worker)->ending()};
  }
  if (const auto error = reply->get("error"); !error.empty()) {
    return Failure{ErrorCode::kInternal, std::string(error)};
  }
  worker_ = std::move(*worker);
  opened_ = true;
  trials_ = 0;
  return std::monostate{};
}

void Trials::expect(const std::string& schedule) {
  if (worker_) worker_->tell(Message{"expect", {}}.add("schedule", schedule));
}

/// What became of a trial whose worker is gone.
Result<Outcome> Trials::lost() {
  const std::string ending = worker_->ending();
  worker_.reset();
  if (stop_.stop_requested()) return stopped();
  // The verdict stands before the colon.
  const size_t colon = std::min(ending.find(": "), ending.size());
  Outcome out;
  out.verdict = ending.substr(0, colon);
  out.note = ending.substr(std::min(colon + 2, ending.size()));
  return out;
}

Result<Outcome> Trials::run(const std::string& schedule, const TrialTiming& timing) {
  if (!worker_ || trials_ == kTrialsOfAWorker) {
    auto opened = open();
    if (!opened) return opened.failure();
  }
  ++trials_;
  if (target_.starts_with("cuda")) {
    // A compiler that takes long is no candidate that hangs.
    auto built = worker_->ask(Message{"build", {}}.add("schedule", schedule), kOpenMs, stop_);
    if (!built) return lost();
  }
  Message m{"try", {}};
  m.add("schedule", schedule).add("samples", static_cast<int64_t>(timing.samples));
  m.add("sample_us", timing.sample_us).add("give_up_us", timing.give_up_us);
  m.add("hopeless_us", timing.hopeless_us);
  auto reply = worker_->ask(m, timeout_ms_, stop_);
  if (!reply) return lost();
  Outcome out;
  out.verdict = std::string(reply->get("verdict"));
  out.note = std::string(reply->get("note"));
  out.median_us = reply->real("median_us");
  out.samples_us = numbers(reply->get("samples_us"));
  out.disturbed = reply->number("disturbed") != 0;
  out.cores = reply->real("cores");
  // What a candidate broke without dying may break the next one.
  if (!out.ok() && !out.refused() && !out.slow()) worker_.reset();
  return out;
}

}  // namespace hone::runtime
