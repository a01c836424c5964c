// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hone::tests {

/// A GPU as its attributes tell it.
struct Model {
  int sm;                  ///< compute capability, ten times
  const char* name;        ///< as cuDeviceGetName gives it
  int multiprocessors;     ///< of the device
  int clock_khz;           ///< of the multiprocessors
  int memory_clock_khz;    ///< half of the transfers of a pin
  int bus_bits;            ///< width of the memory's bus
  int l2_bytes;            ///< second-level cache
  int threads;             ///< resident on a multiprocessor
  int blocks;              ///< resident on a multiprocessor
  int shared_bytes;        ///< of a multiprocessor
  int block_shared_bytes;  ///< that a block may ask for
  int reserved_bytes;      ///< of shared memory, that every block loses
};

/// The model of a compute capability, or null.
const Model* model_of(int sm);

/// The value of CU_DEVICE_ATTRIBUTE number `attribute`, or -1 where the emulation has none.
int attribute_of(const Model& model, int attribute, int ordinal);

}  // namespace hone::tests
