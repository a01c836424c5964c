// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

namespace hone::runtime {

/// Where the best rates of a machine are kept between runs; either function may be empty.
struct CeilingStore {
  std::function<double(const std::string& name)> known;            ///< 0: none
  std::function<void(const std::string& name, double rate)> keep;  ///< a better one was seen
};

/// The best rates ever seen of what a machine can do, each by its name. A busy machine makes a
/// measurement too low and never too high: the highest is the one to go by.
class Ceilings {
 public:
  /// Measures a rate once more.
  using Probe = std::function<double()>;

  explicit Ceilings(CeilingStore store = {}) : store_(std::move(store)) {}

  /// The best so far; `probe` measures one that was not asked for before. What is kept counts
  /// unless it is beyond belief.
  double rate(const std::string& name, const Probe& probe);
  /// Measures every rate once more that was asked for since the last time.
  void again();

 private:
  struct Ceiling {
    double rate = 0;
    Probe probe;
    bool asked = false;
  };
  void raise(const std::string& name, Ceiling& ceiling, double seen);

  CeilingStore store_;
  std::map<std::string, Ceiling> ceilings_;
};

}  // namespace hone::runtime
