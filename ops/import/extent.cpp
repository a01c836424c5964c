// SPDX-License-Identifier: Apache-2.0
#include "ops/import/extent.h"

#include <fmt/format.h>

#include <cstdlib>

#include "ops/import/importer.h"

namespace hone::ops {
namespace {

int64_t rounded_down(int64_t n, int64_t by) { return n / by - (n % by < 0 ? 1 : 0); }

}  // namespace

std::string ImportExtent::text() const {
  if (fixed()) return std::to_string(times);
  std::string out = times == 1 ? dim : fmt::format("{}*{}", times, dim);
  if (plus != 0) out += fmt::format(" {} {}", plus < 0 ? '-' : '+', std::abs(plus));
  return out;
}

ImportExtent ImportExtent::whole() const {
  if (fixed() || plus == 0) return *this;
  return {1, fmt::format("({})", text()), 0};
}

ImportExtent ImportExtent::more(int64_t n) const {
  if (fixed()) return {times + n, "", 0};
  return {times, dim, plus + n};
}

ImportExtent ImportExtent::and_of(const ImportExtent& other) const {
  if (other.fixed()) return more(other.times);
  if (fixed()) return other.more(times);
  if (dim == other.dim) return {times + other.times, dim, plus + other.plus};
  return {1, fmt::format("({} + {})", text(), other.text()), 0};
}

std::optional<ImportExtent> ImportExtent::without(const ImportExtent& other) const {
  if (other.fixed()) return more(-other.times);
  if (dim != other.dim || times < other.times) return {};
  if (times == other.times) return ImportExtent{plus - other.plus, "", 0};
  return ImportExtent{times - other.times, dim, plus - other.plus};
}

ImportExtent ImportExtent::divided(int64_t n) const {
  if (fixed()) return {rounded_down(times, n), "", 0};
  const int64_t out = rounded_down(plus, n);
  if (times % n == 0) return {times / n, dim, out};
  // What n divides stands outside: (d - 1)/2 + 1 is (d + 1)/2.
  const ImportExtent rest{times, dim, plus - out * n};
  return {1, fmt::format("({}/{})", rest.whole().text(), n), out};
}

int64_t import_product(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) throw Unsupported{"its sizes leave 64 bits"};
  return out;
}

std::optional<ImportShape> sizes_of(const ImportValue& value) {
  if (value.sizes || !value.known) return value.sizes;
  ImportShape out;
  for (const int64_t n : *value.known) out.push_back({n, ""});
  return out;
}

int64_t import_fixed(const ImportExtent& e) {
  if (!e.fixed())
    throw Unsupported{fmt::format("the size {} is not known before a call", e.text())};
  return e.times;
}

ImportExtent import_elements(const ImportShape& shape, size_t begin, size_t end) {
  ImportExtent out;
  for (size_t i = begin; i < end; ++i) {
    if (!out.fixed() && !shape[i].fixed()) throw Unsupported{"a product of dims that calls tell"};
    const ImportExtent own = shape[i].whole();
    out.times = import_product(out.times, own.times);
    if (!own.fixed()) out.dim = own.dim;
  }
  return out;
}

ImportShape fixed_shape(const std::vector<int64_t>& dims) {
  ImportShape shape;
  for (const int64_t d : dims) shape.push_back({d, ""});
  return shape;
}

std::string text_of(const ImportShape& shape) {
  std::string out;
  for (size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? "," : "") + shape[i].text();
  return out;
}

}  // namespace hone::ops
