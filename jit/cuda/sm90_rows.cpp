// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/sm90_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::jit {
namespace {

struct Row {
  const char* signature;
  const char* device;
  const char* host;
  const char* templates = "";
  bool exact = false;
};

// Addresses are those of shared memory, as shared_address() gives them. PTX ISA, by instruction.
constexpr Row kSm90RowsRows[] = {
    {"u32 shared_address(P place)", "return (u32)__cvta_generic_to_shared(place);",
     "return emulation::address_of(place);", "template <class P>"},

    // mbarrier: threads arrive, copies count bytes, a phase is complete when nothing is missing.
    {"void mbarrier_init(u32 barrier, u32 count)",
     R"(asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(count) : "memory");)",
     "emulation::mbarrier_init(barrier, count);"},
    {"void mbarrier_invalidate(u32 barrier)",
     R"(asm volatile("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(barrier) : "memory");)",
     "emulation::mbarrier_invalidate(barrier);"},
    {"void mbarrier_arrive(u32 barrier)",
     R"(asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory");)",
     "emulation::mbarrier_arrive(barrier, 0);"},
    {"void mbarrier_arrive_expect(u32 barrier, u32 bytes)",
     R"(asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               : : "r"(barrier), "r"(bytes) : "memory");)",
     "emulation::mbarrier_arrive(barrier, bytes);"},
    {"void mbarrier_expect(u32 barrier, u32 bytes)",
     R"(asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
               : : "r"(barrier), "r"(bytes) : "memory");)",
     "emulation::mbarrier_expect(barrier, bytes);"},
    // Of another block of the cluster: that the thread is done with its reads. The second shows
    // that block what the thread wrote as well, by a fence of the whole GPU.
    {"void mbarrier_arrive_at(u32 barrier, u32 rank)",
     R"(asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}"
               : : "r"(barrier), "r"(rank) : "memory");)",
     "emulation::mbarrier_arrive_at(barrier, rank, false);"},
    {"void mbarrier_release_at(u32 barrier, u32 rank)",
     R"(asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}"
               : : "r"(barrier), "r"(rank) : "memory");)",
     "emulation::mbarrier_arrive_at(barrier, rank, true);"},
    // Until the phase of this parity is complete: 0 for the first, 1 for the second and so on. A
    // new barrier's phase of parity 1 counts as complete.
    {"void mbarrier_wait(u32 barrier, u32 parity)",
     R"(u32 done;
  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
  } while (!done);)",
     "emulation::mbarrier_wait(barrier, parity);"},
    // Between mbarrier_init and the barrier after which others, and copies, use it.
    {"void fence_mbarrier_init()",
     R"(asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");)",
     "emulation::fence_mbarrier_init();"},
    // Between what threads wrote to shared memory and what copies and products read of it.
    {"void fence_proxy_async()",
     R"(asm volatile("fence.proxy.async.shared::cta;" : : : "memory");)",
     "emulation::fence_proxy_async();"},

    // Bulk copies of neighbouring bytes: multiples of 16, at multiples of 16. One thread starts
    // them.
    {"void bulk_load(u32 to, P from, u32 bytes, u32 barrier)",
     R"(asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               : : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier) : "memory");)",
     "emulation::start_bulk_load(to, from, bytes, barrier, 0);", "template <class P>"},
    // To the same place in every block of the cluster that the mask has, and counted there.
    {"void bulk_load_multicast(u32 to, P from, u32 bytes, u32 barrier, unsigned short blocks)",
     R"(asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1], %2, [%3], %4;"
               : : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier),
                   "h"(blocks) : "memory");)",
     "emulation::start_bulk_load(to, from, bytes, barrier, blocks);", "template <class P>", true},
    {"void bulk_store(P to, u32 from, u32 bytes)",
     R"(asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               : : "l"(__cvta_generic_to_global(to)), "r"(from), "r"(bytes) : "memory");)",
     "emulation::start_bulk_store(to, from, bytes);", "template <class P>"},
    // Stores of one thread since its last commit are a group.
    {"void bulk_commit()", R"(asm volatile("cp.async.bulk.commit_group;" : : : "memory");)",
     "emulation::bulk_commit();"},
    // Until all but the last N groups are done, or have only read what they store.
    {"void bulk_wait()", R"(asm volatile("cp.async.bulk.wait_group %0;" : : "n"(N) : "memory");)",
     "emulation::bulk_wait(N);", "template <int N>"},
    {"void bulk_wait_read()",
     R"(asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(N) : "memory");)",
     "emulation::bulk_wait(N);", "template <int N>"},
    {"void tensor_prefetch(const TensorMap* map)",
     R"(asm volatile("prefetch.tensormap [%0];" : : "l"(map) : "memory");)",
     "emulation::tensor_prefetch(map);"},

    // wgmma: products of a warpgroup, 128 threads.
    {"void wgmma_fence()", R"(asm volatile("wgmma.fence.sync.aligned;" : : : "memory");)",
     "emulation::wgmma_fence();", "", true},
    {"void wgmma_commit()", R"(asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");)",
     "emulation::wgmma_commit();", "", true},
    {"void wgmma_wait()",
     R"(asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(N) : "memory");)",
     "emulation::wgmma_wait(N);", "template <int N>", true},
    // Keeps the compiler from moving uses of registers across: after wgmma_wait, before they are
    // used; before wgmma_fence, after they are written. Floats stay floats: a move between kinds of
    // registers would be a use, before which the products are waited for.
    {"void keep_registers(P registers)",
     R"(typedef typename Plain<decltype(*registers)>::T Register;
  #pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    if constexpr ((Register)0.5f != (Register)0)
      asm volatile("" : "+f"(registers[i]) : : "memory");
    else
      asm volatile("" : "+r"(registers[i]) : : "memory");
  })",
     "(void)registers;", "template <int COUNT, class P>"},
    // Bytes between a matrix's cores; swizzle is 0, 32, 64 or 128 bytes.
    {"u64 matrix_descriptor(u32 address, u32 leading, u32 stride, u32 swizzle)",
     R"(const u64 mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (u64)((address & 0x3ffff) >> 4) | (u64)((leading & 0x3ffff) >> 4) << 16 |
         (u64)((stride & 0x3ffff) >> 4) << 32 | mode << 62;)",
     nullptr},

    // Clusters of blocks.
    {"u32 cluster_rank()",
     R"(u32 r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r;)",
     "return emulation::block->rank;"},
    {"u32 cluster_blocks()",
     R"(u32 n; asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(n)); return n;)",
     "return (u32)emulation::cluster->blocks.size();"},
    // The same place in another block's shared memory.
    {"u32 shared_of_rank(u32 address, u32 rank)",
     R"(u32 there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;)",
     "return emulation::shared_of_rank(address, rank);"},
    {"u32 load_cluster(u32 address)",
     R"(u32 v; asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory"); return v;)",
     "return emulation::load_cluster(address);"},
    {"void store_cluster(u32 address, u32 value)",
     R"(asm volatile("st.shared::cluster.u32 [%0], %1;" : : "r"(address), "r"(value) : "memory");)",
     "emulation::store_cluster(address, value);"},
    {"void cluster_arrive()",
     R"(asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");)",
     "emulation::cluster_arrive(true);"},
    // Shows the others mbarriers that were fenced, and nothing else.
    {"void cluster_arrive_relaxed()",
     R"(asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory");)",
     "emulation::cluster_arrive(false);"},
    {"void cluster_wait()",
     R"(asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");)",
     "emulation::cluster_wait();"},

    // Four matrices of 8 rows of 16 bytes, as products hold them. Lane 8 * j + r has the address of
    // row r of matrix j. Every lane has of each matrix two neighbours of row lane / 4; transposed,
    // of column lane / 4.
    {"void store_matrices(u32 address, P words)",
     R"(asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               : : "r"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");)",
     "emulation::store_matrices(address, words, false);", "template <class P>"},
    {"void store_matrices_turned(u32 address, P words)",
     R"(asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
               : : "r"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");)",
     "emulation::store_matrices(address, words, true);", "template <class P>"},

    // Warp specialization.
    {"void warp_barrier()", "__syncwarp();", "emulation::warp_barrier();"},
    {"bool elect_one()",
     R"(u32 elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
  return elected != 0;)",
     "return emulation::elect_one();"},
    // Barrier `id` of 1..15 for that many threads of the block, whole warps: some only arrive.
    {"void barrier_sync(u32 id, u32 threads)",
     R"(asm volatile("bar.sync %0, %1;" : : "r"(id), "r"(threads) : "memory");)",
     "emulation::barrier_sync(id, threads);"},
    {"void barrier_arrive(u32 id, u32 threads)",
     R"(asm volatile("bar.arrive %0, %1;" : : "r"(id), "r"(threads) : "memory");)",
     "emulation::barrier_arrive(id, threads);"},
    // Registers of each thread of the warpgroup, a multiple of 8.
    {"void more_registers()", R"(asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(N));)",
     "emulation::change_registers(N, true);", "template <int N>", true},
    {"void fewer_registers()", R"(asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(N));)",
     "emulation::change_registers(N, false);", "template <int N>", true},
};

