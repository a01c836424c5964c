// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "include/hone/hone.h"

using hone::Engine;
using hone::Error;
using hone::ErrorCode;
using hone::Event;
using hone::Kernel;
using hone::TensorRef;

namespace {

constexpr const char* kScale =
    "op scaled<T=f32>(X: T[M,N], b: T[N], alpha: f32) -> (Y: T[M,N]) "
    "{ Y[m,n] = X[m,n] * alpha + b[n] }";
constexpr const char* kProduct =
    "op product(A: f32[M,K], W: f32[K,N]) -> (Y: f32[M,N]) "
    "{ Y[m,n] = sum[k](A[m,k] * W[k,n]) }";
constexpr const char* kGather =
    "op pick(E: f32[R,D], ids: i64[L]) -> (Y: f32[L,D]) { Y[l,d] = E[ids[l],d] }";

struct Listener {
  std::vector<Event> events;
  hone::EngineOptions options(const char* target = "") {
    hone::EngineOptions o;
    o.target = target;
    o.cache = ":memory:";
    o.on_event = [this](const Event& e) { events.push_back(e); };
    return o;
  }
  int count(Event::Kind kind) const {
    int n = 0;
    for (const Event& e : events) n += e.kind == kind ? 1 : 0;
    return n;
  }
};

/// The message of the error that `f` throws, which must be of that kind.
template <class F>
std::string error_of(ErrorCode code, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    CHECK(e.code() == code);
    return e.what();
  }
  FAIL("no error");
  return "";
}

bool has(const std::string& text, const char* part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("`" << part << "` is not in: " << text);
  return found;
}

/// Tests that use it run twice: with the interpreter and with this machine's code.
const char* any_target() {
  const char* target = "";
  SUBCASE("interpreted") { target = "x86 isa=none"; }
  SUBCASE("this machine") { target = ""; }
  return target;
}

struct Scaled {
  Listener listener;
  Engine engine{listener.options(any_target())};
  Kernel kernel = engine.compile(hone::Op::parse(kScale), "M=3 N=4");
  std::vector<float> x = std::vector<float>(12), b = {1, 2, 3, 4}, y = std::vector<float>(12);
  Scaled() {
    for (size_t i = 0; i < 12; ++i) x[i] = static_cast<float>(i);
  }
};

}  // namespace

TEST_CASE("engine: a kernel runs on vectors, spans, shapes and strides") {
  Scaled s;
  s.kernel(s.x, s.b, s.y, 2.0f);
  for (size_t i = 0; i < 12; ++i) CHECK(s.y[i] == s.x[i] * 2 + s.b[i % 4]);
  std::vector<float> z(12);
  const std::vector<float>& constant = s.x;
  s.kernel(constant, std::span<const float>(s.b), TensorRef(z.data(), {3, 4}), 2);
  CHECK(z == s.y);
  CHECK(s.kernel.source() == hone::Source::kDefault);
  CHECK(s.listener.count(Event::kCompile) == 1);
  CHECK(s.listener.count(Event::kNotice) == (s.kernel.report().interpreted ? 1 : 0));
  CHECK(s.listener.count(Event::kBug) == 0);
}

TEST_CASE("engine: what does not fit a call is named, with what would") {
  Scaled s;
  const auto message = [&](auto&&... args) {
    return error_of(ErrorCode::kArgument, [&] { s.kernel(args...); });
  };
  CHECK(has(message(s.x, s.b, s.y), "takes 3 tensors and 1 scalars, (X: f32[3,4]"));
  CHECK(has(message(s.x, s.b, s.y, 1, 2), "got 3 tensors and 2 scalars"));
  const std::vector<double> wide(12);
  CHECK(has(message(wide, s.b, s.y, 1), "X: f32[3,4]: got a tensor of f64"));
  CHECK(has(message(s.b, s.b, s.y, 1), "got a flat tensor of 4 elements, expected shape [3,4]"));
  CHECK(has(message(TensorRef(s.x.data(), {4, 3}), s.b, s.y, 1),
            "got shape [4,3], expected shape [3,4]"));
  const int64_t shape[] = {3, 4}, strides[] = {1, 3};
  CHECK(
      has(message(TensorRef(s.x.data(), shape, strides), s.b, s.y, 1), "strides (1,3), expected"));
  const std::vector<float>& constant = s.y;
  CHECK(has(message(s.x, s.b, constant, 1), "Y: f32[3,4]: it is written, but the tensor"));
  CHECK(has(message(TensorRef(static_cast<float*>(nullptr), {3, 4}), s.b, s.y, 1), "null"));
  const auto* odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(s.x.data()) + 1);
  CHECK(has(message(TensorRef(odd, {3, 4}), s.b, s.y, 1), "not a multiple of 4"));
  CHECK(has(message(s.y, s.b, s.y, 1), "Y: f32[3,4]: it is written, and overlaps X in memory"));
  CHECK_FALSE(s.kernel.try_call(s.x, s.b, s.y));
  CHECK(s.kernel.try_call(s.x, s.b, s.y, 1));
}

