// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "jit/ir/target.h"
#include "jit/x86/encode/instructions.h"

namespace hone::tests {

/// The host's capabilities, as far as code generation cares.
ir::Target host_x86();

/// Random structured LIR over registers that are all written first: nested loops, branches,
/// general, vector and mask registers, constants of the pool, loads and stores of the 4096 bytes
/// that args points to. Vectors have `vector_bytes`; masks only with 64.
class RandomLir {
 public:
  RandomLir(unsigned seed, int vector_bytes);
  jit::Lir make();

 private:
  int below(int n);
  jit::Reg pick(const std::vector<jit::Reg>& from);
  jit::Mem place(int bytes);
  void add(jit::Opcode op, std::array<jit::Operand, 4> operands, jit::Reg mask = {},
           bool zeroing = false);
  jit::Operand v(jit::Reg r) const;
  void define_all();
  void store_all();
  void statements(int count, int depth);
  void statement(int depth);
  void general();
  void vector();
  void mask();
  void loop(int depth);
  void branch(int depth);

  std::mt19937 random_;
  int bytes_;
  jit::Lir lir_;
  std::vector<jit::Reg> gprs_, vecs_, masks_, constants_;
};

/// Runs virtual LIR of the kind RandomLir makes, on 4096 bytes of memory.
void interpret(const jit::Lir& lir, std::vector<uint8_t>& memory, int vector_bytes);

}  // namespace hone::tests
