// SPDX-License-Identifier: Apache-2.0
// What a call does with data and shapes at the edge: promises broken, bad indices, nothing at all,
// and more than 2^31 elements.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "include/hone/hone.h"

using namespace hone;

namespace {

constexpr const char* kBag =
    "op bag(E: f32[R,D], ids: i64[L], offs: i64[B+1]) -> (Y: f32[B,D]) "
    "{ Y[b,d] = sum[j in offs[b]..offs[b+1]](E[ids[j],d]) }";
constexpr const char* kCopyRows = "op rows(X: u8[M,N]) -> (Y: u8[M,N]) { Y[i,j] = X[i,j] + 1 }";

/// Tests that use it run twice: with the interpreter and with this machine's code.
EngineOptions any_options() {
  EngineOptions o;
  SUBCASE("interpreted") { o.target = "x86 isa=none"; }
  SUBCASE("this machine") { o.target = ""; }
  o.cache = ":memory:";
  return o;
}

bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("`" << part << "` is not in: " << text);
  return found;
}

struct Bag {
  Engine engine{any_options()};
  Kernel kernel = engine.compile(Op::parse(kBag), "R=4 D=3 L=6 B=3");
  std::vector<float> table = {1, 2, 3, 10, 20, 30, 100, 200, 300, 1000, 2000, 3000};
  std::vector<int64_t> ids = {0, 1, 2, 3, 0, 1}, offsets = {0, 2, 2, 6};
  std::vector<float> y = std::vector<float>(9, -1);
  Result<Done> call() { return kernel.try_call(table, ids, offsets, y); }
};

/// Address space for a tensor of which few pages are touched.
class Sparse {
 public:
  explicit Sparse(size_t bytes)
      : bytes_(bytes),
        data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Sparse() { ::munmap(data_, bytes_); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  bool there() const { return data_ != MAP_FAILED; }
  uint8_t* data() const { return static_cast<uint8_t*>(data_); }

 private:
  size_t bytes_;
  void* data_;
};

}  // namespace

TEST_CASE("inputs: promised alignment is held against the pointers") {
  Engine engine(any_options());
  const Kernel k = engine.compile(Op::parse(kCopyRows), "M=2 N=64 align=64");
  alignas(64) static uint8_t x[256], y[256];
  CHECK(k.try_call(TensorRef(x, {2, 64}), TensorRef(y, {2, 64})));
  const auto done = k.try_call(TensorRef(x + 32, {2, 64}), TensorRef(y, {2, 64}));
  REQUIRE_FALSE(done);
  CHECK(done.failure().code == ErrorCode::kArgument);
  CHECK(has(done.failure().message, "not a multiple of 64"));
}

TEST_CASE("inputs: empty and full bags, and offsets that decrease") {
  Bag bag;
  CHECK(bag.call());
  CHECK(bag.y == std::vector<float>{11, 22, 33, 0, 0, 0, 1111, 2222, 3333});
  std::fill(bag.y.begin(), bag.y.end(), -1.0f);
  bag.offsets = {0, 3, 2, 6};
  const auto bad = bag.call();
  CHECK(bad.failure().code == ErrorCode::kBounds);
  CHECK(has(bad.failure().message, "element 2 of offs decreases: it gives 2 after 3"));
  for (size_t d = 3; d < 6; ++d) CHECK(bag.y[d] == -1);
}

TEST_CASE("inputs: offsets past the end, and of several bad places the lowest") {
  Bag bag;
  bag.offsets = {0, 2, 2, 7};
  auto bad = bag.call();
  CHECK(bad.failure().code == ErrorCode::kBounds);
  CHECK(has(bad.failure().message, "element 3 of offs is"));
  for (size_t d = 6; d < 9; ++d) CHECK(bag.y[d] == -1);
  bag.offsets = {0, 2, 2, 6};
  bag.ids = {0, -1, 2, 99, 0, 1};
  bad = bag.call();
  CHECK(bad.failure().code == ErrorCode::kBounds);
  CHECK(has(bad.failure().message, "element 1 of ids is"));
  for (size_t d = 0; d < 3; ++d) CHECK(bag.y[d] == -1);
  // Offsets that are nonsense end a call as fast as any.
  bag.offsets = {0, 2, 2, int64_t{1} << 60};
  CHECK(has(bag.call().failure().message, "element 1 of "));
  bag.offsets = {0, 2, 2, 6};
  bag.ids = {0, 1, 2, 3, 0, 1};
  CHECK(bag.call());
}

TEST_CASE("inputs: a dim of 0 writes the empty reduction and what follows it") {
  Engine engine(any_options());
  const std::vector<float> none, bias = {-1, 2};
  std::vector<float> y(6, 9);
  const Kernel k =
      engine.compile(Op::parse("op f(A: f32[M,K], W: f32[K,N], b: f32[N]) -> (Y: f32[M,N]) "
                               "{ Y[m,n] = relu(sum[k](A[m,k] * W[k,n]) + b[n]) }"),
                     "M=0..3 K=0 N=2");
  k(TensorRef(none.data(), DType::kF32, std::vector<int64_t>{3, 0}), none, bias, y);
  CHECK(y == std::vector<float>{0, 2, 0, 2, 0, 2});
  k(TensorRef(none.data(), DType::kF32, std::vector<int64_t>{0, 0}), none, bias,
    TensorRef(y.data(), {0, 2}));
  const Kernel m = engine.compile(
      Op::parse("op g(A: f32[M,K]) -> (Y: f32[M]) { Y[m] = max[k](A[m,k]) }"), "M=2 K=0");
  std::vector<float> top(2);
  m(none, top);
  CHECK(top == std::vector<float>(2, -INFINITY));
}

