// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu/models.h"

namespace hone::tests {
namespace {

constexpr int kKiB = 1 << 10, kMiB = 1 << 20;

// The clocks, widths and caches of a typical board of each capability.
constexpr Model kModels[] = {
    {75, "Emulated T4", 40, 1590000, 5001000, 256, 4 * kMiB, 1024, 16, 64 * kKiB, 64 * kKiB, 0},
    {80, "Emulated A100", 108, 1410000, 1215000, 5120, 40 * kMiB, 2048, 32, 164 * kKiB, 163 * kKiB,
     kKiB},
    {86, "Emulated A10", 72, 1695000, 6251000, 384, 6 * kMiB, 1536, 16, 100 * kKiB, 99 * kKiB,
     kKiB},
    {89, "Emulated L4", 58, 2040000, 6251000, 192, 48 * kMiB, 1536, 24, 100 * kKiB, 99 * kKiB,
     kKiB},
    {90, "Emulated H100", 132, 1980000, 2619000, 5120, 50 * kMiB, 2048, 32, 228 * kKiB, 227 * kKiB,
     kKiB},
    {100, "Emulated B200", 148, 1965000, 3996000, 8192, 126 * kMiB, 2048, 32, 228 * kKiB,
     227 * kKiB, kKiB},
    {120, "Emulated RTX 5090", 170, 2407000, 14001000, 512, 96 * kMiB, 1536, 24, 100 * kKiB,
     99 * kKiB, kKiB},
};

}  // namespace

const Model* model_of(int sm) {
  for (const Model& m : kModels) {
    if (m.sm == sm) return &m;
  }
  return nullptr;
}

// Numbers of CU_DEVICE_ATTRIBUTE, from the driver's reference.
int attribute_of(const Model& m, int attribute, int ordinal) {
  switch (attribute) {
    case 1:
      return 1024;  // threads of a block
    case 2:
    case 3:
      return 1024;  // block, x and y
    case 4:
      return 64;  // block, z
    case 5:
      return 2147483647;  // grid, x
    case 6:
    case 7:
      return 65535;  // grid, y and z
    case 8:
      return 48 * kKiB;  // shared memory of a block that asks for no more
    case 9:
      return 64 * kKiB;  // constant memory
    case 10:
      return 32;  // threads of a warp
    case 11:
      return 2147483647;  // pitch
    case 12:
      return 65536;  // registers of a block
    case 13:
      return m.clock_khz;
    case 14:
      return 512;  // alignment of textures
    case 15:
      return 1;  // copies beside kernels
    case 16:
      return m.multiprocessors;
    case 17:
      return 0;  // time limit on kernels
    case 18:
      return 0;  // integrated
    case 19:
      return 1;  // host memory can be mapped
    case 20:
      return 0;  // compute mode: default
    case 31:
      return 1;  // kernels beside kernels
    case 32:
      return 1;  // ECC
    case 33:
      return ordinal + 1;  // PCI bus
    case 34:
      return 0;  // PCI device
    case 36:
      return m.memory_clock_khz;
    case 37:
      return m.bus_bits;
    case 38:
      return m.l2_bytes;
    case 39:
      return m.threads;
    case 40:
      return 2;  // TMAs
    case 41:
      return 1;  // one address space
    case 50:
      return 0;  // PCI domain
    case 75:
      return m.sm / 10;
    case 76:
      return m.sm % 10;
    case 78:
      return 1;  // priorities of streams
    case 81:
      return m.shared_bytes;
    case 82:
      return 65536;  // registers of a multiprocessor
    case 83:
      return 1;  // managed memory
    case 87:
      return m.sm == 80 || m.sm >= 90 ? 2 : 32;  // f32 rate over f64 rate
    case 88:
      return 0;  // pageable memory from kernels
    case 95:
      return 1;  // cooperative launches
    case 97:
      return m.block_shared_bytes;
    case 106:
      return m.blocks;
    case 108:
      return m.sm >= 80 ? m.l2_bytes / 4 * 3 : 0;  // L2 that can be set aside
    case 111:
      return m.reserved_bytes;
    case 115:
      return 1;  // memory pools
    case 120:
      return m.sm >= 90;  // clusters
    case 127:
      return m.sm >= 90;  // tensor maps
    default:
      return -1;
  }
}

}  // namespace hone::tests
