// SPDX-License-Identifier: Apache-2.0
#include "tests/diff/plain.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "ops/op.h"

namespace hone::tests {
namespace {

template <class T>
double element(const void* data, int64_t offset) {
  T v;
  std::memcpy(&v, static_cast<const char*>(data) + offset * static_cast<int64_t>(sizeof v),
              sizeof v);
  return static_cast<double>(v);
}

double element(DType type, const void* data, int64_t offset) {
  switch (type) {
    case DType::kF64:
      return element<double>(data, offset);
    case DType::kF32:
      return element<float>(data, offset);
    case DType::kI64:
      return static_cast<double>(element<int64_t>(data, offset));
    case DType::kI32:
      return element<int32_t>(data, offset);
    case DType::kI16:
      return element<int16_t>(data, offset);
    case DType::kI8:
      return element<int8_t>(data, offset);
    case DType::kU8:
    case DType::kBool:
      return element<uint8_t>(data, offset);
    default:
      FAIL("plain loops read no 16-bit floats");
      return 0;
  }
}

}  // namespace

Plain::Plain(const std::string& problem, jit::DataSet set) : problem_(problem) {
  auto parsed = ops::parse_problem(problem);
  if (!parsed) FAIL(problem << ": " << parsed.failure().message);
  const ir::Program& program = parsed->program;
  views_ = jit::parameter_views(program, {});
  for (jit::TensorView& v : views_) {
    memory_.emplace_back(static_cast<size_t>(jit::bytes_of(v)) + 1);
    v.data = memory_.back().data();
  }
  for (const ir::Buffer& b : program.buffers) {
    if (b.role != ir::Role::kTemp) names_.push_back(b.name);
  }
  for (const ir::ScalarParam& s : program.scalars) scalar_names_.push_back(s.name);
  scalars_ = jit::scalar_values(program, 3);
  jit::fill_parameters(program, views_, scalars_, {}, set, 23);
  auto outcome = jit::evaluate(program, views_, scalars_, {});
  if (!outcome) FAIL(problem << ": " << outcome.failure().message);
  outcome_ = *std::move(outcome);
}

const jit::TensorView& Plain::view(const std::string& name) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return views_[i];
  }
  FAIL(problem_ << " has no tensor " << name);
  return views_[0];
}

double Plain::at(const std::string& name, std::vector<int64_t> index) const {
  for (size_t s = 0; s < scalar_names_.size(); ++s) {
    if (scalar_names_[s] == name) return scalars_[s];
  }
  const jit::TensorView& v = view(name);
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * v.strides[d];
  return element(v.type, v.data, offset);
}

void Plain::check(const std::string& name,
                  const std::function<double(const std::vector<int64_t>&)>& want) const {
  const jit::ReferenceTensor* t = nullptr;
  for (const jit::ReferenceTensor& o : outcome_.outputs) {
    if (o.name == name) t = &o;
  }
  REQUIRE(t != nullptr);
  std::vector<int64_t> index(t->shape.size());
  int wrong = 0;
  for (size_t p = 0; p < t->written.size(); ++p) {
    auto rest = static_cast<int64_t>(p);
    for (size_t d = index.size(); d-- > 0;) {
      index[d] = rest % t->shape[d];
      rest /= t->shape[d];
    }
    double w = want(index);
    if (t->type == DType::kF32) w = static_cast<float>(w);
    const double got = is_float(t->type) ? t->f[p] : static_cast<double>(t->i[p]);
    const bool same = got == w || (got != got && w != w);
    const bool near = std::fabs(got - w) <= t->bound[p];
    // An infinite bound says that anything may come out; then there is nothing to compare.
    if (same || near || std::isinf(t->bound[p])) continue;
    if (++wrong <= 3) {
      FAIL_CHECK(problem_ << ": " << name << " at position " << p << " is " << got
                          << ", plain loops "
                          << "give " << w << ", bound " << t->bound[p]);
    }
  }
  CHECK(wrong == 0);
}

void for_each_data_set(const std::string& problem, const std::function<void(const Plain&)>& body) {
  for (int set = 0; set < jit::kDataSetCount; ++set) {
    body(Plain(problem, static_cast<jit::DataSet>(set)));
  }
}

}  // namespace hone::tests
