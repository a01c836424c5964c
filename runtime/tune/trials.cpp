// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <thread>

namespace hone::runtime {
namespace {

/// Chosen: patience with a loaded machine (not measured).
constexpr int kOpenMs = 120000;
constexpr int kMomentMs = 3000;     // between two words of a worker, however late it is
constexpr int kCompilerMs = 30000;  // the same where a compiler for GPUs is at work
constexpr int kOnHostMs = 300000;   // copies and comparisons of a trial on a GPU
constexpr int kOnGpuMs = 20000;     // what a GPU is waited for at most, by the worker itself
constexpr int kTrialsOfAWorker = 1000;
constexpr int kStarts = 5;   // of a worker that is killed as it starts
constexpr int kRestMs = 20;  // before another start, longer each time
constexpr int kRuns = 3;     // of a trial whose worker is killed

/// What a worker may say of a candidate.
constexpr std::string_view kVerdicts[] = {
    "ok",      "slow", "refused",          "wrong", "clobbers", "overwrites",
    "faulted", "hung", "nondeterministic", "bug"};

/// A time as it may be: neither negative nor infinite, nor text.
bool parse_time(std::string_view text, double* value) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, *value);
  return read.ec == std::errc() && read.ptr == end && std::isfinite(*value) && *value >= 0;
}

bool parse_times(std::string_view list, std::vector<double>* times) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    if (!parse_time(list.substr(0, end), &times->emplace_back())) return false;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return true;
}

/// What a worker says of a trial, or what no worker says.
Result<Outcome, std::string> outcome_of(const Message& m, bool timed) {
  Outcome out;
  out.verdict = std::string(m.get("verdict"));
  out.note = std::string(m.get("note"));
  out.disturbed = m.number("disturbed") != 0;
  const auto wrong = [&](std::string_view field) {
    return fmt::format("`{}` is no {}", m.get(field).substr(0, 40), field);
  };
  if (m.verb != "result") return fmt::format("it said `{}` of a trial", m.verb);
  if (std::find(std::begin(kVerdicts), std::end(kVerdicts), out.verdict) == std::end(kVerdicts)) {
    return wrong("verdict");
  }
  if (!out.ok() && !out.slow()) return out;
  if (!parse_time(m.get("median_us"), &out.median_us)) return wrong("median_us");
  if (!parse_times(m.get("samples_us"), &out.samples_us)) return wrong("samples_us");
  if (!parse_times(m.get("points_us"), &out.points_us)) return wrong("points_us");
  const auto cores = m.get("cores");
  if (!cores.empty() && !parse_time(cores, &out.cores)) return wrong("cores");
  if (timed && out.median_us == 0) return wrong("median_us");
  return out;
}

Failure stopped() { return {ErrorCode::kCancelled, "stopped before a trial"}; }

/// The failure that a worker tells, of the kind that it names.
Failure told(const Message& m) {
  const int64_t code = m.number("code");
  const bool known = code > 0 && code <= static_cast<int64_t>(ErrorCode::kDevice);
  return {known ? static_cast<ErrorCode>(code) : ErrorCode::kInternal, std::string(m.get("error"))};
}

}  // namespace

Patience Trials::patience(int most_ms, bool compiles) const {
  return {most_ms, deadline_, compiles ? kCompilerMs : kMomentMs};
}

Result<Done> Trials::open() {
  Message open{"open", {}};
  open.add("problem", problem_).add("target", target_);
  open.add("gpu", static_cast<int64_t>(gpu_)).add("again", static_cast<int64_t>(opened_));
  std::string why;
  for (int start = 1; start <= kStarts; ++start) {
    auto worker = WorkerProcess::start(program_);
    if (!worker) return worker.failure();
    WorkerProcess& w = **worker;
    auto reply = w.ask(open, patience(kOpenMs, target_.starts_with("cuda")), stop_);
    if (w.ending() == Ending::kStopped) return stopped();
    if (reply && reply->verb == "opened") {
      if (!reply->get("error").empty()) return told(*reply);
      worker_ = std::move(*worker);
      opened_ = true;
      trials_ = 0;
      return Done{};
    }
    if (reply) w.disown("it said `" + reply->verb + "` when it was to open a problem");
    why = w.why();
    if (w.ending() == Ending::kLate) {
      return Failure{ErrorCode::kUnsupported,
                     "the worker did not open `" + problem_ + "` in the time given"};
    }
    if (w.ending() != Ending::kLost) {
      return Failure{ErrorCode::kInternal, "the worker failed on `" + problem_ + "`: " + why};
    }
    if (Clock::now() >= deadline_) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(kRestMs * start));
  }
  return Failure{ErrorCode::kUnsupported, "the worker " + program_ + " does not last: " + why};
}

void Trials::expect(const std::string& schedule) {
  if (worker_) worker_->tell(Message{"expect", {}}.add("schedule", schedule));
}

/// What became of a trial whose worker is gone.
Result<Outcome> Trials::lost() {
  const std::unique_ptr<WorkerProcess> worker = std::move(worker_);
  if (worker->ending() == Ending::kStopped) return stopped();
  Outcome out;
  out.note = worker->why();
  if (worker->ending() == Ending::kLate || worker->ending() == Ending::kLost) {
    out.verdict = worker->ending() == Ending::kLate ? "late" : "lost";
    return out;
  }
  // The verdict stands before the colon.
  const size_t colon = std::min(out.note.find(": "), out.note.size());
  out.verdict = out.note.substr(0, colon);
  out.note.erase(0, std::min(colon + 2, out.note.size()));
  return out;
}

Result<Outcome> Trials::run(const std::string& schedule, const TrialTiming& timing) {
  for (int left = kRuns;; --left) {
    auto tried = run_once(schedule, timing);
    if (!tried || !tried->lost() || left == 1 || Clock::now() >= deadline_) return tried;
  }
}

Result<Outcome> Trials::run_once(const std::string& schedule, const TrialTiming& timing) {
  if (!worker_ || trials_ == kTrialsOfAWorker) {
    auto opened = open();
    if (!opened) return opened.failure();
  }
  ++trials_;
  std::optional<Message> reply;
  if (target_.starts_with("cuda")) {
    // A compiler that takes long is no candidate that hangs.
    const Message build = Message{"build", {}}.add("schedule", schedule);
    reply = worker_->ask(build, patience(kOpenMs, true), stop_);
    if (!reply) return lost();
  }
  Message m{"try", {}};
  m.add("schedule", schedule).add("samples", static_cast<int64_t>(timing.samples));
  m.add("sample_us", timing.sample_us).add("give_up_us", timing.give_up_us);
  m.add("hopeless_us", timing.hopeless_us).add("placement", placement_);
  const bool on_gpu = target_.starts_with("cuda");
  if (on_gpu) m.add("wait_ms", static_cast<double>(std::min(timeout_ms_, kOnGpuMs)));
  if (!reply || reply->verb == "built") {
    const int most = on_gpu ? timeout_ms_ + kOnHostMs : timeout_ms_;
    reply = worker_->ask(m, patience(most, on_gpu), stop_);
  }
  if (!reply) return lost();
  if (reply->verb == "error") {
    worker_.reset();
    return told(*reply);
  }
  auto out = outcome_of(*reply, timing.samples > 0);
  if (!out) {
    worker_->disown(out.failure());
    return lost();
  }
  // What a candidate broke without dying may break the next one.
  if (!out->ok() && !out->refused() && !out->slow()) worker_.reset();
  return *std::move(out);
}

}  // namespace hone::runtime
