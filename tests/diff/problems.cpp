// SPDX-License-Identifier: Apache-2.0
#include "tests/diff/problems.h"

#include <doctest/doctest.h>

#include "ops/op.h"
#include "tests/support/programs.h"

namespace hone::tests {
namespace {

/// Values for the dims that are known at the call: the least, the greatest, and one between.
std::vector<std::vector<int64_t>> call_dims(const ir::Program& program) {
  if (program.dims.empty()) return {{}};
  std::vector<std::vector<int64_t>> out(3);
  for (const ir::Dim& d : program.dims) {
    out[0].push_back(d.lo);
    out[1].push_back(d.hi);
    out[2].push_back(d.lo + (d.hi - d.lo) * 2 / 3);
  }
  return out;
}

const char* const kValid[] = {
    // Over constants alone, and of the call: a dim in a range, in a condition, in a window, in a
    // bound, in a value; a scalar; a stride.
    "op f(X: f32[N], B: f32[M]) -> (Y: f32[]) { Y[] = sum[r in 0..N, j](B[j]) + sum[i](X[i]) } "
    "N=1..40 M=3 const=B",
    "op f(X: f32[N], B: f32[M]) -> (Y: f32[N]) { s[j] = B[j] where j < N; m[] = max[j](s[j]); "
    "Y[i] = X[i] + m[] } N=1..9 M=9 const=B",
    "op f(X: f32[N], B: f32[M]) -> (Y: f32[N]) { m[] = sum[j in 0..M](B[j+N] else 1); Y[i] = X[i] "
    "* m[] } "
    "N=1..9 M=9 const=B",
    "op f(X: f32[N], B: f32[M]) -> (Y: f32[N]) { t[i in 0..N] = B[i]; m[] = sum[j in "
    "0..M-N](B[j]); "
    "Y[i] = X[i] + m[] + t[i] } N=1..9 M=9 const=B",
    "op f(X: f32[N], B: f32[M]) -> (Y: f32[N]) { m[] = sum[j](B[j] * cast<f32>(j < N)); "
    "Y[i] = X[i] + m[] } N=1..9 M=9 const=B",
    "op f(X: f32[N], B: f32[M], a: f32) -> (Y: f32[N]) { m[] = sum[j](B[j] * a); "
    "Y[i] = X[i] + m[] } N=9 M=9 const=B",
    "op f(X: f32[N], P: f32[L,D]) -> (Y: f32[N,D]) { e[i in 0..N,d] = exp(P[i,d]); s[i] = "
    "sum[d](e[i,d]); Y[i,d] = X[i] * e[i,d] / s[i] } N=1..16 L=16 D=5 const=P",
    "op f(X: f32[N], B: f32[M]) -> (Y: f32[N]) { m[] = sum[j](B[j]); Y[i] = X[i] + m[] } "
    "N=5 M=1..9 const=B",
    "op f(X: f32[N], B: f32[M], p: i32[K]) -> (Y: f32[N]) { m[] = sum[k](B[p[k]]); "
    "Y[i] = X[i] + m[] } N=5 M=9 K=4 const=B,p",
    // Statements that read themselves: backwards, along two indices, with a condition, in narrow
    // types, as intermediates, from data, and where another part of the value is costly.
    "op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] - 0.5*(Y[i+1,j] else X[0,j]) } M=7 N=40",
    "op f(X: f16[M,N]) -> (Y: f16[M,N]) { Y[i,j] = X[i,j] + 0.5*(Y[i-1,j] else 1) } M=7 N=40",
    "op f(X: i8[M,N]) -> (Y: i8[M,N]) { Y[i,j] = X[i,j] + (Y[i,j-1] else 3) } M=9 N=14",
    "op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] + 0.25*(Y[i-1,j+1] else 0) - "
    "0.25*(Y[i,j+1] else 1) } M=9 N=17",
    "op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = max(X[i,j], Y[i-1,0] else 0) } M=9 N=17",
    "op f(X: f32[M,N], h: f32[N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] + 0.5*(Y[i-1,j] else h[j]) "
    "where j <= i else 2 } M=9 N=17",
    "op f(X: f32[M,N], n: i64[N]) -> (Y: f32[M,N]) { Y[t,b] = select(t < n[b], tanh(X[t,b] + "
    "(Y[t-1,b] else 0)), Y[t-1,b] else 0) } M=9 N=17",
    "op f(X: f32[M,N], w: f32[N]) -> (Y: f32[M,N]) { s: f32[i,j] = X[i,j]*exp(w[j]) + "
    "0.5*(s[i-1,j] else 0); Y[i,j] = s[i,j] + s[M-1-i,j] } M=9 N=17",
    "op f(X: f32[M,N]) -> (Y: f32[M,N], Z: f32[N]) { Y[i,j] = X[i,j] + 0.5*(Y[i-1,j] else 0); "
    "Z[j] = sum[i](Y[i,j]*X[i,j]) } M=1..9 N=1..40",
    "op f(X: f64[B,M,N]) -> (Y: f64[B,M,N]) { Y[b,i,j] = X[b,i,j] + 0.25*(Y[b,i-2,j] else 0) + "
    "0.25*(Y[b,i-1,j] else 0) } B=3 M=7 N=10",
    // Statements that read one another, and reductions of what earlier steps wrote.
    "op f(X: f32[L,B,N], U: f32[N,N], s: f32[B,N]) -> (h: f32[L,B,N]) { h[t,b,j] = tanh(X[t,b,j] + "
    "sum[k](U[j,k]*(h[t-1,b,k] else s[b,k]))) } L=5 B=3 N=20",
    "op f(X: bf16[L,B,N], U: bf16[N,N]) -> (h: bf16[L,B,N]) { h[t,b,j] = tanh(X[t,b,j] + "
    "sum[k](U[j,k]*(h[t+1,b,k] else 0.5))) } L=1..5 B=3 N=1..20",
    "op f(X: f32[L,B,4,N], U: f32[4,N,N]) -> (h: f32[L,B,N], c: f32[L,B,N]) { g[t,b,q,j] = "
    "X[t,b,q,j] + sum[k](U[q,j,k]*(h[t-1,b,k] else 0)); c[t,b,j] = sigmoid(g[t,b,1,j])*(c[t-1,b,j] "
    "else 1) + sigmoid(g[t,b,0,j])*tanh(g[t,b,2,j]); h[t,b,j] = sigmoid(g[t,b,3,j])*tanh(c[t,b,j]) "
    "} "
    "L=4 B=3 N=19 const=U",
    "op f(X: f32[L,B,N], U: f32[N,N], n: i64[B]) -> (h: f32[L,B,N]) { h[t,b,j] = select(t < n[b], "
    "tanh(X[t,b,j] + sum[k](U[j,k]*(h[t-1,b,k] else 0))), h[t-1,b,j] else 0) } L=5 B=6 N=17",
    "op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] + 0.5*(Y[i,j-1] else 0) + "
    "0.125*max[k in 0..N](Y[i-1,k] else 0) } M=7 N=19",
    "op f(X: i32[M,N]) -> (H: i32[M,N]) { E: i32[i,j] = max(E[i,j-1] else 0, H[i,j-1] else 1); F: "
    "i32[i,j] = max(F[i-1,j] else 2, H[i-1,j] else 0); H[i,j] = X[i,j] + E[i,j] - F[i,j] } M=9 "
    "N=14",
    "op f(X: f32[L,B], W: f32[B]) -> (h: f32[L,B], s: f32[L]) { a[t,b] = 0.5*(h[t-1,b] else 0) + "
    "X[t,b]; s[t] = sum[b](a[t,b]); h[t,b] = a[t,b]*exp(W[b]) } L=6 B=20",
    "op f(X: f32[L,B]) -> (h: f32[L,B]) { a: f32[t,b] = 0.5*(h[t-1,b] else 0) + X[t,b]; h[t,b] = "
    "(a[t-1,b] else 1) + X[t,b] } L=1..6 B=20",
    // Windows along an index whose neighbours are pixels of few values, which become one with it.
    "op f(X: u8[H,W,3], w: i32[5]) -> (Y: i32[H,W,3]) { Y[i,j,c] = "
    "sum[q](w[q]*cast<i32>(X[i,j+q-2,c] "
    "else 1)) } H=5 W=13",
    "op f(X: f32[L,2], w: f32[K]) -> (Y: f32[L,2]) { Y[i,c] = sum[k](w[k]*(X[i-k,c] else 0)) } "
    "L=0..40 K=1..5",
    "op f(X: f32[H,W,3]) -> (Y: f32[H-2,W-2,3]) { b: f32[i in 0..H,j in 0..W-2,c in 0..3] = sum[q "
    "in 0..3]"
    "(X[i,j+q,c]); Y[i,j,c] = sum[r in 0..3](b[i+r,j,c]) } H=9 W=11",
    // Indices that data give, with something done to them.
    "op f(A: f32[M], p: i32[N]) -> (Y: f32[N]) { Y[n] = A[p[n]-1] } N=20 M=9",
    "op f(A: f32[M], p: i32[N]) -> (Y: f32[N]) { Y[n] = A[p[n]+1] } N=0..20 M=2..9",
    "op f(A: f32[M], p: i16[N]) -> (Y: f32[N]) { Y[n] = A[p[n]*2] } N=20 M=1..9",
    "op f(A: f32[M], p: i32[N]) -> (Y: f32[N]) { Y[n] = A[p[n]+n] } N=20 M=39",
    "op f(A: f32[M], p: i64[N]) -> (Y: f32[N]) { Y[n] = A[5 - 2*p[n]] } N=20 M=39",
    "op f(A: f32[M], p: i64[N,2]) -> (Y: f32[N]) { Y[n] = A[p[n,1]] - A[p[n,0]] } N=20 M=39",
    "op f(A: f32[M], p: i64[N], q: i32[N]) -> (Y: f32[N]) { Y[n] = A[p[n]+q[n]] } N=7 M=39",
    "op f(A: f32[M], p: i64[N]) -> (Y: f32[N]) { Y[n] = A[p[n]/2] + A[p[n]%3] } N=7 M=5",
    "op f(A: f32[R], B: f32[S], ids: i64[N]) -> (Y: f32[N]) { Y[i] = A[ids[i]] + B[ids[i]] } "
    "N=20 R=17 S=16",
    "op f(A: f32[R], B: f32[S], ids: i64[N]) -> (Y: f32[N]) { Y[i] = A[ids[i]] + B[ids[i]] } "
    "N=1..20 R=1..17 S=1..19",
    "op f(A: f32[R], ids: i64[N]) -> (Y: f32[M], Z: bool[N]) { Y[i in 0..M] = A[ids[i]]; Z[i] = "
    "ids[i] < 4 } N=20 R=4 M=9",
    "op f(A: f32[N], p: i32[K]) -> (Y: f32[K]) { t[i,j in 0..N] = A[i]+A[j] where j <= i; "
    "Y[n] = t[p[n],p[n]-1] } N=10 K=7",
    "op f(X: f32[R], ids: i32[S], b: i32[N]) -> (Y: f32[N]) { Y[i] = X[ids[b[i]]] } N=10 R=20 S=15",
    "op f(X: f32[R], ids: i32[S], b: i32[N], c: i16[Q]) -> (Y: f32[Q]) { Y[i] = X[ids[b[c[i]]]] } "
    "N=0..10 R=1..20 S=15 Q=0..30",
    "op f(L: f32[256], x: i8[N]) -> (Y: f32[N]) { Y[i] = L[x[i] + 128] } N=100",
    // Ranges that data give.
    "op f(A: f32[M], n: i32[N]) -> (Y: f32[N]) { Y[i] = sum[j in i..n[i]](A[j]) } N=10 M=30",
    "op f(X: f32[L], o: i32[B]) -> (Y: f32[B]) { Y[b] = sum[j in o[b]..o[b]+3](X[j]) } B=10 L=40",
    "op f(X: f32[L], Z: f32[R], o: i32[B+1], p: i32[L]) -> (Y: f32[B]) { Y[b] = "
    "sum[j in o[b]..o[b+1]](X[j]*Z[p[j]-1]) } B=10 L=40 R=7",
    "op f(X: f32[L,D], o: i32[B+1]) -> (Y: f32[B,D]) { Y[b,d] = max[j in o[b]..o[b+1]](X[j,d]) } "
    "B=0..10 L=0..40 D=3",
    // Dims of 0 beside reads that may leave their tensor.
    "concat M=0 N=17 L=6",
    "pad M=0 N=15 P=15",
    "op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j-1] else 0 } M=0 N=9",
    "op f(X: f32[M,N]) -> (Y: f32[M]) { Y[i] = sum[j in 0..N](X[i-1,j-1] else 0) } M=5 N=0",
    "op f(A: f32[M]) -> (Y: f32[M%2]) { Y[i] = A[i] } M=7",
    "op f(A: f32[M]) -> (Y: f32[M%2]) { Y[i] = A[i] } M=0..9",
    // Products and quotients of dims known at the call.
    "op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[(i+1) % N] } N=0..40",
    "op f(X: f32[M*N]) -> (Y: f32[M,N]) { Y[i,j] = X[i*N+j] } M=0..9 N=0..7",
    "op f(X: f32[M,N]) -> (Y: f32[M*N]) { Y[i] = X[i/N, i%N] } M=0..9 N=0..7",
    "op f(X: f32[L*M*N]) -> (Y: f32[L,M,N]) { Y[a,i,j] = X[(a*M+i)*N+j] } L=0..3 M=0..9 N=0..7",
    // Reads that a choice discards.
    "op f(X: f32[S,D]) -> (Y: f32[S,D]) { Y[i,d] = select(d < D/2, 0.0 - X[i,d+D/2], X[i,d-D/2]) } "
    "S=5 D=40",
    "op f(X: f32[S,D]) -> (Y: f32[S,D]) { Y[i,d] = X[i,d+D/2] where d < D/2 else X[i,d-D/2] } "
    "S=0..5 D=2..10",
    "op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = select(i != 0, X[i-1], 0.0) } N=0..50",
    "op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = select(i < 1 || i >= N-1, 0.0, X[i-1]+X[i+1]) } "
    "N=1..50",
    "op f(X: f32[N,M]) -> (Y: f32[N]) { Y[i] = select(i > 0, sum[j](X[i-1,j]), 0.0) } N=1..10 M=7",
    "op f(X: f32[N], p: i32[N]) -> (Y: f32[N]) { Y[i] = select(i > 0, X[p[i-1]], 0.0) } N=0..10",
};

DiffProblem problem_of(const std::string& text, const ops::Problem& problem,
                       const std::vector<int64_t>& dims) {
  return {problem.op.name(), text, problem.program, dims};
}

/// Reductions whose ranges follow indices of results, which the library has none of.
const char* const kRanges[] = {
    "op rows_of_triangle(A: f32[N,N], B: f32[N,M]) -> (Y: f32[N,M]) { Y[i,j] = sum[k in "
    "0..i+1](A[i,k]*B[k,j]) } "
    "N=13 M=19",
    "op columns_of_triangle(A: f32[M,N], B: f32[N,N]) -> (Y: f32[M,N]) { Y[i,j] = sum[k in "
    "j..N](A[i,k]*B[k,j]) } "
    "N=21 M=6",
    "op vector_and_triangle(x: f64[N], A: f64[N,N]) -> (Y: f64[N]) { Y[j] = sum[k in "
    "0..j](x[k]*A[k,j]) } N=0..35",
    "op greatest_below(A: f32[N,N]) -> (Y: f32[N]) { Y[j] = max[i in j..N](A[i,j]) } N=37",
    "op between_corners(A: u8[N,N], B: i8[N,N]) -> (Y: i32[N,N]) { Y[i,j] = sum[k in "
    "i..N-j](A[i,k]*B[k,j]) } "
    "N=18",
    "op summed_rows(X: f32[B,N,D], G: f32[B,N,D]) -> (Y: f32[B,N,N]) { Y[b,i,j] = sum[d, k in "
    "0..i+1]("
    "X[b,k,d]*G[b,j,d]) } B=2 N=9 D=5",
};

/// Sums over windows whose results may be combined of fewer products: forwards and backwards, of
/// lengths that tiles do not divide, of a length that the call tells, over borders, in other types.
const char* const kNormwise[] = {
    "op fir(X: f32[N+2], g: f32[3]) -> (Y: f32[N]) { Y[i] = sum[r](X[i+r]*g[r]) } N=37 "
    "numerics=normwise",
    "op fir_of_any(X: f32[N+3], g: f32[4]) -> (Y: f32[N]) { Y[i] = sum[r](g[r]*X[i+r]) } N=1..40 "
    "numerics=normwise",
    "op convolved(X: f32[N], g: f32[5]) -> (Y: f32[N]) { Y[i] = sum[r](g[r]*(X[i-r] else 0)) } "
    "N=29 numerics=normwise",
    "op filtered_rows(X: f32[C,H,W], F: f32[O,C,3]) -> (Y: f32[O,H,W-2]) { Y[o,h,w] = "
    "sum[c,q](X[c,h,w+q]*F[o,c,q]) } C=5 H=3 W=19 O=4 const=F numerics=normwise",
    "op filtered(X: f32[C,H,W], F: f32[O,C,3,3], b: f32[O]) -> (Y: f32[O,H,W]) { Y[o,h,w] = "
    "max(0, sum[c,r,q]((X[c,h+r-1,w+q-1] else 0)*F[o,c,r,q]) + b[o]) } C=3 H=9 W=14 O=17 "
    "numerics=normwise",
    "op filtered_last(X: f32[H,W,C], F: f32[2,3,C,O]) -> (Y: f32[H-1,W-2,O]) { Y[h,w,o] = "
    "sum[r,q,c](X[h+r,w+q,c]*F[r,q,c,o]) } C=6 H=7 W=11 O=18 numerics=normwise",
    "op filtered_doubles(X: f64[B,N+1], g: f64[2]) -> (Y: f64[B,N]) { Y[b,i] = "
    "sum[r](X[b,i+r]*g[r]) } B=3 N=18 numerics=normwise",
    "op filtered_halves(X: f16[N+2], F: f16[3,O]) -> (Y: f16[O,N]) { Y[o,i] = "
    "sum[r](X[i+r]*F[r,o]) } N=22 O=5 numerics=normwise",
    "op weighted_filters(X: f32[C,N+2], F: f32[C,3], s: f32[C]) -> (Y: f32[N]) { Y[i] = "
    "sum[c,r](X[c,i+r]*F[c,r]*s[c]) } C=4 N=21 numerics=normwise",
    "op strided_rows(X: f32[H,2*W+1], F: f32[3,3]) -> (Y: f32[H-2,W]) { Y[h,w] = "
    "sum[r,q](X[h+r,2*w+q]*F[r,q]) } H=8 W=9 numerics=normwise",
};

/// The problems of texts, each by some dims.
template <class Texts>
void add_problems(const Texts& texts, std::vector<DiffProblem>& out) {
  for (const char* text : texts) {
    auto problem = ops::parse_problem(text);
    if (!problem) {
      FAIL_CHECK(text << ": " << problem.failure().message);
      continue;
    }
    for (const std::vector<int64_t>& dims : call_dims(problem->program)) {
      out.push_back(problem_of(problem->text, *problem, dims));
    }
  }
}

}  // namespace

std::vector<DiffProblem> valid_problems() {
  std::vector<DiffProblem> out;
  add_problems(kValid, out);
  return out;
}

std::vector<DiffProblem> diff_problems() {
  std::vector<DiffProblem> out;
  for (const char* name : {"chain", "product", "bytes", "layer", "rows", "bag", "border", "masked",
                           "pair", "gaps", "squares", "triangle"}) {
    out.push_back({name, name, example_program(name), {}});
  }
  for (const ops::Case& c : ops::stock_library().cases) {
    if (!c.small) continue;
    auto problem = ops::parse_problem(c.problem);
    if (!problem) {
      FAIL_CHECK(c.problem << ": " << problem.failure().message);
      continue;
    }
    for (const std::vector<int64_t>& dims : call_dims(problem->program)) {
      out.push_back(problem_of(problem->text, *problem, dims));
    }
  }
  add_problems(kRanges, out);
  add_problems(kNormwise, out);
  return out;
}

}  // namespace hone::tests
