// SPDX-License-Identifier: Apache-2.0
// What a problem needs at least: counted by hand here, by its program there.
#include "runtime/measure/work.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ops/op.h"
#include "runtime/machine/host.h"
#include "runtime/measure/bound.h"

using hone::runtime::Work;

namespace {

Work work(const std::string& problem, const std::string& machine = "x86") {
  const auto parsed = hone::ops::parse_problem(problem);
  REQUIRE_MESSAGE(parsed, parsed.failure().message);
  const auto target = hone::ir::parse_target(machine, hone::runtime::host_target());
  REQUIRE(target);
  return hone::runtime::work_of(parsed->program, hone::runtime::timing_dims(parsed->program),
                                *target);
}

double length_of(const std::string& function) {
  return work("op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = " + function + "(X[i]) } N=1000")
             .singles.all /
         1000;
}

}  // namespace

TEST_CASE("work: a product of matrices") {
  const Work w = work("matmul M=10 N=20 K=30");
  CHECK(w.operations == 2 * 6000);
  CHECK(w.singles.all == 6000);
  CHECK(w.singles.adds == 0);
  CHECK(w.doubles.all == 0);
  CHECK(w.bytes_read == 4 * (300 + 600));
  CHECK(w.bytes_written == 4 * 200);
  CHECK(work("matmul M=10 N=20 K=30 T=f64").doubles.all == 6000);
}

TEST_CASE("work: products of what is rounded as it is read go to the instructions of its type") {
  const Work w = work("attention B=1 H=2 S=16 L=32 D=8 T=bf16", "cuda sm=90");
  REQUIRE(w.dots.size() == 2);
  for (const auto& dots : w.dots) {
    CHECK(dots.row->a == hone::DType::kBF16);
    CHECK(dots.products == 2 * 16 * 32 * 8);
  }
  CHECK(work("attention B=1 H=2 S=16 L=32 D=8", "cuda sm=90").dots.empty());
}

TEST_CASE("work: loops are cut where a condition on indices changes") {
  const Work w = work("op f() -> (Y: bool[N,N]) { Y[i,j] = i%2 <= j && !(j > 4 || i < 9) } N=64");
  CHECK(w.singles.all == 0);
  CHECK(w.bytes_written == 64 * 64);
  // What is chosen counts, and so do conditions on data.
  CHECK(work("op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = select(i < 9, X[i] + 1, 0) } N=64")
            .singles.all >= 9);
  CHECK(work("op f(X: f32[N]) -> (Y: bool[N]) { Y[i] = X[i] < 9 } N=64").singles.all == 64);
}

TEST_CASE("work: what lies outside of tensors is one value, whatever the index") {
  const std::string outer = "op f(A: f32[M], B: f32[N]) -> (Y: f32[N,N]) { Y[i,j] = ",
                    dims = " } M=4 N=100";
  // Of each row the values inside of A and the one outside.
  const double each = length_of("exp") + 1;
  CHECK(work(outer + "exp(B[i] + (A[j] else 0))" + dims).singles.all <= each * 100 * 5);
  CHECK(work(outer + "exp(B[i] + (A[j] else 0))" + dims).singles.all >= each * 100 * 4);
  CHECK(work(outer + "exp(B[j] + (A[i] else 0)*(A[j] else 3))" + dims).singles.all <=
        (each + 2) * 100 * 5);
  // So it is of a temporary that is made of such reads.
  CHECK(work("op f(A: f32[M], B: f32[N]) -> (Y: f32[N,N]) { t[j in 0..N] = (A[j] else 0)*2; "
             "Y[i,j] = exp(B[i] + t[j]) } M=4 N=100")
            .singles.all <= (each + 1) * 100 * 5);
}

