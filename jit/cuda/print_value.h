// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/ir/facts.h"
#include "jit/ir/nest.h"

namespace hone::jit {

/// A load whose element is in a register already.
struct HeldLoad {
  ir::Expr load;
  std::string place;   ///< where the element is
  std::string inside;  ///< whether the load's condition holds; empty where it has none
};

/// Names of a nest's things in the source, and what is known of its loops.
struct CudaNames {
  const ir::Nest* nest = nullptr;
  std::vector<std::string> buffers;
  std::vector<std::string> loops;
  ir::Facts facts;
  std::vector<HeldLoad> held;
  bool wide = false;  ///< indices need 64 bits
  int lane = -1;      ///< the loop over a warp's lanes that is open

  const char* index_type() const { return wide ? "i64" : "i32"; }
};

/// The C type that holds an element in memory: `f16` is its bits.
const char* stored_type(DType t);
/// The C type that computes: narrow floats in f32, bool as its byte.
const char* computed_type(DType t);

/// An index, a bound or a condition on indices, in the index type.
std::string print_index(const ir::Expr& e, const CudaNames& names);
/// A condition; in the index type where no data is compared.
std::string print_condition(const ir::Expr& e, const CudaNames& names);
/// The register in which each lane of a warp has its element of `offset`; lanes are iterations of
/// loop `names.lane`. Throws ir::Reject where not every lane has the element it asks for.
ir::Expr register_of(const ir::NestBuffer& buffer, const ir::Expr& offset, const CudaNames& names);
/// An element that another lane of the same warp holds: its register, and the lane in the warp.
struct OtherLane {
  ir::Expr number, lane;
};
std::optional<OtherLane> other_lane(const ir::NestBuffer& buffer, const ir::Expr& offset,
                                    const CudaNames& names);
/// `e` with loops replaced by constants.
ir::Expr with_values(const ir::Expr& e, const std::map<int, int64_t>& values);
/// A value of e->type, in its computed type.
std::string print_value(const ir::Expr& e, const CudaNames& names);
/// The same where a template takes it: of an element of memory its value, not the place.
std::string print_operand(const ir::Expr& e, const CudaNames& names);
/// A value of e->type, as it is stored.
std::string print_stored(const ir::Expr& e, const CudaNames& names);
/// The element of `buffer` at `offset`.
std::string print_place(int buffer, const ir::Expr& offset, const CudaNames& names);
/// The number of that element in memory: another one where the buffer is swizzled.
std::string print_element(int buffer, const ir::Expr& offset, const CudaNames& names);
/// A computed value of type `t` as it is stored.
std::string to_stored(DType t, const std::string& value);
/// What is stored at `place`, as a computed value.
std::string from_stored(DType t, const std::string& place);

}  // namespace hone::jit
