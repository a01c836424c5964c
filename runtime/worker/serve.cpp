// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/serve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "runtime/worker/faults.h"
#include "runtime/worker/message.h"
#include "runtime/worker/session.h"

namespace hone::runtime {
namespace {

Message result_of(const Verdict& v) {
  Message m{"result", {}};
  m.add("verdict", v.word).add("note", v.note).add("median_us", v.median_us);
  m.add("samples_us", fmt::format("{}", fmt::join(v.samples_us, ",")));
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

}  // namespace

int serve_trials(int fd, bool allow_code) {
  Channel channel(fd);
  std::unique_ptr<Session> session;
  while (auto m = channel.receive(-1)) {
    Message reply{"error", {}};
    limit_cpu();
    if (m->verb == "open") {
      reply.verb = "opened";
      auto opened = Session::open(std::string(m->get("problem")), std::string(m->get("target")),
                                  static_cast<int>(m->number("gpu")), m->number("again") != 0);
      if (opened) {
        session = std::move(*opened);
      } else {
        reply.add("error", opened.failure().message);
      }
    } else if (m->verb == "expect") {
      if (session) session->expect(std::string(m->get("schedule")));
      continue;
    } else if (m->verb == "build" && session) {
      reply.verb = "built";
      session->build(std::string(m->get("schedule")));
    } else if (m->verb == "try" && session) {
      const Timing timing{static_cast<int>(m->number("samples")), m->real("sample_us"),
                          m->real("give_up_us"), m->real("hopeless_us")};
      reply = result_of(session->try_schedule(std::string(m->get("schedule")), timing));
    } else if (m->verb == "code" && session && allow_code) {
      reply = result_of(session->try_code(from_hex(m->get("bytes"))));
    } else {
      reply.add("error", "unexpected " + m->verb);
    }
    if (!channel.send(reply)) break;
  }
  return 0;
}

}  // namespace hone::runtime
