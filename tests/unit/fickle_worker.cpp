// SPDX-License-Identifier: Apache-2.0
// A worker that says that all is well, but for the schedule that HONE_FICKLE names, which is wrong;
// `*` names them all. HONE_REFUSES: every schedule but that of the plain loops is refused.
#include <signal.h>
#include <sys/prctl.h>

#include <cstdlib>
#include <string_view>

#include "runtime/worker/message.h"

int main() {
  using namespace hone::runtime;
  constexpr int kTunerFd = 3;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const char* named = std::getenv("HONE_FICKLE");
  const std::string_view wrong = named ? named : "";
  Channel channel(kTunerFd);
  while (const auto m = channel.receive(-1)) {
    Message reply{m->verb == "open" ? "opened" : "result", {}};
    const bool tries = m->verb == "try";
    const bool fails = named && tries && (wrong == "*" || m->get("schedule") == wrong);
    const bool refuses = std::getenv("HONE_REFUSES") && tries && !m->get("schedule").empty();
    reply.add("verdict", fails ? "wrong" : refuses ? "refused" : "ok");
    reply.add("note", fails ? "Y[0] is 1" : "");
    reply.add("median_us", 100.0).add("samples_us", "100,100").add("points_us", "50,100,200");
    if (!channel.send(reply)) break;
  }
}