namespace {

/// A host's pool that misbehaves.
struct OddPool final : hone::ThreadPool {
  enum Kind { kFine, kThrows, kThrowsInt, kWorker, kRange } kind = kFine;
  int threads = 2;
  bool throws_size = false;
  int size() override {
    if (throws_size) throw std::runtime_error("no size today");
    return threads;
  }
  void parallel_for(int64_t n, Task task, void* context) override {
    if (kind == kThrows) throw std::runtime_error("no threads today");
    if (kind == kThrowsInt) throw 7;
    task(context, 0, kind == kRange ? n + 1 : n, kind == kWorker ? threads : 0);
  }
};

}  // namespace

TEST_CASE("engine: a host's pool without workers is refused when the engine is opened") {
  for (int threads : {0, -1, 4097}) {
    OddPool pool;
    pool.threads = threads;
    const auto engine = Engine::try_create({.cache = ":memory:", .pool = &pool});
    REQUIRE_FALSE(engine);
    CHECK(engine.failure().code == ErrorCode::kArgument);
    CHECK(has(engine.failure().message, "EngineOptions::pool: its size is"));
  }
  OddPool pool;
  pool.throws_size = true;
  const auto engine = Engine::try_create({.cache = ":memory:", .pool = &pool});
  REQUIRE_FALSE(engine);
  CHECK(has(engine.failure().message, "EngineOptions::pool threw: no size today"));
}

TEST_CASE("engine: what a host's pool throws or mistakes is an error of the call") {
  OddPool pool;
  Engine engine({.cache = ":memory:", .pool = &pool});
  if (engine.target().find("isa=none") != std::string::npos) return;
  Kernel k = engine.compile("matmul M=256 N=256 K=256");
  std::vector<float> a(256 * 256, 1), b(256 * 256, 1), c(256 * 256);
  CHECK(k.try_call(a, b, c));
  const std::pair<OddPool::Kind, const char*> kinds[] = {
      {OddPool::kThrows, "EngineOptions::pool threw: no threads today"},
      {OddPool::kThrowsInt, "EngineOptions::pool threw: no std::exception"},
      {OddPool::kWorker, "outside of workers [0, 2)"},
      {OddPool::kRange, "or of the range [0, "},
  };
  for (const auto& [kind, text] : kinds) {
    pool.kind = kind;
    const auto called = k.try_call(a, b, c);
    REQUIRE_FALSE(called);
    CHECK(called.failure().code == ErrorCode::kArgument);
    CHECK(has(called.failure().message, text));
  }
  pool.kind = OddPool::kThrows;
  const auto tuned = engine.try_tune("matmul M=256 N=256 K=256", {.trials = 1});
  CHECK_FALSE(tuned);
  pool.kind = OddPool::kFine;
  CHECK(k.try_call(a, b, c));
  CHECK(c[0] == 256);
}

TEST_CASE("engine: rows side by side in one memory are not an overlap") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  Kernel k = engine.compile(hone::Op::parse(kScale), "M=3 N=4 X.stride=(8,1) Y.stride=(8,1)");
  std::vector<float> both(24, 3), b(4);
  const int64_t shape[] = {3, 4}, strides[] = {8, 1};
  k(TensorRef(both.data(), shape, strides), b, TensorRef(both.data() + 4, shape, strides), 2);
  CHECK(both[3] == 3);
  CHECK(both[4] == 6);
  CHECK(has(error_of(ErrorCode::kArgument,
                     [&] {
                       k(TensorRef(both.data(), shape, strides), b,
                         TensorRef(both.data() + 3, shape, strides), 2);
                     }),
            "overlaps X"));
}