TEST_CASE("work: elements that several values of an index reach are read once") {
  const std::string before = "op f(A: f32[N]) -> (Y: f32[M]) { Y[i] = A[", dims = "] } N=32 M=30";
  CHECK(work(before + "i | 2" + dims).bytes_read == 4 * 16);
  CHECK(work(before + "i*3%6" + dims).bytes_read == 4 * 2);
  CHECK(work(before + "i/4" + dims).bytes_read == 4 * 8);
}

TEST_CASE("work: additions that take no product in are told apart, memory is counted once") {
  const Work sums = work("row_sum M=4 N=50");
  CHECK(sums.singles.all == 200);
  CHECK(sums.singles.adds == 200);
  const Work add = work("add N=100");
  CHECK(add.footprint == 1200);
  CHECK(add.bytes() == 1200);
}

TEST_CASE("work: what reads itself finds that where it was computed, and needs all of it") {
  const Work sums = work("row_cumsum M=10 N=20");
  CHECK(sums.operations == 200);
  CHECK(sums.bytes_read == 800);
  CHECK(sums.bytes_written == 800);
  CHECK_FALSE(sums.updates);
  const Work last = work(
      "op f(X: f32[M,N]) -> (Y: f32[N]) { s: f32[i,j] = X[i,j] + (s[i-1,j] else 0); "
      "Y[j] = s[M-1,j] } M=10 N=20");
  CHECK(last.operations == 200);
  CHECK(last.bytes_read == 800);
}

TEST_CASE("work: a value is computed once for what it depends on") {
  // Differences belong to (n,i) and (n,j).
  const Work covariance = work(
      "op c(X: f32[N,M], u: f32[M]) -> (Y: f32[M,M]) { "
      "Y[i,j] = sum[n]((X[n,i] - u[i]) * (X[n,j] - u[j])) } N=50 M=20");
  CHECK(covariance.singles.all == 2 * 50 * 20 + 50 * 20 * 20);
  CHECK(covariance.singles.adds == 2 * 50 * 20);
  // The functions of a window belong to its elements.
  const Work window =
      work("op w(X: f32[N]) -> (Y: f32[N-7]) { Y[i] = sum[k in 0..8](exp(X[i+k])) } N=107");
  CHECK(window.singles.all == doctest::Approx(107 * length_of("exp") + 800));
  // A sum over an index that its value does not have is a product.
  const Work rows = work("op r(B: f32[M]) -> (Y: f32[]) { Y[] = sum[r in 0..50, j](B[j]) } M=20");
  CHECK(rows.singles.all == 20);
  // So does one along which all elements of a tensor are the same.
  const Work repeated = work(
      "op f(A: f32[N,N], B: f32[N]) -> (Y: f32[N,N]) { Y[i,j] = exp(A[j,i] * B[i]) } N=30 "
      "A.stride=(0,1)");
  CHECK(repeated.singles.all == doctest::Approx(30 * (1 + length_of("exp"))));
}

TEST_CASE("work: what is done with a choice may be done with each of its values") {
  const double length = length_of("exp");
  // Of A a row, of B a column: then all points choose.
  const Work arms = work(
      "op f(A: f32[N], B: f32[N], C: bool[N,N]) -> (Y: f32[N,N]) { "
      "Y[i,j] = exp(select(C[i,j], A[i], B[j])) } N=30");
  CHECK(arms.singles.all == doctest::Approx(30 * 2 * length + 30 * 30));
  // Sums of the part that does not depend on i, and of the other. The condition cuts loops, so that
  // the choice takes nothing.
  const Work sums = work(
      "op f(A: f32[N], B: f32[N,N]) -> (Y: f32[N,N]) { "
      "Y[i,j] = sum[k](select(k < i, A[k], B[k,j])) } N=30");
  CHECK(sums.singles.adds == 30 + 30 * 30);
}

