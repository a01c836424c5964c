// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/bindings.h"

namespace hone::ops {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& p : parts) out += (out.empty() ? "" : ",") + p;
  return out;
}

void print_layouts(const Definition& d, const Bindings& b, std::string& out) {
  std::vector<std::string> constants, cold;
  bool one_align = true;
  int64_t align = -1;
  for (size_t i = 0; i < d.args.size(); ++i) {
    const Argument& a = d.args[i];
    const TensorLayout& l = b.layouts[i];
    if (a.scalar) continue;
    one_align &= align < 0 || align == l.align;
    align = l.align;
    if (l.constant) constants.push_back(a.name);
    if (l.cold) cold.push_back(a.name);
    std::vector<std::string> parts;
    for (const int dim : l.order) parts.push_back(axis_name(a, dim));
    if (!parts.empty()) out += " " + a.name + "@" + joined(parts);
    parts.clear();
    for (const int64_t s : l.strides) parts.push_back(s == kOpenStride ? "?" : std::to_string(s));
    if (!parts.empty()) out += " " + a.name + ".stride=(" + joined(parts) + ")";
  }
  for (size_t i = 0; i < d.args.size(); ++i) {
    if (one_align || b.layouts[i].align == 0) continue;
    out += fmt::format(" {}.align={}", d.args[i].name, b.layouts[i].align);
  }
  if (!constants.empty()) out += " const=" + joined(constants);
  if (!cold.empty()) out += " cold=" + joined(cold);
  if (one_align && align > 0) out += fmt::format(" align={}", align);
}

}  // namespace

std::string axis_name(const Argument& a, size_t i) {
  const auto symbol = [&](size_t k) {
    return a.shape[k].kind == Term::kName ? a.shape[k].name : std::string();
  };
  bool unique = !symbol(i).empty();
  for (size_t k = 0; k < a.shape.size(); ++k) unique &= k == i || symbol(k) != symbol(i);
  return unique ? symbol(i) : fmt::format("d{}", i);
}

std::string print(const Definition& d, const Bindings& b) {
  std::string out;
  for (const auto& dim : b.dims) {
    out += " " + dim->name + "=" + std::to_string(dim->lo);
    if (dim->lo == dim->hi) continue;
    out += ".." + std::to_string(dim->hi);
    std::vector<std::string> points;
    for (const int64_t p : dim->at) points.push_back(std::to_string(p));
    if (!points.empty()) out += " at " + joined(points);
  }
  for (size_t i = 0; i < d.params.size(); ++i) {
    const Param& p = d.params[i];
    if (b.types[i] && *b.types[i] != p.type) {
      out += fmt::format(" {}={}", p.name, name_of(*b.types[i]));
    }
    if (b.ints[i] && *b.ints[i] != p.value) out += fmt::format(" {}={}", p.name, *b.ints[i]);
  }
  print_layouts(d, b, out);
  if (b.numerics != "any") out += " numerics=" + b.numerics;
  return out;
}

Binding binding_of(const Definition& d, const Bindings& b) {
  Binding out;
  for (size_t i = 0; i < d.params.size(); ++i) {
    out.types.push_back(b.types[i].value_or(d.params[i].type));
    out.ints.push_back(ir::make_int(b.ints[i].value_or(d.params[i].value)));
  }
  for (const auto& dim : b.dims) {
    if (dim->lo == dim->hi) {
      out.dims.push_back(ir::make_int(dim->lo));
    } else {
      out.dims.push_back(ir::make_dim(dim->name));
      out.ranged.push_back(*dim);
    }
  }
  return out;
}

}  // namespace hone::ops
