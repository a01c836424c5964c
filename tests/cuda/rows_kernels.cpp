// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/rows_kernels.h"

#include <fmt/format.h>

#include <cstring>
#include <functional>

namespace hone::tests {
namespace {

using Words = std::vector<int32_t>;

Words numbers(int count) {
  Words out;
  for (int i = 0; i < count; ++i) out.push_back(7 * i + 3);
  return out;
}
Words answers(int count, const std::function<int32_t(int)>& f) {
  Words out;
  for (int i = 0; i < count; ++i) out.push_back(f(i));
  return out;
}

/// Barriers in memory, and what orders plain accesses.
void add_barriers(std::vector<RowKernel>& out) {
  const Words x = numbers(128);
  out.push_back(kernel_of("mbarrier: all threads arrive and wait", "i32",
                          R"(HONE_TEAM(u64, bar, 1); HONE_TEAM(i32, s, 128);
  const u32 b = shared_address(HONE_AT(bar, 0));
  if (t == 0) { mbarrier_init(b, 128); fence_mbarrier_init(); }
  __syncthreads();
  i32 sum = 0;
  for (i32 k = 0; k < 4; ++k) {
    s[t] = X[t] + k;
    mbarrier_arrive(b); mbarrier_wait(b, 0);
    sum += s[127 - t];
    mbarrier_arrive(b); mbarrier_wait(b, 1);
  }
  Y[t] = sum;
  __syncthreads();
  if (t == 0) mbarrier_invalidate(b);)",
                          128, bytes_of(x),
                          bytes_of(answers(128, [&](int t) { return 4 * x[127 - t] + 6; }))));
  out.push_back(
      kernel_of("named barriers: one part produces, the other consumes", "i32",
                R"(HONE_TEAM(i32, s, 64);
  if (t < 64) {
    s[t] = 3 * X[t];
    barrier_arrive(1, 128);
    barrier_sync(2, 128);
    Y[t] = s[t];
  } else {
    barrier_sync(1, 128);
    const i32 v = s[127 - t];
    barrier_sync(3, 64);
    s[t - 64] = v;
    barrier_arrive(2, 128);
    Y[t] = v;
  })",
                128, bytes_of(x),
                bytes_of(answers(128, [&](int t) { return 3 * x[t < 64 ? 63 - t : 127 - t]; }))));
  out.push_back(kernel_of("warps: one lane is elected, lanes meet", "i32",
                          R"(HONE_TEAM(i32, s, 128);
  const bool one = elect_one();
  s[t] = one ? 1 : 0;
  warp_barrier();
  i32 sum = X[t];
  for (i32 l = 0; l < 32; ++l) sum += s[t / 32 * 32 + l];
  Y[t] = sum;)",
                          128, bytes_of(x),
                          bytes_of(answers(128, [&](int t) { return x[t] + 1; }))));
  out.push_back(kernel_of("registers move between warpgroups", "i32",
                          R"(if (t < 128) { fewer_registers<24>(); Y[t] = X[t]; }
  else { more_registers<240>(); Y[t] = X[t % 128] + t / 128; })",
                          384, bytes_of(x),
                          bytes_of(answers(384, [&](int t) { return x[t % 128] + t / 128; }))));
}

/// Matrices from the registers of warps.
void add_matrix_stores(std::vector<RowKernel>& out) {
  Words many = numbers(128);
  for (int32_t& v : many) v += v << 20;
  const auto stored = [&](bool transposed) {
    Words y(128 * 4);
    for (int warp = 0; warp < 4; ++warp) {
      for (int e = 0; e < 256; ++e) {  // of four matrices of 8 by 8
        const int row = e % 64 / 8, column = e % 8, far = transposed ? column : row;
        const int near = transposed ? row : column, t = 32 * warp + far * 4 + near / 2;
        const int half = (many[t] + e / 64) >> 16 * (near % 2) & 0xffff;
        y[128 * warp + e / 2] |= half << 16 * (e % 2);
      }
    }
    return bytes_of(y);
  };
  for (const bool transposed : {false, true}) {
    out.push_back(kernel_of(fmt::format("matrices are stored{}", transposed ? " transposed" : ""),
                            "i32",
                            fmt::format(R"(HONE_TEAM(i32, s, 512); HONE_OWN(u32, w, 4);
  for (i32 i = 0; i < 4; ++i) w[i] = (u32)(X[t] + i);
  store_matrices{}(shared_address(HONE_AT(s, 4 * t)), HONE_AT(w, 0));
  warp_barrier();
  for (i32 i = 0; i < 4; ++i) Y[4 * t + i] = s[4 * t + i];)",
                                        transposed ? "_turned" : ""),
                            128, bytes_of(many), stored(transposed)));
  }
}

