// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class Accesses;
class LoopValues;
class Overhangs;
class ThreadLoops;

/// Windows: the box of a stage's output that its readers inside a loop touch. Found by interval
/// arithmetic over the readers' indices while outer loops stand at one value.
class Windows final : public LoweringPart {
 public:
  class StandStill;

  Windows(LoweringContext& context, Accesses& accesses, LoopValues& values,
          const ThreadLoops& threads, const Overhangs& overhangs)
      : LoweringPart(context),
        accesses_(accesses),
        values_(values),
        threads_(threads),
        overhangs_(overhangs) {}

  /// The whole domain of a stage at the root: a span per var, then per factored loop.
  std::vector<Span> domain_of(int stage);
  /// The window of a stage that is computed at `place`, a span per dim. What all threads of a block
  /// share does not depend on which of them asks.
  std::vector<Span> window_at(const ir::Stage& stage, const ir::Place& place);
  /// Every element of what a stage writes, a span per dim.
  std::vector<Span> whole(const ir::Stage& stage);
  /// Rejects a stage that goes on from itself where its window does not hold it from the first on.
  void check_chains(const ir::Stage& st, const std::vector<Span>& window);
  /// Rejects a stage that would run over a range told by data for an element that it does not have:
  /// nobody checks those data.
  void check_ranges(const ir::Stage& st, const std::vector<Span>& window);
  /// Rejects a stage that computes less inside its loop than is read where it is kept.
  void check_covered(const ir::Stage& st, const std::vector<Span>& window);
  /// Values of the variables of a stage that is emitted inside the loops that are open.
  std::vector<Span> spans_inside(size_t stage);
  /// lo .. hi of an index while the reader's variables run over `vars`; nothing where it depends on
  /// data.
  std::optional<Span> interval(const ir::Expr& index, const std::vector<Span>& vars,
                               const ir::Stage& reader);

  std::vector<ir::Poly> left_by_choices(Instance& in);

 private:
  std::optional<Span> of_bits(const ir::Expr& e, const std::vector<Span>& vars,
                              const ir::Stage& reader);
  std::optional<Span> over_parts(const ir::Expr& index, const ir::Stage& reader);
  /// The values of `loop`, of `extent` iterations, where the factored loops among its parts have
  /// those of `factored`.
  Span part_of(const ir::Stage& s, const std::string& loop, const ir::Poly& extent,
               const std::vector<Span>& factored);
  std::vector<Span> needed(const std::string& buffer, const ir::Place& place);
  std::vector<Span> beside(const ir::Stage& stage, const ir::Place& place);
  void cut_outside(const ir::Stage& stage, std::vector<Span>& window);
  /// What an iteration at `place` computes of a stage.
  std::vector<Span> made_at(const ir::Stage& stage, const ir::Place& place);
  bool is_read_inside(const std::string& buffer, const ir::Place& place) const;
  void widen(std::vector<Span>& box, std::vector<bool>& seen, size_t dim, const Span& span);

  Accesses& accesses_;
  LoopValues& values_;
  const ThreadLoops& threads_;
  const Overhangs& overhangs_;
  bool standing_ = false;  ///< no loop opens or closes: what spans_inside finds may be kept
  std::unordered_map<size_t, std::vector<Span>> still_;  ///< kept results, by stage
};

/// Caches what stages need of each other while it lives: no loop opens or closes then. A chain of
/// stages is followed once, not once from each of its members.
class Windows::StandStill {
 public:
  explicit StandStill(Windows& windows) : windows_(windows) { windows_.standing_ = true; }
  ~StandStill() {
    windows_.standing_ = false;
    windows_.still_.clear();
  }
  StandStill(const StandStill&) = delete;
  StandStill& operator=(const StandStill&) = delete;

 private:
  Windows& windows_;
};

}  // namespace hone::jit