TEST_CASE("engine: dims known at the call come from the shapes and stay in their range") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  Kernel k = engine.compile(hone::Op::parse(kScale), "M=0..8 N=4");
  std::vector<float> x(40, 1), b(4), y(40);
  k(TensorRef(x.data(), {5, 4}), b, TensorRef(y.data(), {5, 4}), 3);
  CHECK(y[19] == 3);
  CHECK(y[20] == 0);
  // A flat tensor tells the dim that is missing.
  k(std::span(x).first(28), b, std::span(y).first(28), 3);
  CHECK(y[27] == 3);
  k(TensorRef(x.data(), {0, 4}), b, TensorRef(y.data(), {0, 4}), 4);
  CHECK(y[0] == 3);
  const auto call = [&](int64_t rows, int64_t out) {
    k(TensorRef(x.data(), {rows, 4}), b, TensorRef(y.data(), {out, 4}), 3);
  };
  CHECK(has(error_of(ErrorCode::kArgument, [&] { call(9, 9); }), "M is 9 at this call"));
  CHECK(has(error_of(ErrorCode::kArgument, [&] { call(5, 6); }), "expected shape [M=5,4]"));
  CHECK(k.launches().back().extent == -1);
}

TEST_CASE("engine: a stride that is never used may be any, also 0") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  const std::string transpose = "op f(X: f32[M,N]) -> (Y: f32[N,M]) { Y[j,i] = X[i,j] } ";
  std::vector<float> x(5, 2), y(5);
  // Dense tensors of {5,0} have strides (0,1).
  engine.compile(transpose + "M=0 N=5 Y.stride=(?,?)")(TensorRef(x.data(), {0, 5}),
                                                       TensorRef(y.data(), {5, 0}));
  const int64_t shape[] = {1, 5}, strides[] = {0, 1};
  engine.compile(transpose + "M=5 N=1 Y.stride=(?,?)")(TensorRef(x.data(), {5, 1}),
                                                       TensorRef(y.data(), shape, strides));
  CHECK(y == x);
  Kernel k = engine.compile(transpose + "M=5 N=1..3 Y.stride=(?,1)");
  CHECK(has(error_of(ErrorCode::kArgument, [&] { k(x, y); }), "the stride of dim 0 of Y cannot"));
  std::vector<float> x2(10), y2(10);
  const int64_t two[] = {2, 5};
  CHECK(has(error_of(ErrorCode::kArgument,
                     [&] {
                       k(TensorRef(x2.data(), {5, 2}), TensorRef(y2.data(), two, strides));
                     }),
            "the stride of dim 0 of Y is 0 at this call"));
  CHECK(has(error_of(ErrorCode::kArgument,
                     [&] {
                       k(TensorRef(x2.data(), {5}), TensorRef(y2.data(), {2, 5}));
                     }),
            "X: f32[5,N]: got shape [5], expected shape [5,N]"));
}

TEST_CASE("engine: a scalar that its dtype does not hold is refused") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  struct Row {
    const char* type;
    hone::ScalarArg value;
    bool right;
  };
  const double nan = std::nan(""), inf = HUGE_VAL;
  const Row rows[] = {{"u8", -3, false},        {"u8", 255, true},    {"u8", 256, false},
                      {"i8", -128, true},       {"i8", 128.0, false}, {"i32", nan, false},
                      {"i32", 2.5, false},      {"i32", -7.0, true},  {"i64", 0x1p63, false},
                      {"i64", 1LL << 62, true}, {"bool", 2, false},   {"bool", 1, true},
                      {"f16", 70000, false},    {"f16", inf, true},   {"f32", 1e300, false},
                      {"f32", nan, true},       {"f32", 0.1, true},   {"bf16", 1e30, true}};
  for (const Row& row : rows) {
    const std::string type = row.type;
    Kernel k = engine.compile("op f(a: " + type + ") -> (Y: " + type + "[]) { Y[] = a }");
    std::vector<std::byte> bytes(64);
    const TensorRef y(static_cast<void*>(bytes.data()), hone::dtype_named(type).value(),
                      std::span<const int64_t>());
    CHECK_MESSAGE(static_cast<bool>(k.try_call(y, row.value)) == row.right, type);
  }
}

