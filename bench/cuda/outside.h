// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace hone::bench {

/// Files of this name in the Python environments of this machine: the active one, those that PATH
/// leads to, the system's. Packages bring libraries of their own in `nvidia/PACKAGE/lib`.
std::vector<std::string> python_libraries(const std::string& name);

/// A library that is opened at run time and stays: the build needs nothing of it.
class OutsideLibrary {
 public:
  /// The first of `names` that the system finds, else that a Python environment has.
  explicit OutsideLibrary(std::initializer_list<const char*> names) {
    for (const char* name : names) open(name);
    for (const char* name : names) {
      for (const std::string& file : python_libraries(name)) open(file);
    }
  }
  /// Sets `function` to what `name` names; false where there is none.
  template <class F>
  bool find(const char* name, F& function) const {
    function = library_ ? reinterpret_cast<F>(dlsym(library_, name)) : nullptr;
    return function != nullptr;
  }

 private:
  void open(const std::string& name) {
    if (!library_) library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  }

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