TEST_CASE("inputs: offsets past 2^31 elements are computed in 64 bits") {
  Engine engine(any_options());
  constexpr int64_t kStride = (int64_t{1} << 31) + 64;
  const std::string strides = "(" + std::to_string(kStride) + ",1)";
  for (const std::string& bindings : {" X.stride=" + strides, std::string(" X.stride=(?,1)")}) {
    const Kernel k = engine.compile(Op::parse(kCopyRows), "M=3 N=70" + bindings);
    const Sparse memory(2 * kStride + 4096);
    if (!memory.there()) return;
    std::vector<uint8_t> y(210);
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 70; ++j) {
        memory.data()[i * kStride + j] = static_cast<uint8_t>(70 * i + j);
      }
    }
    const int64_t shape[] = {3, 70}, steps[] = {kStride, 1};
    k(TensorRef(memory.data(), shape, steps), y);
    for (size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == static_cast<uint8_t>(i + 1));
  }
}

TEST_CASE("inputs: one code address serves all of M=1..512") {
  Engine engine({.cache = ":memory:"});
  const Kernel k = engine.compile("matmul M=1..512 at 1,8,64,512 N=64 K=32");
  std::set<Launch::Function> addresses;
  std::vector<float> a(512 * 32), w(32 * 64), y(512 * 64);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 7 % 11) - 5;
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 5 % 13) - 6;
  std::vector<float> expected(512 * 64);
  for (size_t m = 0; m < 512; ++m) {
    for (size_t n = 0; n < 64; ++n) {
      for (size_t q = 0; q < 32; ++q) expected[m * 64 + n] += a[m * 32 + q] * w[q * 64 + n];
    }
  }
  int64_t wrong = 0;
  for (int64_t m = 1; m <= 512; ++m) {
    std::fill(y.begin(), y.end(), NAN);
    const Kernel again = engine.compile("matmul M=1..512 at 1,8,64,512 N=64 K=32");
    addresses.insert(again.launches().front().function);
    again(TensorRef(a.data(), {m, 32}), w, TensorRef(y.data(), {m, 64}));
    for (int64_t i = 0; i < 512 * 64; ++i) {
      const auto at = static_cast<size_t>(i);
      wrong += i < m * 64 ? y[at] != expected[at] : !std::isnan(y[at]);
    }
  }
  CHECK(wrong == 0);
  CHECK(addresses.size() == 1);
  CHECK(k.launches().size() == 1);
}

TEST_CASE("inputs: one bound tensor serves every shape, threads and later engines") {
  auto engine = std::make_unique<Engine>(any_options());
  const Kernel k = engine->compile(Op::parse("op p(A: f32[M,K], W: f32[K,N]) -> (Y: f32[M,N]) "
                                             "{ Y[m,n] = sum[k](A[m,k] * W[k,n]) }"),
                                   "M=1..40 K=3 N=5 const=W");
  std::vector<float> w(15);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i);
  const Bound bound = k.bind("W", w);
  // What is bound was copied: neither the tensor nor the engine is needed any more.
  std::fill(w.begin(), w.end(), -1.0f);
  engine.reset();
  for (int64_t m : {1, 2, 17, 40}) {
    std::vector<float> a(static_cast<size_t>(m) * 3, 1), y(static_cast<size_t>(m) * 5);
    bound(TensorRef(a.data(), {m, 3}), y);
    for (size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == static_cast<float>(15 + 3 * (i % 5)));
  }
  const Bound copy = bound;
  CHECK(copy.bytes() == bound.bytes());
}

TEST_CASE(
    "inputs: bound constants count towards the memory ceiling, and give back what they took") {
  EngineOptions options = any_options();
  options.memory_ceiling = 100 << 10;
  Engine engine(options);
  const Kernel k = engine.compile(Op::parse("op p(A: f32[M,K], W: f32[K,N]) -> (Y: f32[M,N]) "
                                            "{ Y[m,n] = sum[k](A[m,k] * W[k,n]) }"),
                                  "M=4 K=128 N=128 const=W");
  const std::vector<float> w(128 * 128, 1), a(4 * 128, 1);
  std::vector<float> y(4 * 128);
  for (int again = 0; again < 3; ++again) {
    const Bound bound = k.bind("W", w);
    const auto second = k.try_bind("W", w);
    REQUIRE_FALSE(second);
    CHECK(second.failure().code == ErrorCode::kMemory);
    CHECK(has(second.failure().message, "allowed are in use"));
    bound(a, y);
    CHECK(y == std::vector<float>(4 * 128, 128));
  }
}