TEST_CASE("work: of what nobody reads nothing is needed") {
  const Work w = work(
      "op f(X: f32[N,M]) -> (Y: f32[N]) { t: f32[i in 0..N, j in 0..M] = exp(X[i,j]); "
      "Y[i] = t[i,0] } N=40 M=30");
  CHECK(w.singles.all == doctest::Approx(40 * length_of("exp")));
  CHECK(w.bytes_read == doctest::Approx(4 * 40));
  const Work strided = work("op s(X: f32[N]) -> (Y: f32[N/2]) { Y[i] = X[2*i] } N=100");
  CHECK(strided.bytes_read == 4 * 50);
}

TEST_CASE("work: elements that lie apart take whole lines") {
  const std::string copy = "op c(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] } M=10 N=20 ";
  const auto read_lines = [&](const char* layout) { return work(copy + layout).read_lines; };
  CHECK(read_lines("") == 4 * 200);
  CHECK(read_lines("X.stride=(100,1)") == 4 * 200);
  CHECK(read_lines("X.stride=(60,3)") == 12 * 200);
  CHECK(read_lines("X.stride=(2,40)") == 8 * 200);
  CHECK(read_lines("X.stride=(2000,100)") == 64 * 200);
  // Bind may put the elements of a constant side by side.
  CHECK(read_lines("X.stride=(2000,100) const=X") == 4 * 200);
  CHECK(work(copy + "X.stride=(60,3)").footprint == 16 * 200);
  // Of a dim without a stride all elements are one.
  CHECK(read_lines("X.stride=(0,1)") == 4 * 20);
  CHECK(read_lines("X.stride=(100,0)") == 64 * 10);
}

TEST_CASE("work: domains that are no boxes, and conditions on indices") {
  const Work triangle =
      work("op t(A: f32[N,N]) -> (Y: f32[N]) { Y[i] = sum[j in 0..i+1](A[i,j]) } N=60");
  CHECK(triangle.singles.all == 60 * 61 / 2);
  CHECK(triangle.bytes_read == 4 * 60 * 61 / 2);
  const Work chosen = work(
      "op c(X: f32[N,N]) -> (Y: f32[N,N]) { Y[i,j] = select(j < i, exp(X[i,j]), X[i,j]) } N=64");
  CHECK(chosen.singles.all == doctest::Approx(64 * 64 * length_of("exp") / 2).epsilon(0.05));
  // A value that an index decides by a condition alone is one of two.
  const Work border = work(
      "op b(X: f32[M]) -> (Y: f32[M,N]) { Y[i,j] = exp(select(j < 3, X[i], 2.0 * X[i])) } "
      "M=30 N=50");
  CHECK(border.singles.all < 30 * (2 * length_of("exp") + 20));
  // What a choice by index leaves out need not be computed.
  const Work lower = work(
      "op l(A: f32[N,K], B: f32[N,K]) -> (Y: f32[N,N]) { "
      "Y[i,j] = sum[k](A[i,k]*B[j,k]) where j <= i else 0.0 } N=64 K=100");
  CHECK(lower.singles.all == doctest::Approx(100 * 64 * 65 / 2).epsilon(0.1));
  // A result that is defined in a part alone is needed in all of that part.
  const Work causal = work(
      "op c(A: f32[N,N], B: f32[N,N]) -> (Y: f32[N,N]) { "
      "s[i,j] = sum[k](A[i,k]*B[j,k]) where j <= i; Y[i,d] = sum[j](s[i,j]*B[j,d]) } N=64");
  CHECK(causal.singles.all == doctest::Approx(2 * 64 * 64 * 65 / 2).epsilon(0.05));
}

TEST_CASE("work: constants are done at bind") {
  const Work w = work(
      "op f(X: f32[M,N], B: f32[N]) -> (Y: f32[M,N]) { t[j] = exp(B[j]); "
      "Y[i,j] = X[i,j] * t[j] } M=30 N=20 const=B");
  CHECK(w.singles.all == 600);
  CHECK(w.bytes_read == 4 * (600 + 20));
}