/// Copies of neighbouring bytes.
void add_bulk_copies(std::vector<RowKernel>& out) {
  const Words x = numbers(256);
  out.push_back(kernel_of("bulk copies to shared memory and back", "i32",
                          R"(HONE_TEAM(u64, bar, 1); HONE_TEAM(i32, s, 256);
  const u32 b = shared_address(HONE_AT(bar, 0)), to = shared_address(HONE_AT(s, 0));
  if (t == 0) {
    mbarrier_init(b, 1);
    fence_mbarrier_init();
    mbarrier_expect(b, 512);
    bulk_load(to, HONE_AT(X, 0), 512, b);
    mbarrier_arrive_expect(b, 512);
    bulk_load(to + 512, HONE_AT(X, 128), 512, b);
  }
  __syncthreads();
  mbarrier_wait(b, 0);
  const i32 low = s[t], high = s[255 - t];
  __syncthreads();
  s[t] = low + high;
  s[128 + t] = low - high;
  fence_proxy_async();
  __syncthreads();
  if (t == 0) {
    bulk_store(HONE_AT(Y, 0), to, 512);
    bulk_commit();
    bulk_store(HONE_AT(Y, 128), to + 512, 512);
    bulk_commit();
    bulk_wait_read<1>();
    bulk_wait<0>();
  })",
                          128, bytes_of(x), bytes_of(answers(256, [&](int i) {
                            const int low = x[i % 128], high = x[255 - i % 128];
                            return i < 128 ? low + high : low - high;
                          }))));
  out.push_back(
      kernel_of("a bulk copy to both blocks of a cluster", "i32",
                R"(HONE_TEAM(u64, bar, 1); HONE_TEAM(i32, s, 256);
  const u32 b = shared_address(HONE_AT(bar, 0)), to = shared_address(HONE_AT(s, 0));
  const u32 rank = cluster_rank();
  if (t == 0) { mbarrier_init(b, 1); fence_mbarrier_init(); mbarrier_arrive_expect(b, 1024); }
  cluster_arrive(); cluster_wait();
  if (t == 0) bulk_load_multicast(to + 512 * rank, HONE_AT(X, 128 * rank), 512, b, 3);
  mbarrier_wait(b, 0);
  Y[128 * rank + t] = s[t] * 2 + s[255 - t];
  cluster_arrive(); cluster_wait();)",
                128, bytes_of(x),
                bytes_of(answers(256, [&](int i) { return x[i % 128] * 2 + x[255 - i % 128]; }))));
  out.back().blocks = out.back().cluster = 2;
}

