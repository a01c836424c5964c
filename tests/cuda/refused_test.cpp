// SPDX-License-Identifier: Apache-2.0
//
// Schedules for a GPU that would give a wrong kernel: each is refused, with its reason.
#include <doctest/doctest.h>

#include "schedules/numerics.h"
#include "tests/cuda/by_hand.h"

using namespace hone;
using namespace hone::tests;

namespace {

constexpr const char* kRefusedProduct =
    "op mm(A: f32[M,K], W: f32[K,N]) -> (C: f32[M,N]) { C[m,n] = sum[k](A[m,k]*W[k,n]) } M=3 K=40 "
    "N=8";

const std::vector<Refusal> kRefused = {
    {"op p(A: f32[M,K+3], B: f32[K+3,N]) -> (C: f32[M,N]) { T[m,k in 0..K] = A[m,k]; U[k in "
     "0..K,n] = B[k,n]; C[m,n] = sum[k in 0..K](T[m,k]*U[k,n]) } M=4 K=5 N=4",
     "split C/k 4 -> k.o k.i tail=pad; compute T at C/k.i in=registers; compute U at C/k.i "
     "in=registers; bind C/m block.x",
     "adds what lies beyond its end"},
    {"op p(A: f32[M,V], B: f32[V,N], ids: i32[K]) -> (C: f32[M,N]) { T[m,k] = A[m,ids[k]]; U[k,n] "
     "= B[ids[k],n]; C[m,n] = sum[k](T[m,k]*U[k,n]) } M=4 K=5 N=4 V=3",
     "split C/k 4 -> k.o k.i tail=pad; compute T at C/k.i in=registers; compute U at C/k.i "
     "in=registers; bind C/m block.x",
     "adds what lies beyond its end"},
    {kRefusedProduct,
     "split C/n 4 -> n.o n.i tail=peel; split C/n.i 3 -> n.p n.q tail=pad; bind C/n.p thread.x",
     "4 iterations are no multiple of 3"},
    {kRefusedProduct,
     "stage C at m -> Ct in=registers; split Ct/k 8 -> k.o k.i; reorder Ct/k.o Ct/k.i Ct/n; stage "
     "A at Ct/k.o -> As in=shared; pipeline Ct/k.o depth=3; bind C/m block.x; bind Ct/k.o "
     "thread.x",
     "is a pipeline"},
    {kRefusedProduct,
     "reorder n k m; bind n block.x; stage A at C/n -> As in=shared pad=4611686018427387904",
     "at most 4096 elements"},
    {"op s(A: f32[M,N]) -> (C: f32[M,N]) { C[m,n] = A[m,n]+1 } M=128 N=2",
     "reorder n m; bind C/n block.x; bind C/m thread.z", "64 threads"},
};

}  // namespace

TEST_CASE("cuda: schedules that would compute something else are refused") {
  check_refused(kRefused);
}

TEST_CASE("cuda: sums that threads combine are a numerics class of their own") {
  const DiffProblem p =
      problem("op s(A: f32[M,K]) -> (C: f32[M]) { C[m] = sum[k](A[m,k]) } M=4 K=512");
  const auto class_of = [&](const std::string& axis) {
    const auto schedule = schedules::Schedule::parse(
        "stage C at m -> Ct in=registers; split Ct/k 64 -> k.o k.i; bind C/m block.x; bind "
        "Ct/k.i " +
        axis);
    const auto scheduled = schedules::apply(p.program, *schedule);
    REQUIRE(scheduled);
    return schedules::numerics_class(p.program, *scheduled);
  };
  CHECK(class_of("thread.x") == "C:k/64mask,thread.x(k%64mask)");
  CHECK(class_of("thread.y") == "C:k/64mask,thread.y(k%64mask)");
}
