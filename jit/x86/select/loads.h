// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "jit/x86/select/addresses.h"
#include "jit/x86/select/conditions.h"
#include "jit/x86/select/gathers.h"
#include "jit/x86/select/guards.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/integers.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/memory.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/positions.h"
#include "jit/x86/select/spreads.h"
#include "jit/x86/select/tables.h"
#include "jit/x86/select/tiles.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Loads as the nest states them: from memory, from tiles, at indices from memory, on a condition.
class Loads final : public SelectionPart {
 public:
  Loads(Context& context, Indices& indices, Addresses& addresses, Integers& integers,
        Vectors& vectors, Masks& masks, Conditions& conditions, Guards& guards, Spreads& spreads,
        Gathers& gathers, Memory& memory, Positions& positions, Tables& tables, Tiles& tiles)
      : SelectionPart(context),
        indices_(indices),
        addresses_(addresses),
        integers_(integers),
        vectors_(vectors),
        masks_(masks),
        conditions_(conditions),
        guards_(guards),
        spreads_(spreads),
        gathers_(gathers),
        memory_(memory),
        positions_(positions),
        tables_(tables),
        tiles_(tiles) {}

  Value load(const ir::Expr& e);
  /// The low `bits` of an i32, anything above them: of a byte, shifted right or not, where
  /// neighbouring lanes read parts of one. False of what is no such, or is read as it lies.
  bool load_low_bits(const ir::Expr& e, int bits, Value& out);
  /// The remainder of an i32 by a power of two, where `load_low_bits` gives it.
  bool load_remainder(const ir::Expr& e, Value& out);
  /// Prefetches in a vector loop, once for each line that the lanes are on. Only the first lane
  /// prefetches where the number of lines is known only at the call.
  void prefetch(const ir::PrefetchStmt& s);

 private:
  /// An element that exists, whatever a guard of the load says.
  Value load_certain(const ir::Expr& e);
  /// An element that exists only where a condition holds.
  Value load_guarded(const ir::Expr& e);
  /// Whether it is known of each lane that a condition holds: the bits of those in which it does.
  bool known_lanes(const ir::Expr& condition, uint64_t& inside);
  /// The load `e` where the lanes `inside`, one at least, lie in the tensor, and no others do.
  Value load_of_lanes(const ir::Expr& e, uint64_t inside);
  /// Parts of a condition that are one for all lanes, and the others; none is null.
  void split_by_lane(const ir::Expr& condition, ir::Expr& common, ir::Expr& apart) const;
  /// The load `e` where `condition` holds for all lanes, as `load` makes it, in the form of memory:
  /// a branch. Masks that are empty make a load slow where nothing is mapped, and keep prefetchers
  /// from learning.
  Value load_behind(const ir::Expr& condition, const ir::Expr& e,
                    const std::function<Value()>& load);
  Reg read_behind(const ir::Expr& condition, const ir::Expr& e, const std::function<Value()>& load);
  /// What was read from a buffer, as a value of its type.
  Value as_loaded(Reg read, int buffer);
  /// The same where it is the whole condition: once for all equal loads.
  Value load_once(const ir::Expr& e, const std::function<Value()>& load);
  /// The same, lane by lane with a branch each.
  Value load_branched(const ir::Expr& e);
  Value load_gather(const ir::Expr& e);
  /// True where lanes compute an index, up to what all of them share, in 32 bits or fewer.
  bool fits_lanes(const ir::Expr& index);
  bool is_computed_narrow(const ir::Expr& e);
  /// True where lanes read an index from places of their own.
  bool loads_by_lane(const ir::Expr& index) const;

  Indices& indices_;
  Addresses& addresses_;
  Integers& integers_;
  Vectors& vectors_;
  Masks& masks_;
  Conditions& conditions_;
  Guards& guards_;
  Spreads& spreads_;
  Gathers& gathers_;
  Memory& memory_;
  Positions& positions_;
  Tables& tables_;
  Tiles& tiles_;
};

}  // namespace hone::jit