void add_clusters(std::vector<RowKernel>& out) {
  const Words x = numbers(256);
  out.push_back(kernel_of("blocks of a cluster share memory", "i32",
                          R"(HONE_TEAM(u32, s, 128); HONE_TEAM(u32, r, 128); HONE_TEAM(u64, bar, 1);
  const u32 rank = cluster_rank(), other = cluster_blocks() - 1 - rank;
  const u32 b = shared_address(HONE_AT(bar, 0));
  if (t == 0) { mbarrier_init(b, 128); fence_mbarrier_init(); }
  s[t] = (u32)X[128 * rank + t];
  cluster_arrive(); cluster_wait();
  const u32 v = load_cluster(shared_of_rank(shared_address(HONE_AT(s, 127 - t)), other));
  store_cluster(shared_of_rank(shared_address(HONE_AT(r, t)), other), v + 1);
  mbarrier_release_at(b, other);
  mbarrier_wait(b, 0);
  Y[128 * rank + t] = (i32)(u32)r[t];
  cluster_arrive(); cluster_wait();)",
                          128, bytes_of(x), bytes_of(answers(256, [&](int i) {
                            return x[i / 128 * 128 + 127 - i % 128] + 1;
                          }))));
  out.back().blocks = out.back().cluster = 2;
  // The other block writes over what was read once all have read it.
  out.push_back(kernel_of("blocks of a cluster free what they have read", "i32",
                          R"(HONE_TEAM(u32, s, 128); HONE_TEAM(u64, bar, 1);
  const u32 rank = cluster_rank(), other = cluster_blocks() - 1 - rank;
  const u32 b = shared_address(HONE_AT(bar, 0));
  if (t == 0) { mbarrier_init(b, 128); fence_mbarrier_init(); }
  cluster_arrive_relaxed(); cluster_wait();
  s[t] = (u32)X[128 * rank + t];
  __syncthreads();
  const u32 v = s[127 - t];
  mbarrier_arrive_at(b, other);
  mbarrier_wait(b, 0);
  store_cluster(shared_of_rank(shared_address(HONE_AT(s, t)), other), v);
  cluster_arrive(); cluster_wait();
  Y[128 * rank + t] = (i32)(u32)s[t];
  cluster_arrive_relaxed(); cluster_wait();)",
                          128, bytes_of(x), bytes_of(answers(256, [&](int i) {
                            return x[(1 - i / 128) * 128 + 127 - i % 128];
                          }))));
  out.back().blocks = out.back().cluster = 2;
}

// A tensor of up to five dimensions, a box, and where it is: beyond the tensor's ends, or, if it is
// loaded, before its beginnings. Rows begin at multiples of 16 bytes.
constexpr int kSize[] = {20, 5, 4, 3, 2}, kBox[] = {8, 4, 2, 2, 1};
constexpr int kBeyond[] = {16, 3, 3, 2, 1}, kBefore[] = {-4, -1, -1, -1, 0};

struct BoxCopy {
  int rank;
  const int* at;
  int elements = 1;   ///< of the tensor
  int box = 1;        ///< elements
  std::string where;  ///< coordinates, as the kernel has them
  emulation::TensorFacts map;

  BoxCopy(int dims, const int* place) : rank(dims), at(place) {
    map.rank = static_cast<uint32_t>(rank);
    map.element = 4;
    for (int d = 0; d < rank; ++d) {
      map.size[d] = static_cast<uint64_t>(kSize[d]);
      map.box[d] = static_cast<uint32_t>(kBox[d]);
      map.stride[d] = static_cast<uint64_t>(4 * elements);
      elements *= kSize[d], box *= kBox[d];
      where += fmt::format(", {}", at[d]);
    }
  }
  std::string name() const {
    return fmt::format("of rank {}, {} the tensor's {}", rank, at == kBeyond ? "beyond" : "before",
                       at == kBeyond ? "ends" : "beginnings");
  }
  /// Calls `f(element of the box, of the tensor)` for what is inside.
  template <class F>
  void each_inside(F f) const {
    for (int i = 0; i < box; ++i) {
      int rest = i, place = 0, step = 1;
      bool inside = true;
      for (int d = 0; d < rank; ++d) {
        const int c = at[d] + rest % kBox[d];
        rest /= kBox[d];
        inside &= c >= 0 && c < kSize[d];
        place += c * step;
        step *= kSize[d];
      }
      if (inside) f(static_cast<size_t>(i), static_cast<size_t>(place));
    }
  }
};

