// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hone::runtime {

/// Answers the tuner's messages on `fd` until it is closed:
///   open problem= target= [again=1]                -> opened [code= error=]
///   expect schedule=                               (no answer)
///   build schedule=                                -> built
///   try schedule= samples= sample_us= give_up_us= hopeless_us= wait_ms= placement=
///                                                  -> result verdict= note= median_us= ...
///   code bytes=HEX (only with `allow_code`: tests) -> result ...
/// A `busy` line says that an answer is still worked on; `error code= error=` says that there is
/// none. After a crash the last line is `crash signal= address=`, or `killed` where somebody sent
/// the signal. Returns the process's exit code.
int serve_trials(int fd, bool allow_code);

}  // namespace hone::runtime
