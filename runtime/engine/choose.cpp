// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "runtime/build/guard.h"
#include "runtime/engine/engine_state.h"
#include "schedules/model/model.h"
#include "schedules/numerics.h"
#include "schedules/search/sampling.h"
#include "schedules/space/space.h"

namespace hone::runtime {
namespace {

/// How many near records are tried before the default serves.
/// Chosen: time that a compile may take (not measured).
constexpr size_t kNearTried = 4;

/// How many structures are tried where the default's is refused, before the plain loops serve.
/// Chosen: time that a compile may take (not measured).
constexpr int kOthersTried = 12;

/// Accesses to the frame in innermost loops that a default may have, whatever its length, and how
/// many instructions there must be to each beyond.
/// Chosen: by what code that is busy with its frame looks like (not measured).
constexpr int kFewSpills = 96;
constexpr int kInstructionsToSpill = 8;
/// What something else may take by estimate, as a multiple of what spills too much.
/// Chosen: the estimate's error, with room (not measured).
constexpr double kInsteadOfSpills = 4;

/// How many candidates are looked at for one of a pinned numerics class.
/// Chosen: time that a compile may take (not measured).
constexpr int kClassTried = 400;

using Kernel = std::shared_ptr<const KernelState>;

/// One compile without a given schedule.
class Choice {
 public:
  Choice(EngineState* engine, const ops::Problem& problem, const schedules::Scheduled* derived)
      : engine_(engine), problem_(problem), derived_(derived), key_(engine->key_of(problem.text)) {}

  Result<Kernel> run() {
    if (auto record = engine_->cache->best(key_)) {
      if (auto k = attempt(record->schedule, Source::kTuned)) return *k;
    }
    const std::vector<Record> near = engine_->cache->near(key_);
    for (size_t i = 0; i < near.size() && i < kNearTried && !failed_; ++i) {
      if (auto k = attempt(near[i].schedule, Source::kTransferred)) return *k;
    }
    if (engine_->options.require_hit && !failed_) {
      return Failure{
          ErrorCode::kNotFound,
          fmt::format("`{}` has no tuned schedule for {}, nor has a problem near it, and "
                      "require_hit is set; tune it first",
                      problem_.text, engine_->target_text)};
    }
    if (!failed_) {
      if (auto k = attempt_derived()) return *k;
    }
    return failed_ ? *failed_ : plain();
  }

 private:
  /// What the rules come to. Where hone throws, the host is told of the bug, and others are tried.
  std::optional<Kernel> attempt_derived() {
    std::string schedule;
    const auto sound = [&](auto attempt) {
      return guarded(attempt, [&](const std::string& what) {
        engine_->services->tell(Event::kBug, [&] {
          return fmt::format("a bug: {}\n  {} | {} |", what, problem_.text, engine_->target_text);
        });
        return std::optional<Kernel>();
      });
    };
    auto k = sound([&] { return attempt_default(&schedule); });
    if (k && !spills_much(**k)) return k;
    auto other = sound([&] { return attempt_fallback(schedule); });
    if (other && (!k || instead(**other, **k))) return other;
    if (k) return k;
    if (auto found = sound([&] { return attempt_others(schedule); })) return found;
    return sound([&] { return attempt_class(); });
  }

  /// A kernel of that schedule. Nothing where its sums run in another order than the problem pins,
  /// or where it is rejected. A rejection is a defect that the host hears of, except for a
  /// transferred schedule.
  std::optional<Kernel> attempt(const std::string& schedule, Source source) {
    if (source != Source::kTuned && quarantined(schedule)) {
      if (source == Source::kDefault) tell_quarantined(schedule);
      return std::nullopt;
    }
    auto k = build_kernel(engine_->services, input(schedule, source));
    if (k) return pinned(**k) ? std::optional(*k) : std::nullopt;
    note(k);
    if (source != Source::kTransferred) tell_rejected(k.failure(), schedule, source);
    return std::nullopt;
  }