RowKernel tensor_load(const BoxCopy& copy, bool multicast) {
  const Words x = numbers(copy.elements);
  Words y(static_cast<size_t>(copy.box), 0);
  copy.each_inside([&](size_t i, size_t place) { y[i] = x[place]; });
  if (multicast) y.insert(y.end(), y.begin(), y.end());
  const std::string body = fmt::format(
      R"(HONE_TEAM(u64, bar, 1); HONE_TEAM(i32, s, {0});
  const u32 b = shared_address(HONE_AT(bar, 0)), to = shared_address(HONE_AT(s, 0));
  const u32 rank = {1};
  if (t == 0) {{
    tensor_prefetch(&args.map[0]);
    mbarrier_init(b, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect(b, {0} * 4);
  }}
  {2}
  if (t == 0 && rank == 0) {3}{4});
  mbarrier_wait(b, 0);
  for (i32 i = t; i < {0}; i += 128) Y[(i32)rank * {0} + i] = s[i];
  {5})",
      copy.box, multicast ? "cluster_rank()" : "0",
      multicast ? "cluster_arrive(); cluster_wait();" : "__syncthreads();",
      multicast ? "tensor_load_multicast(to, &args.map[0], b, 3"
                : "tensor_load(to, &args.map[0], b",
      copy.where, multicast ? "cluster_arrive(); cluster_wait();" : "");
  RowKernel k =
      kernel_of(fmt::format("tensor loads {}{}", copy.name(), multicast ? ", to two blocks" : ""),
                "i32", body, 128, bytes_of(x), bytes_of(y));
  k.maps[0] = copy.map;
  if (multicast) k.blocks = k.cluster = 2;
  return k;
}

RowKernel tensor_store(const BoxCopy& copy) {
  const Words x = numbers(copy.box);
  Words y(static_cast<size_t>(copy.elements), -1);
  copy.each_inside([&](size_t i, size_t place) { y[place] = x[i]; });
  const std::string body = fmt::format(
      R"(HONE_TEAM(i32, s, {0});
  for (i32 i = t; i < {0}; i += 128) s[i] = X[i];
  fence_proxy_async();
  __syncthreads();
  if (t == 0) {{
    tensor_store(&args.map[0], shared_address(HONE_AT(s, 0)){1});
    bulk_commit();
    bulk_wait<0>();
  }})",
      copy.box, copy.where);
  RowKernel k =
      kernel_of("tensor stores " + copy.name(), "i32", body, 128, bytes_of(x), bytes_of(y));
  k.maps[0] = copy.map;
  k.map_of_y = 0;
  return k;
}

/// A tile with a swizzle: plain code finds each chunk where the address says.
void add_swizzles(std::vector<RowKernel>& out, int swizzle) {
  const int columns = swizzle / 4;
  const Words x = numbers(16 * 40);
  const std::string body = fmt::format(
      R"(HONE_DYNAMIC(4096);
  HONE_TEAM_AT(i32, s, 16 * {0}, 0); HONE_TEAM(u64, bar, 1);
  const u32 b = shared_address(HONE_AT(bar, 0)), to = shared_address(HONE_AT(s, 0));
  if (t == 0) {{
    mbarrier_init(b, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect(b, 16 * {0} * 4);
    tensor_load(to, &args.map[0], b, 4, 0);
  }}
  __syncthreads();
  mbarrier_wait(b, 0);
  for (i32 i = t; i < 16 * {0}; i += 128) {{
    const u32 at = (u32)i * 4;
    Y[i] = s[(at ^ ((at >> 7 & {1}) << 4)) / 4];
  }})",
      columns, swizzle / 16 - 1);
  Words y;
  for (int r = 0; r < 16; ++r) {
    for (int c = 0; c < columns; ++c)
      y.push_back(c + 4 < 40 ? x[static_cast<size_t>(40 * r + c + 4)] : 0);
  }
  RowKernel k = kernel_of(fmt::format("a tile with a swizzle of {} bytes", swizzle), "i32", body,
                          128, bytes_of(x), bytes_of(y));
  emulation::TensorFacts& f = k.maps[0];
  f.rank = 2, f.element = 4, f.swizzle = static_cast<uint32_t>(swizzle);
  f.size[0] = 40, f.size[1] = 16, f.stride[0] = 4, f.stride[1] = 160;
  f.box[0] = static_cast<uint32_t>(columns), f.box[1] = 16;
  k.dynamic_bytes = 4096;
  out.push_back(std::move(k));
}

}  // namespace