/// TMA copies of a box of a tensor that a tensor map describes, from or to the box at `c0`, `c1`,
/// .... `c0` counts along neighbours in memory. Elements outside the tensor are 0, or not stored.
void add_tensor_copies(std::vector<Sm90Row>& rows) {
  for (int dims = 1; dims <= 5; ++dims) {
    std::string names, values, list, inputs;
    for (int d = 0; d < dims; ++d) {
      const char* comma = d ? ", " : "";
      names += fmt::format(", i32 c{}", d);
      values += fmt::format("{}c{}", comma, d);
      list += fmt::format("{}%{}", comma, 2 + d);
      inputs += fmt::format(", \"r\"(c{})", d);
    }
    const std::string kind = fmt::format("cp.async.bulk.tensor.{}d", dims);
    const std::string load =
        fmt::format("{}.shared::cluster.global.tile.mbarrier::complete_tx::bytes", kind);
    const std::string host = fmt::format("const i32 at[] = {{{}}};\n  ", values);
    rows.push_back(
        {"", fmt::format("void tensor_load(u32 to, const TensorMap* map, u32 barrier{})", names),
         fmt::format(
             "asm volatile(\"{} [%0], [%1, {{{}}}], [%{}];\"\n               : : \"r\"(to), "
             "\"l\"(map){}, \"r\"(barrier) : \"memory\");",
             load, list, 2 + dims, inputs),
         host + fmt::format("emulation::tensor_load(to, map, barrier, at, {}, 0);", dims)});
    rows.push_back(
        {"",
         fmt::format(
             "void tensor_load_multicast(u32 to, const TensorMap* map, u32 barrier, unsigned short "
             "blocks{})",
             names),
         fmt::format("asm volatile(\"{}.multicast::cluster [%0], [%1, {{{}}}], [%{}], %{};\"\n"
                     "               : : \"r\"(to), \"l\"(map){}, \"r\"(barrier), \"h\"(blocks) : "
                     "\"memory\");",
                     load, list, 2 + dims, 3 + dims, inputs),
         host + fmt::format("emulation::tensor_load(to, map, barrier, at, {}, blocks);", dims),
         true});
    rows.push_back(
        {"", fmt::format("void tensor_store(const TensorMap* map, u32 from{})", names),
         fmt::format("asm volatile(\"{}.global.shared::cta.tile.bulk_group [%1, {{{}}}], [%0];\"\n"
                     "               : : \"r\"(from), \"l\"(map){} : \"memory\");",
                     kind, list, inputs),
         host + fmt::format("emulation::tensor_store(map, from, at, {});", dims)});
  }
}

