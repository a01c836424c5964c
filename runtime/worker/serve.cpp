// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/serve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>
#include <functional>
#include <new>

#include "runtime/check/faults.h"
#include "runtime/worker/message.h"
#include "runtime/worker/session.h"

namespace hone::runtime {
namespace {

/// Chosen: a fraction of the shortest patience with a worker (not measured).
constexpr auto kBusyEvery = std::chrono::milliseconds(500);

Message result_of(const Verdict& v) {
  Message m{"result", {}};
  m.add("verdict", v.word).add("note", v.note).add("median_us", v.median_us);
  m.add("samples_us", fmt::format("{}", fmt::join(v.samples_us, ",")));
  m.add("points_us", fmt::format("{}", fmt::join(v.points_us, ",")));
  m.add("disturbed", static_cast<int64_t>(v.disturbed)).add("cores", v.cores);
  m.add("max_err", v.max_err).add("jit_us", v.jit_us);
  m.add("code_bytes", v.report.code_bytes).add("spills", static_cast<int64_t>(v.report.spills));
  m.add("inner_spills", static_cast<int64_t>(v.report.inner_spills));
  return m;
}

std::vector<uint8_t> from_hex(std::string_view text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    uint8_t b = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, b, 16);
    bytes.push_back(b);
  }
  return bytes;
}

void add_failure(Message& reply, const Failure& failure) {
  reply.add("code", static_cast<int64_t>(failure.code)).add("error", failure.message);
}

/// The answer to `m`; its verb is empty where there is none.
Message answer(const Message& m, bool allow_code, const std::function<void()>& busy,
               std::unique_ptr<Session>& session) {
  Message reply{"error", {}};
  if (m.verb == "open") {
    reply.verb = "opened";
    auto opened = Session::open(std::string(m.get("problem")), std::string(m.get("target")),
                                static_cast<int>(m.number("gpu")), m.number("again") != 0, busy);
    if (opened) {
      session = std::move(*opened);
    } else {
      add_failure(reply, opened.failure());
    }
  } else if (m.verb == "expect") {
    if (session) session->expect(std::string(m.get("schedule")));
    reply.verb.clear();
  } else if (m.verb == "build" && session) {
    reply.verb = "built";
    session->build(std::string(m.get("schedule")));
  } else if (m.verb == "try" && session) {
    const Timing timing{static_cast<int>(m.number("samples")),
                        m.real("sample_us"),
                        m.real("give_up_us"),
                        m.real("hopeless_us"),
                        m.real("wait_ms"),
                        m.number("placement")};
    reply = result_of(session->try_schedule(std::string(m.get("schedule")), timing));
  } else if (m.verb == "code" && session && allow_code) {
    reply = result_of(session->try_code(from_hex(m.get("bytes"))));
  } else {
    add_failure(reply, {ErrorCode::kInternal, "unexpected " + m.verb});
  }
  return reply;
}

/// The answer to `m` where hone threw: a candidate has failed, and the worker serves the next one.
Message bug_in(const Message& m, const std::string& what) {
  if (m.verb == "try" || m.verb == "code") {
    Verdict v;
    v.word = "bug";
    v.note = "a bug: " + what;
    return result_of(v);
  }
  Message reply{m.verb == "open" ? "opened" : "error", {}};
  add_failure(reply, {ErrorCode::kInternal, "a bug: " + what});
  return reply;
}

}  // namespace

int serve_trials(int fd, bool allow_code) {
  Channel channel(fd);
  // Seldom, so that who hears it takes no core from what is timed.
  auto said = std::chrono::steady_clock::now();
  const auto busy = [&] {
    if (std::chrono::steady_clock::now() - said < kBusyEvery) return;
    said = std::chrono::steady_clock::now();
    channel.send(Message{"busy", {}});
  };
  std::unique_ptr<Session> session;
  while (auto m = channel.receive(-1)) {
    Message reply;
    limit_cpu();
    try {
      reply = answer(*m, allow_code, busy, session);
    } catch (const std::bad_alloc&) {
      // No verdict on the candidate: another worker may have the memory.
      reply = {m->verb == "open" ? "opened" : "error", {}};
      add_failure(reply, {ErrorCode::kMemory, "the worker got no more memory from the system"});
    } catch (const std::exception& bug) {
      reply = bug_in(*m, bug.what());
    }
    if (!reply.verb.empty() && !channel.send(reply)) break;
  }
  return 0;
}

}  // namespace hone::runtime