RowKernel kernel_of(std::string name, const std::string& type, const std::string& body, int threads,
                    Bytes x, Bytes answer, const std::string& result) {
  RowKernel k;
  k.name = std::move(name);
  const size_t size = type == "i8" ? 1 : type == "bf16" || type == "f16" ? 2 : 4;
  k.text = fmt::format(
      "struct Args {{ i64 slot[8]; TensorMap map[3]; }};\n"
      "HONE_KERNEL({}) kernel(const HONE_PARAMETER Args args) {{\n"
      "  HONE_GLOBAL(const {}, X, args.slot[2], {});\n"
      "  HONE_GLOBAL({}, Y, args.slot[3], {});\n"
      "  const i32 t = (i32)threadIdx.x;\n  {}\n}}\n",
      threads, type, x.size() / size, result, answer.size() / 4, body);
  k.threads = threads;
  k.x = std::move(x);
  k.answer = std::move(answer);
  return k;
}

std::vector<RowKernel> row_kernels() {
  std::vector<RowKernel> out;
  add_barriers(out);
  add_matrix_stores(out);
  add_bulk_copies(out);
  add_clusters(out);
  for (int rank = 1; rank <= 5; ++rank) {
    for (const int* at : {kBeyond, kBefore}) {
      const BoxCopy copy(rank, at);
      out.push_back(tensor_load(copy, false));
      out.push_back(tensor_load(copy, true));
      if (at == kBeyond) out.push_back(tensor_store(copy));
    }
  }
  for (int swizzle : {32, 64, 128}) add_swizzles(out, swizzle);
  return out;
}

jit::CudaSource source_of(const RowKernel& kernel) {
  jit::CudaSource out;
  out.slots = 8;
  out.kernels = kernel.text;
  const std::string plain = fmt::format("HONE_KERNEL({})", kernel.threads);
  if (kernel.cluster > 1) {
    out.kernels.replace(
        out.kernels.find(plain), plain.size(),
        fmt::format("HONE_CLUSTER_KERNEL({}, {}, 1, 1)", kernel.threads, kernel.cluster));
  }
  jit::CudaLaunch launch;
  launch.symbol = "kernel";
  launch.grid = {ir::make_int(kernel.blocks), ir::make_int(1), ir::make_int(1)};
  launch.block = {kernel.threads, 1, 1};
  launch.cluster = {kernel.cluster, 1, 1};
  launch.dynamic_bytes = kernel.dynamic_bytes;
  out.launches.push_back(launch);
  return out;
}

std::string renamed(const std::string& text, const std::string& name) {
  std::string out = text;
  const std::string old = " kernel(";
  out.replace(out.find(old), old.size(), " " + name + "(");
  return out;
}

RowData::RowData(const RowKernel& kernel)
    : x_((kernel.x.size() + 127) / 128),
      y_((kernel.answer.size() + 127) / 128),
      answer_(kernel.answer) {
  std::memcpy(x_.data(), kernel.x.data(), kernel.x.size());
  std::memset(y_.data(), 0xff, 128 * y_.size());
  args_.slot[2] = reinterpret_cast<int64_t>(x_.data());
  args_.slot[3] = reinterpret_cast<int64_t>(y_.data());
  for (size_t m = 0; m < kernel.maps.size(); ++m) {
    emulation::TensorFacts f = kernel.maps[m];
    if (f.rank == 0) continue;
    f.address += static_cast<uint64_t>(args_.slot[static_cast<int>(m) == kernel.map_of_y ? 3 : 2]);
    emulation::write_map(f, args_.map[m].words);
  }
}

std::string RowData::difference() const {
  return tests::difference(reinterpret_cast<const uint8_t*>(y_.data()), answer_);
}

std::string difference(const uint8_t* y, const Bytes& answer) {
  for (size_t i = 0; i < answer.size(); i += 4) {
    if (std::memcmp(y + i, answer.data() + i, 4) == 0) continue;
    int32_t is = 0, must = 0;
    std::memcpy(&is, y + i, 4);
    std::memcpy(&must, answer.data() + i, 4);
    return fmt::format("word {} of y is {:#x}, and must be {:#x}", i / 4, is, must);
  }
  return "";
}

}  // namespace hone::tests
