// SPDX-License-Identifier: Apache-2.0
//
// No test case may hang. One that takes too long is aborted, so that doctest names it and prints
// what it captured, long before the whole program's time is up.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <signal.h>
#include <time.h>

#include "tests/support/effort.h"

namespace hone::tests {

namespace {

/// What a case may take, in seconds, unless HONE_TEST_SECONDS says otherwise; 0: no limit.
/// Fixed by: the slowest case takes two minutes on an idle machine; those of a long run, hours.
constexpr time_t kMostSeconds = 900;

class CaseTimeLimit final : public doctest::IReporter {
 public:
  explicit CaseTimeLimit(const doctest::ContextOptions&) {
    sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGABRT;
    const bool hours = effort() == Effort::kLong;
    seconds_ = static_cast<time_t>(setting("HONE_TEST_SECONDS", hours ? 0 : kMostSeconds));
    there_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
  }

  void test_case_start(const doctest::TestCaseData&) override { set(seconds_); }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override { set(0); }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  void set(time_t seconds) {
    if (!there_) return;
    itimerspec time = {};
    time.it_value.tv_sec = seconds;
    ::timer_settime(timer_, 0, &time, nullptr);
  }

  time_t seconds_ = 0;
  timer_t timer_ = {};
  bool there_ = false;
};

REGISTER_LISTENER("time_limit", 1, CaseTimeLimit);

}  // namespace

}  // namespace hone::tests