TEST_CASE("work: integers are as wide as what they are made of") {
  const Work w = work("op m(X: i8[N]) -> (Y: i8[]) { Y[] = max[i](X[i]) } N=4000");
  CHECK(w.operations == 4000);
  CHECK(w.singles.all == 1000);
  const Work through = work(
      "op d(X: u8[N + 1]) -> (Y: i16[N]) { x[j] = cast<i32>(X[j]); "
      "Y[i] = cast<i16>(x[i+1] - x[i]) } N=4000");
  CHECK(through.singles.all == 1000);  // a temporary is made of bytes
}

TEST_CASE("work: 64-bit integers are two lanes wide unless their low bits suffice") {
  const std::string dot = "op d(X: i64[N], Y: i64[N]) -> (Z: ";
  const std::string wide = dot + "i64[]) { Z[] = sum[i](X[i]*Y[i]) } N=1000";
  CHECK(work(wide, "x86 isa=avx512").singles.all == 2 * 1000 * 2);
  CHECK(work(wide, "x86 isa=avx2").singles.all == 2 * 1000 * (3 + 1));
  const std::string low = dot + "i32[]) { Z[] = cast<i32>(sum[i](X[i]*Y[i])) } N=1000";
  CHECK(work(low, "x86 isa=avx2").singles.all == 1000 * 2);
}

TEST_CASE("work: what lies lines apart in a tensor takes whole lines, beyond near caches") {
  const auto lines = [](const std::string& read, int n) {
    return work("op s(X: f32[N,N]) -> (Y: f32[N/2]) { Y[i] = " + read + " } N=" + std::to_string(n))
        .read_lines;
  };
  CHECK(lines("X[i,i]", 20000) == 64 * 10000);
  CHECK(lines("X[2*i,0]", 20000) == 64 * 10000);
  CHECK(lines("X[i/2,i]", 20000) == 4 * 10000);
  CHECK(lines("sum[j in 0..N/4](X[i,4*j])", 2000) == 16 * 1000 * 500);
  // A load takes of the nearest cache what it needs.
  CHECK(lines("X[i,i]", 200) == 4 * 100);
}

TEST_CASE("work: elements that there are not, and those that are one, are not read") {
  CHECK(work("op f(X: f32[K,K,5]) -> (Y: f32[M]) { Y[i] = sum[r in 0..K](X[r,r,i-1] else 0) } "
             "M=1000 K=300")
            .bytes_read == 4 * 5 * 300);
  CHECK(work("op f(X: f32[N,N]) -> (Y: f32[N]) { Y[i] = max[r in 0..N](X[N-1-r,i]) } N=100 "
             "X.stride=(0,1)")
            .bytes_read == 4 * 100);
}

TEST_CASE("work: ranges and indices that data decide") {
  const Work bag = work("embedding_bag R=1000 D=8 L=120 B=4");
  CHECK(bag.singles.all == doctest::Approx(120 * 8));
  // Of 1000 rows 120 that are drawn evenly are 113 different ones.
  CHECK(bag.bytes_read > 4 * 8 * 100);
  CHECK(bag.bytes_read < 4 * 8 * 120 + 4 * 200 + 8 * 200);
  // Rows that end where data say, anywhere in the tensor, end in its middle; each row anew.
  const auto ragged = [](const std::string& range) {
    return work("op f(n: i32[M], X: f32[M,N]) -> (Y: f32[M]) { Y[i] = sum[j in " + range +
                "](X[i,j]) } M=100 N=500")
        .singles.all;
  };
  CHECK(ragged("0..n[i]") == doctest::Approx(100 * 250));
  CHECK(ragged("100..n[i]") == doctest::Approx(100 * 200));
  // A byte holds no end beyond 255.
  CHECK(work("op f(n: u8[M], X: f32[M,N]) -> (Y: f32[M]) { Y[i] = sum[j in 0..n[i]](X[i,j]) } "
             "M=100 N=500")
            .singles.all == doctest::Approx(100 * 127.5));
  // Nor do four bits of one hold any beyond 15.
  CHECK(work("op f(n: u4[M], X: f32[M,N]) -> (Y: f32[M]) { Y[i] = sum[j in 0..n[i]](X[i,j]) } "
             "M=100 N=500")
            .bytes_read < 4 * 100 * 8 + 100);
  // Of two ranges of each row, both cover their tensor once over all rows: their product does not.
  CHECK(work("op f(a: i32[M+1], b: i32[M+1], X: f32[L,N]) -> (Y: f32[M]) { Y[i] = sum[j in "
             "a[i]..a[i+1], k in b[i]..b[i+1]](X[j,k]) } M=10 L=100 N=500")
            .singles.all == doctest::Approx(100 * 500 / 10));
}