/// How the driver describes a tensor to tensor copies: made by the host, taken by address from a
/// kernel's parameters.
constexpr const char* kSm90RowsTypes = R"(
struct alignas(64) TensorMap { unsigned long long words[16]; };
)";

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool mentions(std::string_view text, const std::string& name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return true;
    }
  }
  return false;
}

std::string text_of(const Sm90Row& row, const std::string& body) {
  return row.templates + (row.templates.empty() ? "" : " ") + "HONE_DEVICE " + row.signature +
         " {\n  " + body + "\n}\n";
}

}  // namespace

std::string Sm90Row::name() const {
  const size_t end = signature.find('(');
  return signature.substr(signature.rfind(' ', end) + 1, end - signature.rfind(' ', end) - 1);
}

std::vector<Sm90Row> sm90_rows() {
  std::vector<Sm90Row> rows;
  for (const Row& r : kSm90RowsRows) {
    rows.push_back({r.templates, r.signature, r.device, r.host ? r.host : r.device, r.exact});
  }
  add_tensor_copies(rows);
  for (Sm90Row& row : sm90_wgmma()) rows.push_back(std::move(row));
  return rows;
}

std::string sm90_rows_for(std::string_view kernels) {
  std::string out;
  for (const Sm90Row& row : sm90_rows()) {
    if (mentions(kernels, row.name())) out += text_of(row, row.device);
  }
  if (out.empty() && !mentions(kernels, "TensorMap")) return "";
  // Where kernels run on a CPU, the rows by their meaning are there already.
  return "\n#ifndef HONE_EMULATION" + std::string(kSm90RowsTypes) + out + "#endif\n";
}

std::string sm90_rows_on_host() {
  std::string out = kSm90RowsTypes;
  for (const Sm90Row& row : sm90_rows()) out += text_of(row, row.host);
  return out;
}

bool needs_sm90a(std::string_view kernels) {
  const std::vector<Sm90Row> rows = sm90_rows();
  return std::any_of(rows.begin(), rows.end(), [&](const Sm90Row& row) {
    return row.exact && mentions(kernels, row.name());
  });
}

}  // namespace hone::jit
