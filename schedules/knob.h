// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::schedules {

/// A tunable number of a schedule and the values it may take, in the order written.
struct Knob {
  std::string name;
  std::vector<int64_t> values;
};

/// The values of a knob as written: `32|48|64`, or `64..512*64`.
struct Domain {
  std::vector<int64_t> list;  ///< empty: the range below
  int64_t lo = 0;
  int64_t hi = 0;  ///< inclusive
  int64_t step = 1;
  /// Every value, in order.
  std::vector<int64_t> values() const;
};

/// One factor of a Number.
struct Factor {
  enum Kind : uint8_t {
    kConstant,
    kKnob,      ///< `?name=domain`: defines a knob
    kReference  ///< `$name`: the value of a knob defined before
  } kind = kConstant;
  bool divides = false;  ///< the product so far is divided by this, rounding down
  int64_t value = 0;     ///< of a constant
  std::string name;
  Domain domain;
};

/// A number argument: factors joined by `*` and `/`, left to right: `64`, `?nr=32|64`, `2*$nr`.
struct Number {
  std::vector<Factor> factors;
  Number() = default;
  Number(int64_t value) { factors.push_back({Factor::kConstant, false, value, {}, {}}); }
  /// Defines a knob.
  static Number knob(std::string name, std::vector<int64_t> values);
  /// The value of a knob that another step defines.
  static Number reference(std::string name);
  /// The same without definitions: each knob that it defines is referred to.
  Number again() const;
  /// No knob is left in it.
  bool fixed() const;
  /// The value of a fixed number.
  int64_t value() const;
};

/// All factors of both.
Number operator*(Number a, const Number& b);

/// Canonical text.
std::string print(const Number& number);

}  // namespace hone::schedules