TEST_CASE("work: what a condition on indices rules out is not needed") {
  const auto with = [](const std::string& condition) {
    return work(
        "op f(X: f32[N], A: f32[N]) -> (Y: bool[N]) { t[] = sum[r](A[r]); "
        "Y[i] = X[i] > t[] " +
        condition + " } N=1000");
  };
  CHECK(with("&& i < 2000").bytes_read == 4 * 2000);
  CHECK(with("&& i < 0").bytes_read == 0);
  CHECK(with("&& i < 0").operations == 0);
  CHECK(with("|| i >= 0").bytes_read == 0);
}

TEST_CASE("work: of a large tensor, indices of few bits reach few lines") {
  const auto read = [](const std::string& type) {
    return work("op f(X: f32[M,N], B: " + type +
                "[K]) -> (Y: f32[K]) { Y[k] = sum[m in 0..M](X[m,B[k] + 1] else 0) } M=100 N=5000 "
                "K=3000")
        .read_lines;
  };
  CHECK(read("u4") < 100 * (2 * 64) + 3000);
  CHECK(read("i32") > 100 * 64 * 100);
}

TEST_CASE("work: cold tensors and what data choose from a large one come from memory") {
  const auto of = [](const char* words) {
    return work(std::string("matmul M=10 N=200 K=300 ") + words).memory_lines;
  };
  CHECK(of("") == 0);
  CHECK(of("cold=B") == 4 * 300 * 200);
  CHECK(of("cold=A,B const=B") == 4 * (300 * 200 + 10 * 300));
  CHECK(work("matmul_acc M=10 N=200 K=300 cold=C").memory_lines == 4 * 10 * 200);
  const std::string l3 = " l3=1M";
  const auto bag = [&](const char* dims) {
    return work(std::string("embedding_bag B=4 L=120 ") + dims, "x86" + l3);
  };
  // A table of 256 MB: 120 rows of 16 lines, of which the cache has few.
  const Work large = bag("R=262144 D=256");
  CHECK(large.memory_lines > 0.98 * 120 * 1024);
  CHECK(large.memory_lines < 120 * 1024);
  // Rows shorter than a line take one each.
  CHECK(bag("R=4194304 D=8").memory_lines > 0.9 * 120 * 64);
  CHECK(bag("R=4194304 D=8").read_lines >= 120 * 64 * 0.99);
  // Of all rows no more than there is.
  CHECK(work("embedding_bag B=4 L=100000 R=20000 D=32", "x86" + l3).memory_lines <= 20000 * 128);
  CHECK(bag("R=1000 D=8").memory_lines == 0);
  // Twice the same rows are read from memory once.
  const Work twice = work(
      "op f(E: f32[R,D], p: i32[L]) -> (Y: f32[L,D]) { s[l] = sum[d](E[p[l],d]); "
      "Y[l,d] = E[p[l],d] - s[l] } R=262144 D=256 L=120",
      "x86" + l3);
  CHECK(twice.memory_lines < 120 * 1024);
}

