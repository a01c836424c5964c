// SPDX-License-Identifier: Apache-2.0
// Copies into shared memory that go on while threads compute.
//   async As[..] = A[..]  =>  copy_async<16>(As + .., A + ..)
#include "jit/cuda/print_copies.h"

#include <fmt/format.h>

#include <cmath>

namespace hone::jit {

using namespace ir;

namespace {

/// Elements whose bits are all zero: the value that a copy fills in where it reads nothing.
bool is_zero(const Expr& e) {
  int64_t i = 0;
  if (e->op == Op::kFloat) return e->f == 0 && !std::signbit(e->f);
  if (e->op == Op::kCast) return is_zero(e->args[0]);
  return is_const(e, &i) && i == 0;
}

}  // namespace

/// Elements of each copy; 0 where the store is none, or none that the GPU makes by itself.
int64_t CopyPrinter::copied_at_once(const StoreStmt& s, const VectorLanes* lanes) const {
  if (!s.async || !context_.copies_async) return 0;
  const Expr& load = s.value;
  if (load->guarded && !is_zero(load->args[2])) return 0;
  int64_t elements = 1;
  if (lanes) {
    if (load->guarded && !is_uniform(load->args[1], *lanes, n_.facts)) return 0;
    elements = std::min(lane_access_.width(s.buffer, s.offset, *lanes),
                        lane_access_.width(load->id, load->args[0], *lanes));
  }
  const int64_t bytes = elements * size_of(load->type);
  return bytes == 4 || bytes == 8 || bytes == 16 ? elements : 0;
}

/// Prints a store as asynchronous copies, for all lanes where there are some; false: it is none.
bool CopyPrinter::emit_copies(const StoreStmt& s, const VectorLanes* lanes) {
  const int64_t elements = copied_at_once(s, lanes);
  if (elements == 0) return false;
  const Expr& load = s.value;
  const int64_t bytes = elements * size_of(load->type);
  note(s.offset);
  note(load);
  used_.insert(s.buffer);
  if (lanes) rely_on(load->id, bytes);
  std::string kept;
  if (load->guarded) {
    const Expr inside = lanes ? in_first_lane(load->args[1], *lanes) : load->args[1];
    kept = fmt::format(", {} ? {} : 0", print_condition(inside, n_), bytes);
  }
  for (int64_t first = 0; first < (lanes ? lanes->count : 1); first += elements) {
    VectorLanes part = lanes ? *lanes : VectorLanes{};
    if (lanes) part.begin = part.begin + make_int(first);
    line(fmt::format("copy_async<{}>({}, {}{});", bytes,
                     lane_access_.print_address(s.buffer, s.offset, part),
                     lane_access_.print_address(load->id, load->args[0], part), kept));
  }
  return true;
}

}  // namespace hone::jit
