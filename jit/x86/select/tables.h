// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "jit/x86/select/indices.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/spreads.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Elements of a short table at positions that data choose, such as T[X[i]] of 16 floats or 256
/// bytes. The table lies in registers, and shuffles look all lanes up at once. No position makes
/// them fault.
class Tables final : public SelectionPart {
 public:
  Tables(Context& context, Indices& indices, Vectors& vectors, Spreads& spreads)
      : SelectionPart(context), indices_(indices), vectors_(vectors), spreads_(spreads) {}

  /// True of buffers that registers may hold.
  static bool may_hold(const ir::NestBuffer& buffer, const ir::Target& target);
  /// The elements of a buffer in memory at `index`, which exist. False where the table is too long,
  /// or how long it is is not known.
  bool load(int buffer, const ir::Expr& index, Value& out);

 private:
  /// What lanes look up: element `position - least` of the `count` elements from `first` on.
  struct Entries {
    int buffer = -1;
    Affine first;
    int64_t least = 0, count = 0;
    ir::Expr position;  ///< of a type as small as its values allow
  };

  bool find(int buffer, const ir::Expr& index, Entries& out);
  /// The number of each lane's element, in integers of an element's size.
  Reg numbers(const Entries& e, int size);
  /// The table in registers of `bytes`; empty where a mask is missing for the last of them.
  std::vector<Reg> registers(const Entries& e, int bytes);
  /// The table in pieces of 16 bytes, each of them repeated over a vector; as `registers`
  /// otherwise.
  std::vector<Reg> sixteens(const Entries& e);

  /// AVX-512: elements of 2, 4 or 8 bytes.
  Reg wide_elements(const std::vector<Reg>& table, Reg numbers, int size);
  /// AVX-512: bytes, those of even and of odd lanes as words.
  Reg wide_bytes(const std::vector<Reg>& table, Reg numbers);
  /// AVX2: elements of 4 bytes.
  Reg floats(const std::vector<Reg>& table, Reg numbers);
  /// Bytes of a table in pieces of 16.
  Reg bytes(const std::vector<Reg>& table, Reg numbers);
  /// AVX2: the numbers of the bytes of elements of two.
  Reg numbers_of_bytes(Reg numbers);
  Reg constant(DType type, uint64_t bits);

  Indices& indices_;
  Vectors& vectors_;
  Spreads& spreads_;
};

}  // namespace hone::jit
