// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "bench/cuda/outside.h"
#include "bench/cuda/peer.h"

namespace hone::bench {
namespace {

/// What its heuristics say of an algorithm.
struct LtChoice {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

/// The part of cuBLASLt that is used, with its interface's numbers.
struct CublasLt {
  OutsideLibrary library{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
                         "libcublasLt.so"};
  void* handle = nullptr;
  void* stream = nullptr;
  int (*create)(void**) = nullptr;
  int (*describe)(void** desc, int compute, int scale) = nullptr;
  int (*describe_set)(void* desc, int attribute, const void* value, size_t bytes) = nullptr;
  int (*layout)(void** layout, int type, uint64_t rows, uint64_t columns, int64_t ld) = nullptr;
  int (*layout_set)(void* layout, int attribute, const void* value, size_t bytes) = nullptr;
  int (*prefer)(void** preference) = nullptr;
  int (*prefer_set)(void* preference, int attribute, const void* value, size_t bytes) = nullptr;
  int (*choose)(void* handle, void* desc, void* a, void* b, void* c, void* d, void* preference,
                int wanted, LtChoice* choices, int* found) = nullptr;
  int (*product)(void* handle, void* desc, const void* alpha, const void* a, void* a_layout,
                 const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                 void* d, void* d_layout, const void* algorithm, void* workspace, size_t bytes,
                 void* stream) = nullptr;

  bool open(void* in) {
    stream = in;
    return library.find("cublasLtCreate", create) &&
           library.find("cublasLtMatmulDescCreate", describe) &&
           library.find("cublasLtMatmulDescSetAttribute", describe_set) &&
           library.find("cublasLtMatrixLayoutCreate", layout) &&
           library.find("cublasLtMatrixLayoutSetAttribute", layout_set) &&
           library.find("cublasLtMatmulPreferenceCreate", prefer) &&
           library.find("cublasLtMatmulPreferenceSetAttribute", prefer_set) &&
           library.find("cublasLtMatmulAlgoGetHeuristic", choose) &&
           library.find("cublasLtMatmul", product) && create(&handle) == 0;
  }
};

constexpr int kTransposeA = 3, kEpilogue = 7, kBiasPointer = 8, kBiasType = 26;
constexpr int kBatchCount = 5, kBatchStride = 6, kWorkspaceBytes = 1;
constexpr uint32_t kEpilogues[] = {1, 4, 6, 36};  ///< none, bias, relu and bias, gelu and bias
constexpr size_t kWorkspace = 64 << 20;

/// Descriptors of one product. They live as long as the program.
struct LtPlan {
  void *desc = nullptr, *a = nullptr, *b = nullptr, *c = nullptr;
  LtChoice choice{};
  std::unique_ptr<PeerWorkspace> workspace;
  float one_f = 1, zero_f = 0;
  int32_t one_i = 1, zero_i = 0;
  bool integers = false;
};

void make_layout(const CublasLt& lt, OutsideCalls& call, void** out, DType type, int rows,
                 int columns, int batch) {
  const int64_t stride = int64_t{rows} * columns;
  call(lt.layout, out, library_type(type), rows, columns, rows);
  call([&] { return lt.layout_set(*out, kBatchCount, &batch, sizeof batch); });
  call([&] { return lt.layout_set(*out, kBatchStride, &stride, sizeof stride); });
}

/// Column-major: the first operand is W', the second A'.
bool plan(const CublasLt& lt, const std::shared_ptr<GpuOperands>& o, const GpuProduct& p,
          LtPlan& out) {
  out.integers = p.out == DType::kI32;
  const auto set = [&](int attribute, const auto& value) {
    return [&lt, &out, attribute, &value] {
      return lt.describe_set(out.desc, attribute, &value, sizeof value);
    };
  };
  OutsideCalls call;
  call(lt.describe, &out.desc, out.integers ? 72 : 68, out.integers ? 10 : 0);
  const int32_t transposed = p.transposed ? 1 : 0;
  call(set(kTransposeA, transposed));
  const uint32_t epilogue = kEpilogues[p.epilogue];
  const int bias_type = library_type(p.out);
  if (p.epilogue != GpuProduct::kNone) {
    const void* const bias = o->data(0, 2);
    call(set(kEpilogue, epilogue));
    call(set(kBiasPointer, bias));
    call(set(kBiasType, bias_type));
  }
  make_layout(lt, call, &out.a, p.in, p.transposed ? p.k : p.n, p.transposed ? p.n : p.k, p.batch);
  make_layout(lt, call, &out.b, p.in, p.k, p.m, p.batch);
  make_layout(lt, call, &out.c, p.out, p.n, p.m, p.batch);
  void* preference = nullptr;
  call(lt.prefer, &preference);
  call([&] { return lt.prefer_set(preference, kWorkspaceBytes, &kWorkspace, sizeof kWorkspace); });
  int found = 0;
  call([&] {
    return lt.choose(lt.handle, out.desc, out.a, out.b, out.c, out.c, preference, 1, &out.choice,
                     &found);
  });
  if (!call.fine() || found == 0) return false;
  out.workspace = std::make_unique<PeerWorkspace>(o, out.choice.workspace);
  return !out.workspace->missing();
}

}  // namespace

GpuPeer open_cublaslt(void* stream) {
  auto lt = std::make_shared<CublasLt>();
  GpuPeer peer{"cuBLASLt", {}};
  if (!lt->open(stream)) return peer;
  peer.prepare = [lt](std::shared_ptr<GpuOperands> o) -> std::function<int(size_t)> {
    GpuProduct p;
    auto made = std::make_shared<LtPlan>();
    const runtime::UseGpu use(o->gpu());
    if (!as_gpu_product(*o, &p) || p.in == DType::kF64 || !plan(*lt, o, p, *made)) return {};
    return [=](size_t set) {
      void* const c = o->data(set, o->count() - 1);
      const void* const one = made->integers ? static_cast<void*>(&made->one_i) : &made->one_f;
      const void* const zero = made->integers ? static_cast<void*>(&made->zero_i) : &made->zero_f;
      return lt->product(lt->handle, made->desc, one, o->data(set, 1), made->a, o->data(set, 0),
                         made->b, zero, c, made->c, c, made->c, made->choice.algorithm,
                         made->workspace->data(), made->choice.workspace, lt->stream);
    };
  };
  return peer;
}

}  // namespace hone::bench
