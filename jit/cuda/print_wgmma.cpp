// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup, which reads tiles in shared memory by descriptors: wgmma.
//   wgmma.bf16: C[..] += As[..] * Bs[..]
//     =>  wgmma_m64n128k16_bf16<0, 1>(C + .., descriptor of As, descriptor of Bs, true)
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "jit/cuda/print_tiles.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Fixed by: wgmma.
constexpr int64_t kChunk = 16;          // bytes of a row of a core
constexpr int64_t kCoreRows = 8;        // of a core
constexpr int64_t kMostSwizzle = 128;   // bytes of the widest rows that the hardware swizzles
constexpr int64_t kMostStep = 0x3fff0;  // bytes between cores

/// Where the elements of a tile lie, from its first: along its rows, and along the sum.
struct Spread {
  Poly base;
  std::vector<int64_t> rows, sum;
};

/// Nothing where the place of an element along one of them depends on the other.
std::optional<Spread> spread_of(const Expr& offset, int row_loop, int64_t rows, int sum_loop,
                                int64_t sum, const Facts& facts) {
  const auto at = [&](int64_t row, int64_t k) {
    return Poly::of(with_values(offset, {{row_loop, row}, {sum_loop, k}}), &facts);
  };
  const auto depends = [](const Factors& factors, int loop) {
    bool found = false;
    for (const Expr& f : factors) {
      found |= mentions_loop(f, loop);
    }
    return found;
  };
  const Poly whole = Poly::of(offset, &facts);
  for (const Poly::Term& t : whole.terms()) {
    if (depends(t.factors, row_loop) && depends(t.factors, sum_loop)) return {};
  }
  Spread out{at(0, 0), {}, {}};
  const auto add = [&](std::vector<int64_t>& to, const Poly& place) {
    const std::optional<int64_t> from_first = (place - out.base).value();
    if (from_first) to.push_back(*from_first);
    return from_first.has_value();
  };
  for (int64_t r = 0; r < rows; ++r) {
    if (!add(out.rows, at(r, 0))) return {};
  }
  for (int64_t k = 0; k < sum; ++k) {
    if (!add(out.sum, at(0, k))) return {};
  }
  return out;
}

/// Elements between cores, as a descriptor has them.
struct Steps {
  int64_t along = 0;   ///< to the next run of neighbours
  int64_t across = 0;  ///< to the next 8 rows of them
};

/// Whether neighbours lie in runs of `run` along one way of a tile, rows of `span` elements, eight
/// and eight, along the other.
std::optional<Steps> steps_of(const std::vector<int64_t>& along, const std::vector<int64_t>& across,
                              int64_t run, int64_t span) {
  Steps s;
  const auto size = [](const std::vector<int64_t>& v) { return static_cast<int64_t>(v.size()); };
  if (size(along) > run) s.along = along[static_cast<size_t>(run)];
  if (size(across) > kCoreRows) s.across = across[static_cast<size_t>(kCoreRows)];
  for (int64_t i = 0; i < size(along); ++i) {
    if (along[static_cast<size_t>(i)] != i / run * s.along + i % run) return {};
  }
  for (int64_t i = 0; i < size(across); ++i) {
    if (across[static_cast<size_t>(i)] != i / kCoreRows * s.across + i % kCoreRows * span)
      return {};
  }
  return s;
}

/// Whether tiles begin where a pattern of 8 rows does, or further along its first row, at a chunk.
bool begins_pattern(const Poly& base, int64_t row, int64_t size, const Facts& facts) {
  const int64_t pattern = kCoreRows * row;
  // What is left of a coefficient beside whole patterns, the smaller way.
  const auto left = [&](int64_t elements) {
    const int64_t rest = (elements % pattern + pattern) % pattern;
    return 2 * rest > pattern ? rest - pattern : rest;
  };
  Poly inside((base.constant() % pattern + pattern) % pattern);
  bool chunks = base.constant() * size % kChunk == 0;
  for (const Poly::Term& t : base.terms()) {
    chunks &= t.coef * size % kChunk == 0;
    Poly one(left(t.coef));
    for (const Expr& f : t.factors) one = one * Poly::atom(f);
    inside += one;
  }
  return chunks && facts.nonnegative(inside) && facts.at_most(inside, Poly(row - 1));
}

}  // namespace