TEST_CASE("engine: a stride left to the call") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  Kernel k = engine.compile(hone::Op::parse(kScale), "M=2 N=3 X.stride=(?,1)");
  std::vector<float> x = {1, 2, 3, 0, 0, 4, 5, 6}, b(3), y(6);
  const int64_t shape[] = {2, 3}, strides[] = {5, 1};
  k(TensorRef(x.data(), shape, strides), b, y, 1);
  CHECK(y == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("engine: bad data is an error that names the position, and nothing of it is written") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  Kernel k = engine.compile(hone::Op::parse(kGather), "R=4 D=2 L=3");
  const std::vector<float> e = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<float> y(6, -1);
  k(e, std::vector<int64_t>{3, 0, 1}, y);
  CHECK(y == std::vector<float>{6, 7, 0, 1, 2, 3});
  const std::vector<int64_t> bad = {0, 4, -1};
  CHECK(has(error_of(ErrorCode::kBounds, [&] { k(e, bad, y); }),
            "element 1 of ids is out of range: it gives 4, and 0 to 3 are accepted"));
}

TEST_CASE("engine: offsets that decrease are told apart from those out of range") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  Kernel k = engine.compile(
      "op f(X: f32[N], o: i64[B+1]) -> (Y: f32[B]) { Y[b] = sum[j in o[b]..o[b+1]](X[j]) } N=6 "
      "B=3");
  const std::vector<float> x(6, 1);
  std::vector<float> y(3);
  const auto message = [&](const std::vector<int64_t>& o) {
    return error_of(ErrorCode::kBounds, [&] { k(x, o, y); });
  };
  CHECK(has(message({0, 4, 3, 6}), "element 2 of o decreases: it gives 3 after 4"));
  CHECK(has(message({0, 4, 7, 7}), "element 2 of o is out of range: it gives 7, and 0 to 6 are"));
  CHECK(has(message({-1, 4, 5, 6}), "element 0 of o is out of range: it gives -1, and 0 to 6 are"));
}

TEST_CASE("engine: constants are bound once, and owned") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  Kernel k = engine.compile(hone::Op::parse(kProduct), "M=2 N=2 K=2 const=W");
  auto w = std::make_unique<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
  const std::vector<float> a = {1, 0, 0, 1};
  std::vector<float> y(4);
  CHECK(has(error_of(ErrorCode::kArgument, [&] { k(a, y); }), "W of"));
  CHECK(has(error_of(ErrorCode::kArgument, [&] { k.bind("V", *w); }), "it has W"));
  CHECK(has(error_of(ErrorCode::kArgument,
                     [&] { k.bind("W", y.front() == 0 ? std::span(y).first(3) : std::span(y)); }),
            "flat tensor of 3"));
  const hone::Bound bound = k.bind("W", *w);
  w.reset();
  bound(a, y);
  CHECK(y == std::vector<float>{1, 2, 3, 4});
  CHECK(bound.bytes() > 0);
  CHECK(has(error_of(ErrorCode::kArgument, [&] { bound.bind("W", y); }), "bound already"));
}

TEST_CASE("engine: a flat vector is a dense tensor in its storage order") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  const hone::Op op = hone::Op::parse(kProduct);
  const std::vector<float> a = {1, 2, 3, 4}, transposed = {1, 4, 2, 5, 3, 6};  // W@N,K
  const std::vector<float> expected = {9, 12, 15, 19, 26, 33};
  std::vector<float> y(6), columns(6);
  engine.compile(op, "M=2 N=3 K=2 W@N,K const=W").bind("W", transposed)(a, y);
  CHECK(y == expected);
  engine.compile(op, "M=2 N=3 K=2 W@N,K Y@N,M")(a, transposed, columns);
  CHECK(columns == std::vector<float>{9, 19, 12, 26, 15, 33});
  engine.compile(op, "M=2 N=3 K=2 W.stride=(1,2)")(a, transposed, y);
  CHECK(y == expected);
  // A dim of the call is told by the count, in any order too.
  engine.compile(op, "M=1..4 N=3 K=2 A@K,M W@N,K Y@N,M")(std::vector<float>{1, 3, 2, 4}, transposed,
                                                         columns);
  CHECK(columns == std::vector<float>{9, 19, 12, 26, 15, 33});
  // What has gaps has to say where they are.
  Kernel gaps = engine.compile(op, "M=2 N=3 K=2 W.stride=(1,3)");
  CHECK(has(error_of(ErrorCode::kArgument, [&] { gaps(a, transposed, y); }), "strides (1,3)"));
}

