// SPDX-License-Identifier: Apache-2.0
#include "schedules/knob.h"

#include <utility>

namespace hone::schedules {
namespace {

std::string print(const Domain& d) {
  std::string out;
  for (int64_t v : d.list) out += (out.empty() ? "" : "|") + std::to_string(v);
  if (!d.list.empty()) return out;
  out = std::to_string(d.lo) + ".." + std::to_string(d.hi);
  if (d.step != 1) out += "*" + std::to_string(d.step);
  return out;
}

}  // namespace

std::vector<int64_t> Domain::values() const {
  if (!list.empty()) return list;
  std::vector<int64_t> out;
  for (int64_t v = lo; v <= hi; v += step) out.push_back(v);
  return out;
}

Number Number::knob(std::string name, std::vector<int64_t> values) {
  Number out;
  out.factors.push_back({Factor::kKnob, false, 0, std::move(name), {std::move(values)}});
  return out;
}

Number Number::reference(std::string name) {
  Number out;
  out.factors.push_back({Factor::kReference, false, 0, std::move(name), {}});
  return out;
}

Number Number::again() const {
  Number out = *this;
  for (Factor& f : out.factors) {
    if (f.kind != Factor::kKnob) continue;
    f.kind = Factor::kReference;
    f.domain = {};
  }
  return out;
}

bool Number::fixed() const {
  for (const Factor& f : factors) {
    if (f.kind != Factor::kConstant) return false;
  }
  return true;
}

int64_t Number::value() const {
  int64_t product = 1;
  for (const Factor& f : factors) {
    if (!f.divides) {
      product *= f.value;
    } else if (f.value != 0) {
      product /= f.value;
    }
  }
  return product;
}

Number operator*(Number a, const Number& b) {
  a.factors.insert(a.factors.end(), b.factors.begin(), b.factors.end());
  return a;
}

std::string print(const Number& number) {
  std::string out;
  for (const Factor& f : number.factors) {
    if (!out.empty()) out += f.divides ? '/' : '*';
    if (f.kind == Factor::kConstant) out += std::to_string(f.value);
    if (f.kind == Factor::kReference) out += "$" + f.name;
    if (f.kind == Factor::kKnob) out += "?" + f.name + "=" + print(f.domain);
  }
  return out;
}

}  // namespace hone::schedules
