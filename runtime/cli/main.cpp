// SPDX-License-Identifier: Apache-2.0
// The hone program: one verb a file, listed here.
#include <signal.h>

#include "include/hone/version.h"
#include "runtime/cli/common.h"

namespace {

using namespace hone::runtime;

constexpr const Verb* kVerbs[] = {&kRunVerb,   &kTuneVerb,    &kShowVerb,   &kCacheVerb,
                                  &kBenchVerb, &kFuzzVerb,    &kTargetVerb, &kOpsVerb,
                                  &kGradVerb,  &kQuantizeVerb};

}  // namespace

int main(int argc, char** argv) {
  // A file-size limit is a full disk to the cache, not a reason to die.
  signal(SIGXFSZ, SIG_IGN);
  CLI::App app("hone: describes an op in a line, searches its loops, runs the machine code",
               "hone");
  app.set_version_flag("--version", std::string("hone ") + hone::version());
  app.require_subcommand(1);
  int exit = kExitOk;
  for (const Verb* verb : kVerbs) verb->declare(*app.add_subcommand(verb->name, verb->doc), exit);
  return run_program(app, argc, argv, exit);
}