TEST_CASE("engine: shapes and strides are written where they are used") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  Kernel k = engine.compile(hone::Op::parse(kScale), "M=2 N=3 X.stride=(4,1)");
  const std::vector<float> x = {1, 2, 3, 0, 4, 5, 6}, b(3);
  std::vector<float> y(6);
  k(TensorRef(x.data(), {2, 3}, {4, 1}), b, TensorRef(y.data(), {2, 3}), 2);
  CHECK(y == std::vector<float>{2, 4, 6, 8, 10, 12});
  const void* raw = x.data();
  void* out = y.data();
  k(TensorRef(raw, hone::DType::kF32, {2, 3}, {4, 1}), b, TensorRef(out, hone::DType::kF32, {2, 3}),
    1);
  CHECK(y == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(TensorRef(x.data(), {2, 3}, {4, 1, 1}).rank() == TensorRef::kMaxRank + 1);
}

TEST_CASE("engine: a schedule by hand, and why one is refused") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  const hone::Op op = hone::Op::parse(kProduct);
  Kernel k = engine.compile(op, "M=5 N=7 K=3", {.schedule = "split Y/m 2 -> m.o m.i tail=peel"});
  CHECK(k.source() == hone::Source::kGiven);
  const std::vector<float> a(15, 1), w(21, 2);
  std::vector<float> y(35);
  k(a, w, y);
  CHECK(y == std::vector<float>(35, 6));
  CHECK(has(error_of(ErrorCode::kSchedule,
                     [&] {
                       engine.compile(op, "M=5 N=7 K=3",
                                      {.schedule = "split Y/m 2 -> m.o m.i tail=exact"});
                     }),
            "2 does not divide 5"));
  CHECK(has(error_of(ErrorCode::kSyntax,
                     [&] { engine.compile(op, "M=5 N=7 K=3", {.schedule = "slice m"}); }),
            "slice"));
}

TEST_CASE("engine: one build serves all who ask, and a kernel outlives its engine") {
  Listener listener;
  auto engine = std::make_unique<Engine>(listener.options(any_target()));
  engine->add_ops(kScale);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      const Kernel k = engine->compile("scaled N=4 M=3");
      std::vector<float> x(12, 1), b(4), y(12);
      k(x, b, y, 5);
      wrong += y[11] == 5 ? 0 : 1;
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(listener.count(Event::kCompile) == 1);
  const Kernel k = engine->compile("scaled M=3 N=4");
  CHECK(listener.count(Event::kCompile) == 1);
  engine.reset();
  std::vector<float> x(12, 1), b(4), y(12);
  k(x, b, y, 7);
  CHECK(y[0] == 7);
}

TEST_CASE("engine: errors of options and texts") {
  Listener listener;
  const auto with = [&](auto change) {
    hone::EngineOptions o = listener.options();
    change(o);
    return hone::Engine::try_create(o);
  };
  CHECK(with([](auto& o) { o.target = "x86 isa=fast"; }).failure().code == ErrorCode::kSyntax);
  CHECK(with([](auto& o) { o.threads = -1; }).failure().code == ErrorCode::kArgument);
  Engine engine(listener.options(any_target()));
  CHECK(engine.try_compile("nothing M=3").failure().code != ErrorCode::kOk);
  CHECK(engine.try_compile(kScale).failure().code != ErrorCode::kOk);
  CHECK_FALSE(hone::Op::try_parse("op f("));
  hone::EngineOptions strict = listener.options();
  strict.require_hit = true;
  Engine careful(strict);
  careful.add_ops(kScale);
  CHECK(has(error_of(ErrorCode::kNotFound, [&] { careful.compile("scaled M=3 N=4"); }),
            "tune it first"));
}

TEST_CASE("engine: a memory ceiling is an error of the call, not of the host") {
  Listener listener;
  hone::EngineOptions options = listener.options(any_target());
  options.memory_ceiling = 64 << 10;
  Engine engine(options);
  const hone::Op op =
      hone::Op::parse("op twice(X: f32[N]) -> (Y: f32[N]) { t[i] = X[i] * 2; Y[i] = t[i] + 1 }");
  // Left to itself, hone computes t inside Y's loop.
  const hone::CompileOptions through_memory = {.schedule = "parallel Y/i"};
  Kernel small = engine.compile(op, "N=1000", through_memory);
  Kernel large = engine.compile(op, "N=100000", through_memory);
  std::vector<float> x(100000, 1), y(100000);
  small(std::span(x).first(1000), std::span(y).first(1000));
  CHECK(y[999] == 3);
  CHECK(large.workspace_size() >= 400000);
  CHECK(has(error_of(ErrorCode::kMemory, [&] { large(x, y); }), "allowed are in use"));
  std::vector<std::byte> own(static_cast<size_t>(large.workspace_size()) + 64);
  const auto at = reinterpret_cast<uintptr_t>(own.data());
  const std::span workspace = std::span(own).subspan((64 - at % 64) % 64);
  const std::vector<hone::Arg> args = {TensorRef(x), TensorRef(y)};
  large.run(args, {.workspace = workspace});
  CHECK(y[99999] == 3);
  CHECK(has(
      error_of(ErrorCode::kArgument, [&] { large.run(args, {.workspace = workspace.subspan(1)}); }),
      "at a multiple of 64"));
}