  /// The schedule that the rules derive, `tried`. It may be illegal, which is no defect: then the
  /// schedule of those rules that give a legal one.
  std::optional<Kernel> attempt_default(std::string* tried) {
    BuildInput in = input("", Source::kDefault);
    in.scheduled =
        derived_ ? *derived_ : schedules::analytic_schedule(problem_.program, engine_->target);
    in.schedule = *tried = in.scheduled->schedule.text();
    if (quarantined(in.schedule)) {
      tell_quarantined(in.schedule);
      return std::nullopt;
    }
    auto k = build_kernel(engine_->services, in);
    if (k) return pinned(**k) ? std::optional(*k) : std::nullopt;
    note(k);
    if (k.failure().kind == ir::Reject::kIllegal) {
      *tried = schedules::default_schedule(problem_.program, engine_->target).text();
      return attempt(*tried, Source::kDefault);
    }
    tell_rejected(k.failure(), in.schedule, Source::kDefault);
    return std::nullopt;
  }

  void tell_rejected(const ir::Reject& why, const std::string& schedule, Source source) const {
    // A bug has been told, and another compiler may refuse what hone's own back ends take.
    const bool told = why.kind == ir::Reject::kBug || why.kind == ir::Reject::kFailed;
    if (told || engine_->target.halide) return;
    engine_->services->tell(Event::kBug, [&] {
      return fmt::format("a {} schedule is rejected: {}\n  {} | {} | {}", name_of(source),
                         why.text(), problem_.text, engine_->target_text, schedule);
    });
  }

  /// True for code that is busy keeping registers in memory: something simpler serves better.
  static bool spills_much(const KernelState& k) {
    const int accesses = std::max(k.report.inner_spills, k.report.spills);
    return accesses > kFewSpills && accesses * kInstructionsToSpill > k.report.instructions;
  }

  bool instead(const KernelState& other, const KernelState& spilling) const {
    return estimate(other.schedule) <= kInsteadOfSpills * estimate(spilling.schedule);
  }

  double estimate(const std::string& schedule) const {
    const auto steps = schedules::Schedule::parse(schedule);
    const auto program = schedules::apply(problem_.program, *steps);
    return schedules::examine(*program, engine_->target).cycles;
  }

  /// What is left of the default's structure without what is refused, or spills.
  std::optional<Kernel> attempt_fallback(const std::string& rejected) {
    if (engine_->target.is_cuda()) return std::nullopt;
    Kernel last;
    const schedules::Schedule found = schedules::fallback_schedule(
        problem_.program, engine_->target, [&](const schedules::Schedule& schedule) {
          const std::string text = schedule.text();
          if (failed_ || text == rejected || quarantined(text)) return false;
          auto k = build_kernel(engine_->services, input(text, Source::kDefault));
          note(k);
          if (!k || !pinned(**k) || spills_much(**k)) return false;
          last = *k;
          return true;
        });
    if (found.steps.empty() || !last) return std::nullopt;
    return last;
  }

  /// The analytic schedules of the other structures that the rules see, in their order.
  std::optional<Kernel> attempt_others(const std::string& rejected) {
    for (const schedules::Space& space :
         schedules::derive_space(problem_.program, engine_->target, kOthersTried)) {
      const std::string text = space.analytic().text();
      if (failed_ || text.empty() || text == rejected || quarantined(text)) continue;
      auto k = build_kernel(engine_->services, input(text, Source::kDefault));
      if (k && pinned(**k)) return *k;
      note(k);
    }
    return std::nullopt;
  }

