// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "include/hone/error.h"

namespace hone::runtime {

/// What `f` gives. An exception that it throws is a bug of hone, which `bug` makes a result of,
/// given the text. Want of memory and refusals of the system are no bugs and pass.
template <class F, class Bug>
auto guarded(F f, Bug bug) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error&) {
    throw;
  } catch (const std::exception& e) {
    return bug(std::string(e.what()));
  }
}

/// The same at a door to users, who get no exception of these kinds: `what` names what was asked
/// for.
template <class F, class Bug>
auto guarded_door(const std::string& what, F f, Bug bug) -> decltype(f()) {
  try {
    return guarded(f, bug);
  } catch (const std::bad_alloc&) {
    return Failure{ErrorCode::kMemory, "the system has no more memory for `" + what + "`"};
  } catch (const std::system_error& e) {
    return Failure{ErrorCode::kUnsupported,
                   "the system refuses `" + what + "`: " + std::string(e.what())};
  }
}

}  // namespace hone::runtime
