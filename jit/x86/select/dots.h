// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "jit/ir/instructions.h"
#include "jit/x86/select/addresses.h"
#include "jit/x86/select/dot_excess.h"
#include "jit/x86/select/dot_forms.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/memory.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Tensor loops: all iterations as one dot product in each lane. A group of a factor is loaded as
/// if it were one element, the same in all lanes or one after the other.
class Dots final : public SelectionPart {
 public:
  Dots(Context& context, Indices& indices, Addresses& addresses, Vectors& vectors, Masks& masks,
       Memory& memory, DotExcess& excess)
      : SelectionPart(context),
        indices_(indices),
        addresses_(addresses),
        vectors_(vectors),
        masks_(masks),
        memory_(memory),
        excess_(excess) {}

  /// The store whose products the tensor loop `s` is; null, with the reason, where it is no such
  /// loop.
  const ir::StoreStmt* accepted(const ir::ForStmt& s, const Affine& extent);
  /// Whether the store's value is a product of loads. Where a guarded load is always outside of its
  /// tensor, lowering leaves the number that stands there.
  static bool takes(const ir::StoreStmt& s);
  /// From here to `leave` what is stored are the products of `extent` iterations of `s`.
  void enter(const ir::ForStmt& s, const Affine& begin, int extent);
  void leave() { dot_ = {}; }
  bool active() const { return dot_.row != nullptr; }
  /// dest += the groups' products. `stays`: dest runs on until the loops of the reduction end.
  void add_to(Reg dest, const ir::StoreStmt& s, Reg mask, bool stays);
  /// `old` plus the groups' products.
  Value added(const Value& old, const ir::StoreStmt& s);

 private:
  /// The tensor loop being emitted, while its store is.
  struct Dot {
    const ir::Instruction* row = nullptr;
    const DotForm* form = nullptr;
    int loop = -1;
    Affine begin;
    int extent = 0;
  };
  /// The groups of a factor, as the instruction takes them.
  struct DotFactor {
    Reg reg;
    DType type = DType::kI8;
    bool uniform = false;  ///< one group in all lanes
  };
  struct DotOperands {
    Reg first, second;
    std::array<Reg, 2> correction;  ///< whose product is to be taken off, where one was moved
  };

  /// True when the elements of a group lie one after the other from `offset`. Every element is
  /// checked, because a layout may cut groups apart.
  bool together(const ir::Expr& index, const Affine& offset);
  /// The groups of one factor, a lane each. Elements past the end of a rest are 0.
  DotFactor factor_of(const ir::Expr& factor);
  /// An element as long as a group of `type`.
  DType group_type(DType type) const;
  void refuse_layout(int buffer);
  /// One group in all lanes.
  Reg group_broadcast(const Mem& m, const DotFactor& f, int buffer);
  /// AVX-512: groups whose first elements alone exist.
  Reg group_rest(const Mem& m, const DotFactor& f, int buffer);
  /// Every byte of `r` moved by 128: signed to unsigned and back.
  Reg moved_by_128(Reg r);
  /// The operands of the instruction, in its order, for the product in `s`.
  DotOperands operands_of(const ir::StoreStmt& s);
  /// What the moved operand adds too much, of one group.
  Reg excess_of(const DotOperands& o);

  Indices& indices_;
  Addresses& addresses_;
  Vectors& vectors_;
  Masks& masks_;
  Memory& memory_;
  DotExcess& excess_;
  Dot dot_;
};

}  // namespace hone::jit