TEST_CASE("engine: K = 0 writes the empty reduction") {
  Listener listener;
  Engine engine(listener.options(any_target()));
  Kernel k = engine.compile(hone::Op::parse(kProduct), "M=2 N=2 K=0");
  std::vector<float> none, y(4, 9);
  k(none, none, y);
  CHECK(y == std::vector<float>(4, 0));
}

TEST_CASE("engine: kernels of one layout share what was bound") {
  Listener listener;
  Engine engine(listener.options());
  const std::string packed =
      "split Y/n 16 -> n.o n.i tail=peel; stage W at root -> P layout=[d1/16][d0][d1%16]";
  std::vector<float> w(20 * 40);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7);
  const auto compile = [&](const std::string& dims, const std::string& schedule) {
    return engine.compile(kProduct + (" " + dims + " N=40 K=20 const=W"), {.schedule = schedule});
  };
  const hone::Bound first = compile("M=3", packed).bind("W", w);
  const hone::Bound second = compile("M=1..9", packed).bind(first);
  CHECK(second.bytes() == first.bytes());
  const int64_t used = first.bytes();
  CHECK(used >= static_cast<int64_t>(w.size() * sizeof(float)));
  std::fill(w.begin(), w.end(), 0.0f);  // both have what they need
  const std::vector<float> a(7 * 20, 1);
  std::vector<float> y3(3 * 40), y7(7 * 40);
  first(std::span(a).first(3 * 20), y3);
  second(TensorRef(a.data(), {7, 20}), TensorRef(y7.data(), {7, 40}));
  CHECK(std::equal(y3.begin(), y3.end(), y7.begin()));
  CHECK(y3[1] != 0);
  // Other layouts, and constants that are not packed at all, say so.
  const std::string other =
      "split Y/n 8 -> n.o n.i tail=peel; stage W at root -> P layout=[d1/8][d0][d1%8]";
  const std::string refused =
      error_of(ErrorCode::kArgument, [&] { compile("M=3", other).bind(first); });
  CHECK(has(refused, "[1/8][0][1%8]"));
  CHECK(has(refused, "[1/16][0][1%16]"));
  CHECK(has(error_of(ErrorCode::kArgument, [&] { compile("M=3", "parallel Y/m").bind(first); }),
            "W: f32[20,40]"));
  const hone::Bound plain = compile("M=3", "parallel Y/m").bind("W", std::vector<float>(800, 2));
  std::vector<float> p3(3 * 40);
  compile("M=3", "unroll Y/n").bind(plain)(std::span(a).first(3 * 20), p3);
  CHECK(p3[0] == 40);
}

TEST_CASE("engine: what was reduced otherwise, or over other ranges, is not shared") {
  Listener listener;
  Engine engine(listener.options());
  const auto compile = [&](const std::string& sums) {
    const std::string op = "op folded(A: f32[M,N], W: f32[K,N]) -> (Y: f32[M,N]) { s[n] = " + sums +
                           "; Y[m,n] = A[m,n] + s[n] }";
    return engine.compile(hone::Op::parse(op), "M=1 N=4 K=16 const=W", {.schedule = "unroll s/k"});
  };
  const std::vector<float> a(4), w(64, 1);
  const hone::Bound sums = compile("sum[k](W[k,n])").bind("W", w);
  std::vector<float> y(4);
  sums(a, y);
  CHECK(y[0] == 16);
  CHECK(compile("sum[k](W[k,n])").try_bind(sums));
  for (const char* other : {"max[k](W[k,n])", "sum[k in 0..2](W[k,n])"}) {
    const Kernel k = compile(other);
    const auto shared = k.try_bind(sums);
    REQUIRE_FALSE(shared);
    CHECK(shared.failure().code == ErrorCode::kArgument);
  }
}