TEST_CASE("work: what indices tell takes no operations, however it is written") {
  // An index of one value, a stage that reads nothing, and elements that are all the same.
  const Work one =
      work("op f(A: i64[M,N]) -> (Y: i64[D]) { Y[i] = sum[r,s](A[r,s]*relu(i)) } M=90 N=80 D=1");
  CHECK(one.operations == 0);
  CHECK(one.bytes_read == 0);
  const std::string ranks =
      "op f(A: i32[M,N]) -> (Y: i32[M,N]) { p[j in 0..N] = cast<i32>(j); "
      "Y[i,j] = sum[k](A[i,k] < A[i,j] || p[k] < p[j]) } M=9 N=80";
  CHECK(work(ranks).singles.all > 9 * 80 * 80);
  CHECK(work(ranks + " A.stride=(80,0)").singles.all == 0);
  CHECK(work(ranks + " A.stride=(0,1)").singles.all > 80 * 80);
  // A table is computed once, however often it is read.
  const Work table = work(
      "op f(X: u8[N]) -> (Y: i32[N]) { t[v in 0..256] = "
      "cast<i32>(v*v%251); Y[i] = t[X[i]] } N=100000");
  CHECK(table.singles.all < 256 * 40);
}

TEST_CASE("work: integers are 0 times whatever stands outside a tensor") {
  const auto of = [](const std::string& type) {
    return work("op f(A: " + type + "[N], B: " + type + "[M]) -> (Y: " + type +
                "[]) { Y[] = max[n](A[n]*(B[n + 5] else 0)*A[n]) } "
                "N=64000 M=645");
  };
  const Work integers = of("i32"), floats = of("f32");
  CHECK(integers.bytes_read <= 4 * (640 + 645));
  CHECK(integers.operations <= 3 * 641);
  CHECK(floats.bytes_read >= 4 * 64000);
  CHECK(floats.operations >= 64000);
}

TEST_CASE("work: what shifts, divides or masks a 0 outside a tensor is not read") {
  for (const char* op : {">>", "<<", "/", "%", "&"}) {
    const Work w = work("op f(A: i32[M], B: i32[N]) -> (Y: i32[N]) { Y[n] = (A[n] else 0) " +
                        std::string(op) + " B[n] } N=64000 M=640");
    CHECK(w.bytes_read <= 4 * (640 + 640));
  }
  const Work limited = work(
      "op f(A: i32[M], B: i32[N]) -> (Y: i32[N]) { Y[n] = relu(min(9,A[n] else 0))*B[n] } N=64000 "
      "M=640");
  CHECK(limited.bytes_read <= 4 * (640 + 640));
  const Work turned = work(
      "op f(A: i32[M], B: i32[N]) -> (Y: i32[N]) { Y[n] = B[n] >> (A[n] else 0) } N=64000 M=640");
  CHECK(turned.bytes_read >= 4 * 64000);
}

TEST_CASE("work: the same element several times counts once in a sum") {
  const std::string twice = "op f(A: i32[N,K]) -> (Y: i32[]) { Y[] = sum[n in 0..N,k](A[n/2,k]) }";
  CHECK(work(twice + " N=200 K=100").operations <= 100 * 100);
}

TEST_CASE("work: what lies outside by a quotient of an index is not read") {
  const std::string half =
      "op f(A: f64[N,M]) -> (Y: f64[N]) { Y[i] = A[i,i/2] else 0 } N=1782 M=16";
  CHECK(work(half).bytes_read == 8 * 32);
}

TEST_CASE("work: products of integers less a zero point go by bytes where that is faster") {
  const Work with = work(
      "op f(A: u8[M,K], B: i8[K,N], x: u8) -> (Y: i32[M,N]) { "
      "Y[i,j] = sum[k]((A[i,k] - x)*B[k,j]) } M=64 N=64 K=64");
  const Work plain = work(
      "op f(A: u8[M,K], B: i8[K,N]) -> (Y: i32[M,N]) { Y[i,j] = sum[k](A[i,k]*B[k,j]) } "
      "M=64 N=64 K=64");
  REQUIRE(with.dots.size() == plain.dots.size());
  for (size_t i = 0; i < plain.dots.size(); ++i) CHECK(with.dots[i].row == plain.dots[i].row);
}

