// SPDX-License-Identifier: Apache-2.0
//
// Elements of less than a byte, as a caller has them.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hone/hone.h"

using hone::DType;
using hone::TensorRef;

namespace {

hone::Engine engine() {
  hone::EngineOptions options;
  options.cache = ":memory:";
  return hone::Engine(std::move(options));
}

constexpr const char* kAddRows =
    "op f(X: i4[M,N], b: i4[N]) -> (Y: i4[M,N]) { Y[m,n] = X[m,n] + b[n] }";

}  // namespace

TEST_CASE("packed: a call takes elements, or the bytes that hold them") {
  hone::Engine e = engine();
  const hone::Kernel add = e.compile(hone::Op::parse(kAddRows), "M=2 N=3");
  // 1 -2 7, -8 3 0: the first of a byte in its low bits, and rows begin at whole bytes. What fills
  // up the last byte of a row is not read.
  std::vector<uint8_t> x = {0xe1, 0xf7, 0x38, 0xa0}, b = {0x21, 0x93};
  const std::vector<uint8_t> sum = {0x02, 0x0a, 0x59, 0x03};
  std::vector<uint8_t> flat(4, 0xff), typed(4, 0xff), bytes(4, 0xff);
  add(x, b, flat);
  CHECK(flat == sum);
  add(TensorRef(static_cast<void*>(x.data()), DType::kI4, {2, 3}),
      TensorRef(static_cast<void*>(b.data()), DType::kI4, {3}),
      TensorRef(static_cast<void*>(typed.data()), DType::kI4, {2, 3}));
  CHECK(typed == sum);
  add(TensorRef(x.data(), {2, 2}), TensorRef(b.data(), {2}), TensorRef(bytes.data(), {2, 2}));
  CHECK(bytes == sum);

  const auto params = add.params();
  CHECK(params[0].type == DType::kI4);
  CHECK(params[0].shape[1].value == 3);
  CHECK(params[0].strides == std::vector<int64_t>{4, 1});
}

TEST_CASE("packed: what does not fit is told") {
  hone::Engine e = engine();
  const hone::Kernel add = e.compile(hone::Op::parse(kAddRows), "M=2 N=3");
  std::vector<uint8_t> x(4), b(2), y(4), shorter(3);
  const auto said = [](const auto& done) {
    return done ? std::string("nothing") : done.failure().message;
  };
  CHECK(said(add.try_call(shorter, b, y)).find("a flat tensor of 3 elements") != std::string::npos);
  const TensorRef dense(static_cast<void*>(x.data()), DType::kI4, {2, 3}, {3, 1});
  CHECK(said(add.try_call(dense, b, y)).find("strides (3,1), expected") != std::string::npos);
  const TensorRef other(static_cast<void*>(x.data()), DType::kU4, {2, 3});
  CHECK(said(add.try_call(other, b, y)).find("got a tensor of u4") != std::string::npos);
  // Bytes do not tell whether a row has 3 or 4 elements.
  const hone::Kernel any = e.compile(hone::Op::parse(kAddRows), "M=2 N=1..8");
  CHECK(said(any.try_call(x, b, y)).find("N cannot be told") != std::string::npos);
  CHECK(any.try_call(TensorRef(static_cast<void*>(x.data()), DType::kI4, {2, 3}), b, y));
}

TEST_CASE("packed: constants are bound, strides leave whole bytes between rows") {
  hone::Engine e = engine();
  const hone::Kernel k =
      e.compile(hone::Op::parse("op f(X: f32[K], W: u2[N,K]) -> (Y: f32[N]) { Y[n] = sum[k](X[k] * "
                                "cast<f32>(W[n,k])) }"),
                "N=2 K=5 W.stride=(12,1) const=W");
  // 3 0 1 2 1, then a byte of nobody's; 0 0 0 0 2.
  std::vector<uint8_t> w = {0x93, 0x01, 0xee, 0x00, 0x02};
  std::vector<float> x = {1, 10, 100, 1000, 10000}, y(2);
  const TensorRef rows(static_cast<void*>(w.data()), DType::kU2, {2, 5}, {12, 1});
  k.bind("W", rows)(x, y);
  CHECK(y == std::vector<float>{12103, 20000});
}
