// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/block_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/call/plan.h"
#include "runtime/check/difference.h"
#include "runtime/check/frame_slots.h"
#include "runtime/fine.h"
#include "schedules/space/space.h"

namespace hone::runtime {
namespace {

/// Chosen: parts that are small beside a device's memory (not measured).
constexpr int64_t kSmall = int64_t{1} << 20;  ///< bytes that are sooner read than compared there
constexpr int64_t kPart = int64_t{4} << 20;   ///< bytes that are read at a time
constexpr int64_t kRow = 4096;                ///< elements of a row

/// Which rows have an element that is `apart`.
std::string text_of(DType type, const char* parameter, const std::string& apart) {
  return fmt::format(
      "op apart(A: {0}[R,{1}], B: {0}[R,{1}]{2}) -> (D: bool[R]) {{ D[r] = any[c]({3}) }} "
      "R=1..16777216",
      name_of(type), kRow, parameter, apart);
}

std::string same_text() { return text_of(DType::kI32, "", "A[r,c] != B[r,c]"); }

std::string near_text(DType type) {
  const bool wide = type == DType::kF64;
  const std::string in = wide ? "f64" : "f32";
  const std::string a = "cast<" + in + ">(A[r,c])", b = "cast<" + in + ">(B[r,c])";
  return text_of(
      type, wide ? ", bound: f64" : ", bound: f32",
      fmt::format("!({0} == {1} || abs({0} - {1}) <= bound || ({0} != {0} && {1} != {1}))", a, b));
}

/// Holds two blocks against each other from byte `from` on, part by part, until `alike` says no.
template <class Alike>
Result<bool> by_parts(const Block& a, const Block& b, int64_t from, const Alike& alike) {
  const auto most = static_cast<size_t>(std::min(a.bytes() - from, kPart));
  std::vector<char> x(most), y(most);
  for (int64_t at = from; at < a.bytes(); at += kPart) {
    const int64_t n = std::min(a.bytes() - at, kPart);
    if (auto f = a.read(x.data(), at, n); !f) return f.failure();
    if (auto f = b.read(y.data(), at, n); !f) return f.failure();
    if (!alike(x.data(), y.data(), n)) return false;
  }
  return true;
}

}  // namespace

/// Whether the first `rows` rows have none.
Result<bool> BlockCompare::by_rows(const Kernel& kernel, const Block& a, const Block& b,
                                   int64_t rows, double bound) {
  const ir::Nest& nest = kernel.candidate.nest();
  const std::vector<int64_t> dims = {rows};
  const std::vector<double> scalars(nest.scalars.size(), bound);
  std::vector<uint8_t> apart(static_cast<size_t>(rows));
  auto found = site_->take(rows, 1, Guard::kFar);
  if (!found) return found.failure();
  auto workspace = site_->take(nest.workspace_bytes, 1, Guard::kFar);
  if (!workspace) return workspace.failure();
  auto status = site_->take(sizeof kFine, 1, Guard::kFar);
  if (!status) return status.failure();
  if (auto f = (*status)->write(&kFine); !f) return f.failure();
  FrameSlots slots(nest, dims, scalars);
  slots.status((*status)->data());
  slots.workspace((*workspace)->data());
  const void* const tensors[] = {a.data(), b.data(), (*found)->data()};
  for (size_t i = 0; i < std::size(tensors); ++i) slots.tensor(i, tensors[i]);
  const auto took = site_->timed([&] {
    Result<Done> f = Done{};
    for (size_t i = 0; i < nest.launches.size() && f; ++i) {
      const ir::Launch& launch = nest.launches[i];
      const int64_t extent = evaluate(launch.extent, dims);
      f = site_->run({*kernel.candidate.executable, i, slots.data(), extent, launch.parallel, {}});
    }
    return f;
  });
  if (!took) return took.failure();
  if (auto f = (*found)->read(apart.data(), 0, rows); !f) return f.failure();
  return std::all_of(apart.begin(), apart.end(), [](uint8_t a) { return a == 0; });
}

/// Whether it finds rows alike that are, and one other element at either end.
Result<bool> BlockCompare::proves(const Kernel& kernel, int64_t row_bytes) {
  // Chosen: rows that show a wrong comparison (not measured).
  constexpr int64_t kRows = 3;
  const int64_t bytes = kRows * row_bytes;
  auto a = site_->take(bytes, 1, Guard::kFar), b = site_->take(bytes, 1, Guard::kFar);
  if (!a) return a.failure();
  if (!b) return b.failure();
  std::vector<char> held(static_cast<size_t>(bytes), 0);
  const auto alike = [&]() -> Result<bool> {
    if (auto f = (*b)->write(held.data()); !f) return f.failure();
    return by_rows(kernel, **a, **b, kRows, 0);
  };
  if (auto f = (*a)->write(held.data()); !f) return f.failure();
  if (auto same = alike(); !same || !*same) return same;
  const auto element = static_cast<size_t>(row_bytes / kRow);
  for (const size_t at : {size_t{0}, held.size() - element}) {
    std::fill_n(held.begin() + static_cast<std::ptrdiff_t>(at), element, char{0x3f});
    if (auto same = alike(); !same || *same) return same ? Result<bool>(false) : same;
    std::fill_n(held.begin() + static_cast<std::ptrdiff_t>(at), element, char{0});
  }
  return true;
}

/// The kernel of a text, or null where there is none to trust.
Result<const BlockCompare::Kernel*> BlockCompare::kernel(const std::string& text,
                                                         int64_t row_bytes) {
  const auto known = kernels_.find(text);
  if (known != kernels_.end()) return known->second.problem ? &known->second : nullptr;
  Kernel& made = kernels_[text];
  auto problem = ops::parse_problem(text);
  if (!problem) return problem.failure();
  const std::string schedule = schedules::default_schedule(problem->program, target_).text();
  auto candidate = build_candidate(*problem, target_, schedule, place_);
  if (!candidate) return nullptr;
  made.candidate = *std::move(candidate);
  const auto right = proves(made, row_bytes);
  if (!right) return right.failure();
  if (!*right) return nullptr;
  made.problem = std::make_unique<ops::Problem>(*std::move(problem));
  return &made;
}

Result<bool> BlockCompare::same(const Block& a, const Block& b) {
  constexpr int64_t kRowBytes = kRow * size_of(DType::kI32);
  int64_t rows = a.bytes() < kSmall ? 0 : a.bytes() / kRowBytes;
  if (rows > 0) {
    const auto k = kernel(same_text(), kRowBytes);
    if (!k) return k.failure();
    if (!*k) rows = 0;
    if (*k) {
      const auto alike = by_rows(**k, a, b, rows, 0);
      if (!alike || !*alike) return alike;
    }
  }
  return by_parts(a, b, rows * kRowBytes, [](const char* x, const char* y, int64_t n) {
    return std::memcmp(x, y, static_cast<size_t>(n)) == 0;
  });
}

Result<bool> BlockCompare::near(const Block& a, const Block& b, DType type, double bound) {
  if (!is_float(type)) return same(a, b);
  // The device rounds the difference to f32, and the bound is rounded as it is passed.
  const double rounding = type == DType::kF64 ? 0 : 1e-6;
  const int64_t row_bytes = kRow * size_of(type);
  int64_t rows = a.bytes() < kSmall ? 0 : a.bytes() / row_bytes;
  if (rows > 0) {
    const auto k = kernel(near_text(type), row_bytes);
    if (!k) return k.failure();
    if (!*k) return false;
    const auto alike = by_rows(**k, a, b, rows, bound * (1 - rounding));
    if (!alike || !*alike) return alike;
  }
  return by_parts(a, b, rows * row_bytes, [&](char* x, char* y, int64_t n) {
    const int64_t elements = n / size_of(type);
    const jit::TensorView got{x, type, {elements}, {1}}, want{y, type, {elements}, {1}};
    return difference(got, want, bound, 0).count == 0;
  });
}

}  // namespace hone::runtime