  /// A schedule of the pinned class at other values than the analytic ones.
  std::optional<Kernel> attempt_class() {
    if (problem_.numerics == "any") return std::nullopt;
    const std::vector<schedules::Space> spaces =
        schedules::derive_space(problem_.program, engine_->target);
    const schedules::SearchInput search{spaces, 1, {}, {}};
    schedules::Sampler sampler(search);
    for (int i = 0; i < kClassTried && !failed_; ++i) {
      const schedules::Candidate c = sampler.any();
      if (!sampler.take(c)) continue;
      const schedules::Schedule fixed =
          schedules::fix(spaces[static_cast<size_t>(c.space)].schedule, c.values);
      const auto program = schedules::apply(problem_.program, fixed);
      if (!program) continue;
      const std::string text = schedules::numerics_class(problem_.program, *program);
      if (!schedules::admits(problem_.numerics, text)) continue;
      if (quarantined(fixed.text())) continue;
      auto k = build_kernel(engine_->services, input(fixed.text(), Source::kDefault));
      if (k && pinned(**k)) return *k;
      note(k);
    }
    return std::nullopt;
  }

  /// Remembers why there is no kernel, where that is no matter of its schedule.
  void note(const Result<Kernel, ir::Reject>& k) {
    if (!k && k.failure().kind == ir::Reject::kFailed) failed_ = k.failure().failure();
  }

  /// Every loop as it stands. Where the back end refuses even these, or their code misbehaved, the
  /// interpreter serves. It cannot replace a GPU, whose memory it does not reach.
  Result<Kernel> plain() {
    if (engine_->services->gpu() && quarantined("")) {
      return Failure{ErrorCode::kUnsupported,
                     fmt::format("every schedule tried of `{}` misbehaved on this GPU when it was "
                                 "tuned; give a schedule, or tune again",
                                 problem_.text)};
    }
    BuildInput in = input("", Source::kDefault);
    in.options.refusal_rejects = false;
    in.options.interpret = quarantined("");
    auto k = build_kernel(engine_->services, in);
    if (!k && k.failure().kind == ir::Reject::kFailed) return k.failure().failure();
    if (!k) {
      return Failure{ErrorCode::kInternal,
                     fmt::format("the plain loops are rejected: {}\n  {} | {} | ",
                                 k.failure().text(), problem_.text, engine_->target_text)};
    }
    if (!pinned(**k)) {
      return Failure{
          ErrorCode::kUnsupported,
          fmt::format("no schedule that hone knows is of the numerics class `{}`; the "
                      "plain loops are of `{}`. Give a schedule of it, or `numerics=any`",
                      problem_.numerics, (*k)->numerics)};
    }
    if ((*k)->report.interpreted && engine_->target.vector_bytes() > 0) {
      engine_->services->tell(Event::kBug, [&] {
        return fmt::format("{} the plain loops, the interpreter serves\n  {} | {} | ",
                           quarantined("") ? "in quarantine:" : "no machine code for",
                           problem_.text, engine_->target_text);
      });
    }
    return *k;
  }

  /// True for what misbehaved here when it was tuned: it must not serve, whoever else it serves.
  bool quarantined(const std::string& schedule) {
    if (!quarantine_) quarantine_ = engine_->cache->quarantine(key_);
    return std::any_of(quarantine_->begin(), quarantine_->end(),
                       [&](const Record& r) { return r.schedule == schedule; });
  }

  void tell_quarantined(const std::string& schedule) const {
    engine_->services->tell(Event::kBug, [&] {
      return fmt::format("the default schedule is in quarantine, another serves\n  {} | {} | {}",
                         problem_.text, engine_->target_text, schedule);
    });
  }

  bool pinned(const KernelState& k) const {
    return schedules::admits(problem_.numerics, k.numerics);
  }

  BuildInput input(const std::string& schedule, Source source) const {
    return {&problem_, &engine_->target,        schedule, source,
            {},        engine_->compiler.get(), begun_,   std::nullopt};
  }

  EngineState* engine_;
  const ops::Problem& problem_;
  const schedules::Scheduled* derived_;
  Key key_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::optional<std::vector<Record>> quarantine_;  ///< of this key, once it was asked for
  std::optional<Failure> failed_;                  ///< not a matter of the schedule
};

}  // namespace

Result<Kernel> choose_kernel(EngineState* engine, const ops::Problem& problem,
                             const schedules::Scheduled* derived) {
  return Choice(engine, problem, derived).run();
}

}  // namespace hone::runtime
