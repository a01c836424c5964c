// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/vectorizer.h"

#include <algorithm>

namespace hone::jit {

namespace {

/// Chunks of a vector loop of constant extent that are emitted one by one rather than as a loop.
/// Chosen: code that a compile may take (not measured).
constexpr int64_t kMaxChunks = 16;

}  // namespace

void Vectorizer::run(const ir::ForStmt& s, const Affine& begin, const Affine& extent) {
  const Survey& needs = surveys_.of(s);
  if (!needs.sums) return chunks(s, begin, extent, needs);
  // Running values of reductions start before this scope and end in it.
  inside(Scope::kPlain, written_by(s), true,
         [&] { sums_.around([&] { chunks(s, begin, extent, needs); }); });
}

void Vectorizer::chunks(const ir::ForStmt& s, const Affine& begin, const Affine& extent,
                        const Survey& needs) {
  const int64_t most = extent.is_constant()             ? extent.constant
                       : loops_.indexes_tile(s, s.loop) ? loops_.most_iterations(s, begin, extent)
                                                        : -1;
  int lanes = needs.lanes;
  if (most < 0 || (!extent.is_constant() && most > kMaxChunks * lanes)) {
    return dynamic(s, begin, extent, needs);
  }
  while (lanes / 2 >= most && lanes > 1) lanes /= 2;
  // Lanes that are off cost less than a part of a tile's register.
  if (wide()) lanes = std::max(lanes, std::min(needs.lanes, lanes_of_tiles(s)));
  if (extent.is_constant()) return constant(s, begin, most, lanes);
  bounded(s, begin, extent, most, lanes, needs.unmaskable);
}

void Vectorizer::constant(const ir::ForStmt& s, const Affine& begin, int64_t extent, int lanes) {
  const int64_t whole = extent / lanes;
  if (whole <= kMaxChunks) {
    for (int64_t c = 0; c < whole; ++c) {
      chunk(s, begin + Affine::of(c * lanes), lanes, lanes);
    }
  } else {
    loops_.loop(s.loop, begin, Affine::of(whole * lanes), lanes, written_by(s),
                [&] { chunk(s, bindings_[s.loop].base, lanes, lanes); });
  }
  int64_t done = whole * lanes;
  if (wide()) {
    if (done < extent) {
      chunk(s, begin + Affine::of(done), lanes, static_cast<int>(extent - done));
    }
    return;
  }
  while (done < extent) {
    const int64_t left = extent - done;
    while (lanes > left) lanes /= 2;
    chunk(s, begin + Affine::of(done), lanes, lanes);
    done += lanes;
  }
}

void Vectorizer::dynamic(const ir::ForStmt& s, const Affine& begin, const Affine& extent,
                         const Survey& needs) {
  const int lanes = needs.lanes;
  const uint64_t written = written_by(s);
  loops_.loop(s.loop, begin, extent, lanes, written,
              [&] { chunk(s, bindings_[s.loop].base, lanes, lanes); });
  // The rest: fewer than a vector.
  const Reg count = indices_.gpr(extent);
  const Reg rest = code_.update(RegClass::kGpr, 8, count, X86::and_, {imm(lanes - 1)});
  const Affine left = Affine::of_factor(Factor::make(Factor::kReg, rest.id));
  const Affine done = begin + extent - left;
  if (wide() && !needs.scattered) return masked_rest(s, done, count, rest, lanes);
  // Nothing is left of an empty range, whatever its negative length says.
  const int exit = code_.lir.label();
  code_.emit(X86::test, {greg(count), greg(count)});
  code_.emit(Pseudo::jump_le, {imm(exit)});
  branch(written, [&] { loops_.loop(s.loop, done, left, 1, written, [&] { walk_body(s); }); });
  code_.emit(Pseudo::label, {imm(exit)});
}

void Vectorizer::bounded(const ir::ForStmt& s, const Affine& begin, const Affine& extent,
                         int64_t most, int lanes, bool unmaskable) {
  const uint64_t written = written_by(s);
  const int part = code_.lir.label(), done = code_.lir.label();
  const Reg count = indices_.gpr(extent);
  code_.emit(X86::cmp, {greg(count), imm(most)});
  code_.emit(Pseudo::jump_lt, {imm(part)});
  branch(written, [&] { constant(s, begin, most, lanes); });
  code_.emit(Pseudo::jump, {imm(done)});
  code_.emit(Pseudo::label, {imm(part)});
  branch(written, [&] {
    if (!wide() || unmaskable) return loops_.guarded_unrolled(s, begin, extent, most);
    for (int64_t at = 0; at < most; at += lanes) {
      code_.emit(X86::cmp, {greg(count), imm(at)});
      code_.emit(Pseudo::jump_le, {imm(done)});
      const Affine left = Affine::of_factor(Factor::make(Factor::kReg, count.id)) - Affine::of(at);
      branch(written, [&] {
        const Reg active = indices_.at_most(left, lanes);
        masked_chunk(s, begin + Affine::of(at), active, lanes);
      });
    }
  });
  code_.emit(Pseudo::label, {imm(done)});
}

void Vectorizer::masked_chunk(const ir::ForStmt& s, const Affine& base, Reg active, int lanes) {
  const Lanes outer = lanes_;
  const Binding outer_binding = bindings_[s.loop];
  lanes_ = {};
  lanes_.loop = s.loop;
  lanes_.count = lanes;
  lanes_.active = -1;
  lanes_.active_reg = active;
  lanes_.scan = s.scan;
  bindings_[s.loop] = {true, 1, base};
  walk_body(s);
  bindings_[s.loop] = outer_binding;
  lanes_ = outer;
}

void Vectorizer::masked_rest(const ir::ForStmt& s, const Affine& done, Reg count, Reg rest,
                             int lanes) {
  const int exit = code_.lir.label();
  code_.emit(X86::test, {greg(count), greg(count)});
  code_.emit(Pseudo::jump_le, {imm(exit)});
  code_.emit(X86::test, {greg(rest), greg(rest)});
  code_.emit(Pseudo::jump_eq, {imm(exit)});
  branch(written_by(s), [&] { masked_chunk(s, done, rest, lanes); });
  code_.emit(Pseudo::label, {imm(exit)});
}

void Vectorizer::chunk(const ir::ForStmt& s, const Affine& base, int lanes, int active) {
  const Lanes outer_lanes = lanes_;
  const Binding outer = bindings_[s.loop];
  lanes_ = {};
  lanes_.loop = s.loop;
  lanes_.count = lanes;
  lanes_.active = active;
  lanes_.scan = s.scan;
  bindings_[s.loop] = {true, 1, base};
  walk_body(s);
  bindings_[s.loop] = outer;
  lanes_ = outer_lanes;
}

int Vectorizer::lanes_of_tiles(const ir::ForStmt& s) const {
  int lanes = 0;
  for (const int buffer : surveys_.tiles_along(s)) {
    for (const TileGroup& g : tiles_.groups(buffer)) {
      if (lanes != 0 && g.lanes != lanes) return 0;
      lanes = g.lanes;
    }
  }
  return lanes;
}

}  // namespace hone::jit
