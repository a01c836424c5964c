// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <initializer_list>

namespace hone::bench {

/// A library that is opened at run time and stays: the build needs nothing of it.
class OutsideLibrary {
 public:
  /// The first of `names` that there is.
  explicit OutsideLibrary(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (!library_) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
  }
  /// Sets `function` to what `name` names; false where there is none.
  template <class F>
  bool find(const char* name, F& function) const {
    function = library_ ? reinterpret_cast<F>(dlsym(library_, name)) : nullptr;
    return function != nullptr;
  }

 private:
  void* library_ = nullptr;
};

/// Calls of such libraries, one after the other until one is wrong: each gives 0 when all is well.
class OutsideCalls {
 public:
  template <class F, class... Args>
  void operator()(F function, Args... args) {
    if (fine_) fine_ = function(args...) == 0;
  }
  /// Whether all were.
  bool fine() const { return fine_; }

 private:
  bool fine_ = true;
};

}  // namespace hone::bench