/// The descriptor of a factor's tile in shared memory; `transposed` where neighbours lie along
/// rows.
std::string TilePrinter::descriptor(const TileStmts& t, Operand operand, bool& transposed) {
  const Expr& load = operand == Operand::kA ? t.a : t.b;
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(load->id)];
  const int64_t size = size_of(b.type), span = b.swizzle ? b.swizzle : kChunk;
  const auto refuse = [&](const std::string& why) {
    throw ir::Reject{fmt::format("{} takes {} from shared memory, {}", t.row->name, b.name, why)};
  };
  if (span > kMostSwizzle) {
    refuse(
        fmt::format("which swizzles rows of {} bytes; it knows those of 32, 64 and 128: cut the "
                    "last axis by layout=",
                    b.swizzle));
  }
  const bool of_a = operand == Operand::kA;
  const auto spread = spread_of(load->args[0], t.loops[of_a ? 0 : 1],
                                of_a ? t.row->rows : t.columns, t.loops[2], t.row->group, n_.facts);
  std::optional<Steps> steps;
  transposed = false;
  if (spread) {
    steps = steps_of(spread->sum, spread->rows, span / size, span / size);
    if (!steps && size == 2) {
      steps = steps_of(spread->rows, spread->sum, span / size, span / size);
      transposed = steps.has_value();
    }
  }
  if (!steps) {
    refuse(size == 2 ? "where neither rows nor columns lie as cores of 8 rows by 16 bytes; use "
                       "swizzle=on, and layout= to cut what is longer than 128 bytes"
                     : "where neighbours must lie along the sum; stage it so by layout=");
  }
  if (!begins_pattern(spread->base, span / size, size, n_.facts)) {
    refuse(
        "where its tiles begin inside the cores of 8 rows by 16 bytes, or inside rows that are "
        "swizzled together; stage it at the loop that moves them");
  }
  int64_t leading = steps->along * size, stride = steps->across * size;
  if (transposed && b.swizzle == 0) std::swap(leading, stride);
  if (leading % kChunk != 0 || stride % kChunk != 0 || leading > kMostStep || stride > kMostStep) {
    refuse(
        fmt::format("where its cores are {} and {} bytes apart; multiples of 16 up to {} are "
                    "possible",
                    leading, stride, kMostStep));
  }
  used_.insert(load->id);
  return fmt::format("matrix_descriptor(shared_address(HONE_AT({}, {})), {}, {}, {})",
                     n_.buffers[static_cast<size_t>(load->id)],
                     print_index(spread->base.expr(), n_), leading, stride, b.swizzle);
}

void TilePrinter::emit_wgmma(const TileStmts& t) {
  const std::string kind = std::string(t.row->name).substr(std::string(t.row->name).find('.') + 1);
  const auto registers = [&](const Expr& offset, int buffer, Operand operand) {
    return fmt::format("HONE_WARP_AT({}, {})", n_.buffers[static_cast<size_t>(buffer)],
                       first_register(t, buffer, offset, operand));
  };
  const bool held = nest_.buffers[static_cast<size_t>(t.a->id)].home == Home::kWarp;
  bool transposed_a = false, transposed_b = false;
  const std::string a = held ? registers(t.a->args[0], t.a->id, Operand::kA)
                             : descriptor(t, Operand::kA, transposed_a);
  const std::string b = descriptor(t, Operand::kB, transposed_b);
  std::string transposes;
  if (size_of(t.row->a) == 2) {
    transposes = held ? fmt::format("<{:d}>", transposed_b)
                      : fmt::format("<{:d}, {:d}>", transposed_a, transposed_b);
  }
  line(fmt::format("wgmma_m{}n{}k{}_{}{}{}({}, {}, {}, true);", t.row->rows, t.columns,
                   t.row->group, kind, held ? "_registers" : "", transposes,
                   registers(t.store->offset, t.store->buffer, Operand::kResult), a, b));
}

/// The compiler must not move accesses of the buffer's registers past this place.
void TilePrinter::keep_registers(int buffer) {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
  const int64_t words = registers_of(b) * std::min(size_of(b.type), 4) / 4;
  line(fmt::format("keep_registers<{}>(HONE_WARP_AT({}, 0));", words,
                   n_.buffers[static_cast<size_t>(buffer)]));
}

void TilePrinter::emit_fence(const WgmmaFenceStmt& s) {
  if (s.buffer >= 0) keep_registers(s.buffer);
  line("wgmma_fence();");
}

void TilePrinter::emit_wait(const WgmmaWaitStmt& s) {
  line(fmt::format("wgmma_wait<{}>();", s.pending));
  if (s.pending == 0) keep_registers(s.buffer);
}

/// Whether products begin in a loop. The compiler must not unroll it, as it does with short loops.
/// Products that run on from one iteration to the next would no longer fit the registers.
bool TilePrinter::starts_wgmma(const ForStmt& loop) const {
  bool found = false;
  each_stmt(loop, [&](const Stmt& s) { found |= is<WgmmaFenceStmt>(s); });
  return found;
}

/// Whether products read of shared memory what the block's threads store there.
void TilePrinter::measure_wgmma() {
  std::set<int> read, stored;
  each_stmt(*launch_.body, [&](const Stmt& s) {
    if (const auto* store = as<StoreStmt>(s)) stored.insert(store->buffer);
    const auto* loop = as<ForStmt>(s);
    if (!loop || loop->mark != Mark::kTensor || loop->instruction->most_columns == 0) return;
    each_stmt(s, [&](const Stmt& x) {
      for_each_load(x, [&](const Expr& load) { read.insert(load->id); });
    });
  });
  for (int b : read) {
    const bool shared = nest_.buffers[static_cast<size_t>(b)].home == Home::kSharedMemory;
    shows_stores_ |= shared && stored.contains(b);
  }
}

}  // namespace hone::jit