TEST_CASE("work: dims that one index walks along together have few elements") {
  const Work w = work(
      "op f(A: f32[N,N,N], B: f32[N,N]) -> (Y: f32[N,N]) { "
      "Y[i,j] = sum[r in 0..3]((A[2*i + r,j,j] else 0)*B[j,i]) } N=100");
  CHECK(w.bytes_read == 4 * (100 * 100 + 100 * 100));
}

TEST_CASE("work: rare conditions are counted, also through stages that indices tell") {
  const auto of = [](const std::string& condition) {
    return work("op f(A: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = exp(A[i,j]) where " + condition +
                " else 0 } M=57 N=3354");
  };
  CHECK(of("j == 6 && i == 7").bytes_read == doctest::Approx(4));
  CHECK(of("j == 6 && (!(i != 7) && j%2 <= 56)").bytes_read == doctest::Approx(4));
  CHECK(of("!(j != 6 || i != 7)").bytes_read == doctest::Approx(4));
  // Of what data decide as well, no more than indices admit.
  CHECK(of("j == 6 && A[i,j] > 0").bytes_read == doctest::Approx(4 * 57));
  CHECK(of("!(j != 6 || A[i,j] > 0)").bytes_read == doctest::Approx(4 * 57));
  CHECK(of("j == 6 || A[i,j] > 0").bytes_read == 4 * 57 * 3354);
  // Of many points some are looked at, for each the longest range whole.
  CHECK(of("i == j").bytes_read == doctest::Approx(4 * 57));
  CHECK(of("i <= j").bytes_read == doctest::Approx(4 * 57 * (3354 - 28)).epsilon(0.02));
}

TEST_CASE("work: a condition on indices is one of two, whatever the indices") {
  const Work values =
      work("op f(A: f32[N]) -> (Y: f32[N,N]) { Y[i,j] = exp(A[i] + cast<f32>(!(j < i))) } N=60");
  CHECK(values.singles.all < 60 * 2 * (length_of("exp") + 3));
  CHECK(values.singles.all >= 60 * 2 * length_of("exp"));
  const Work sums = work(
      "op f(A: f32[N,N]) -> (Y: f32[N,N]) { "
      "Y[i,j] = sum[k](max(A[k,i], cast<f32>(j < 7 || i < 2))) } N=60");
  CHECK(sums.singles.adds >= 2 * 60 * 60);
  CHECK(sums.singles.adds <= 2 * 2 * 60 * 60 + 60);
}

TEST_CASE("work: terms that go to no element are none") {
  const auto of = [](const char* dims) {
    return work(std::string("op f(A: f32[M,N]) -> (Y: f32[D,N]) { Y[2*j,i] else skip max= "
                            "exp(A[j,i]) for j in 1..M where j < i } N=100 M=50 ") +
                dims);
  };
  CHECK(of("D=2").operations == 0);
  CHECK(of("D=2").bytes_read == 0);
  CHECK(of("D=5").bytes_read == doctest::Approx(4 * (98 + 97)).epsilon(0.03));
}

TEST_CASE("work: a reduction of nothing reads nothing") {
  const auto of = [](const char* dims) {
    return work(std::string("op f<K=2>(A: f32[M,N]) -> (Y: f32[M]) { "
                            "Y[i] = max[j in 0..N,k in 1..K](A[i,j]) } M=30 N=100 ") +
                dims);
  };
  CHECK(of("K=1").bytes_read == 0);
  CHECK(of("K=1").bytes_written == 4 * 30);
  CHECK(of("K=2").bytes_read == 4 * 30 * 100);
}
