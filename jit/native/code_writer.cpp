// SPDX-License-Identifier: Apache-2.0
#include "jit/native/code_writer.h"

#include <algorithm>
#include <cstring>

#include "jit/native/unread_values.h"

namespace hone::jit {

namespace {

/// Vector registers that hoisting leaves for the values of a loop's own body.
/// Chosen: operands of a few instructions at a time (not measured).
constexpr int kWorkingVectors = 6;
/// Mask registers that hoisting may fill.
/// Chosen: half of the mask registers (not measured).
constexpr int kMaskBudget = 4;
/// General registers that hoisting may fill with what is loaded: one that is spilled is loaded all
/// the same. Chosen: what addresses leave of sixteen (not measured).
constexpr int kLoadedBudget = 4;

Operand operand_of(Reg reg, RegClass cls, int width) {
  return cls == RegClass::kVec    ? vreg(reg, width)
         : cls == RegClass::kMask ? kreg(reg)
                                  : greg(reg, width);
}

}  // namespace

CodeWriter::CodeWriter(const RegisterFile& file)
    : machine_(*file.machine),
      vector_budget_(file.vecs - kWorkingVectors),
      vector_bytes_(file.vector_bytes) {}

void CodeWriter::open(Scope::Kind kind, uint64_t written, bool certain) {
  scopes_.emplace_back();
  scopes_.back().kind = kind;
  scopes_.back().number = ++last_scope_;
  scopes_.back().written = written;
  scopes_.back().certain = certain;
  if (kind == Scope::kLoop) values_.forget_loads(written);
}

Scope CodeWriter::close() {
  Scope done = std::move(scopes_.back());
  scopes_.pop_back();
  if (done.kind == Scope::kPlain && done.certain && !scopes_.empty()) {
    // Plain code that always runs: what is known at its end is known after it.
    for (int32_t e : done.entries) {
      int16_t& level = levels_[values_.register_of(e).id];
      level = std::min(level, static_cast<int16_t>(depth()));
      top().entries.push_back(e);
    }
    return done;
  }
  for (int32_t e : done.entries) values_.forget(e);
  for (size_t b = 0; b < values_.loaded_buffers(); ++b) {
    if (done.written & buffer_bit(static_cast<int>(b))) clobber(static_cast<int>(b));
  }
  return done;
}

void CodeWriter::append(CodeList& list, Opcode op, std::initializer_list<Operand> operands,
                        Reg mask, bool zeroing) {
  Inst inst{};
  inst.op = op;
  inst.mask = mask;
  inst.zeroing = zeroing;
  std::copy(operands.begin(), operands.end(), inst.operands.begin());
  append(list, inst);
}

/// An immediate of more than 32 bits, which hardly an instruction takes, becomes a register.
void CodeWriter::legalize(CodeList& list, Inst& inst) {
  if (is_pseudo(inst.op)) return;
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    Operand& o = inst.operands[i];
    if (o.kind != Operand::kImm || o.imm == static_cast<int32_t>(o.imm)) continue;
    const Opcode move = machine_.move_of(RegClass::kGpr);
    switch (machine_.long_immediate(inst, static_cast<int>(i))) {
      case LongImmediate::kFits:
        return;
      case LongImmediate::kDestination:
        append(list, move, {inst.operands[0], o});
        inst.operands[i] = {};
        return;
      case LongImmediate::kRegister: {
        const int width = inst.operands[0].width;
        o = greg(define(RegClass::kGpr, 8, move, {imm(o.imm)}), width == 0 ? 8 : width);
      }
    }
  }
}

void CodeWriter::append(CodeList& list, Inst inst) {
  legalize(list, inst);
  store_.append(list, inst);
}

Reg CodeWriter::make(RegClass cls, int level) {
  const Reg reg = lir.make(cls);
  values_.add_register();
  levels_.push_back(static_cast<int16_t>(level < 0 ? depth() : level));
  once_.push_back(false);
  variable_.push_back(false);
  return reg;
}

Reg CodeWriter::make_variable() {
  const Reg reg = make(RegClass::kVec);
  variable_[reg.id] = true;
  ++pinned_vectors;
  return reg;
}

void CodeWriter::rewritten(Reg reg) {
  values_.renumber(reg);
  levels_[reg.id] = static_cast<int16_t>(depth());
}

int CodeWriter::level_of(const std::initializer_list<Operand>& sources, Reg mask, Reg start) const {
  int level = 0;
  const auto raise = [&](Reg r) {
    if (r.valid()) level = std::max<int>(level, levels_[r.id]);
  };
  raise(mask);
  raise(start);
  for (const Operand& o : sources) {
    if (o.kind == Operand::kReg) raise(o.reg);
    if (o.kind == Operand::kMem) {
      raise(o.mem.base);
      raise(o.mem.index);
    }
  }
  return level;
}

/// The level at which a value that could be at `level` is emitted: vectors, masks and loads leave
/// loops only while registers last.
int CodeWriter::place(RegClass cls, int level, bool loaded) {
  int at = depth();
  if (cls == RegClass::kGpr && !loaded) return level;
  const auto count = [&](Scope& s) -> int& {
    return cls == RegClass::kVec ? s.vectors : cls == RegClass::kMask ? s.masks : s.loaded;
  };
  const int budget = cls == RegClass::kVec    ? vector_budget_ - pinned_vectors
                     : cls == RegClass::kMask ? kMaskBudget
                                              : kLoadedBudget;
  while (at > level) {
    Scope& s = scopes_[at];
    if (s.kind == Scope::kLoop && count(s) >= budget) break;
    --at;
  }
  // Ahead of plain code it would wait in a register for what comes before it there.
  while (at < depth() && scopes_[at + 1].kind == Scope::kPlain && scopes_[at + 1].certain) ++at;
  // Ahead of a branch that may not be taken it pays only where it leaves a loop as well.
  int branch = at;
  bool leaves = false;
  for (int d = at + 1; d <= depth(); ++d) {
    leaves |= scopes_[d].kind == Scope::kLoop;
    if (scopes_[d].kind == Scope::kBranch && !scopes_[d].certain) branch = d;
  }
  if (!leaves) at = branch;
  for (int d = at + 1; d <= depth(); ++d) ++count(scopes_[d]);
  return at;
}

int32_t CodeWriter::enter(const ValueKey& key, uint64_t hash, Reg reg, int level) {
  const int32_t at = values_.enter(key, hash, reg);
  // What precedes a loop that may not run at all is not known after it.
  const bool inside = level < depth() && !scopes_[level + 1].certain;
  scopes_[inside ? level + 1 : level].entries.push_back(at);
  return at;
}

Reg CodeWriter::define(RegClass cls, int width, Opcode op, std::initializer_list<Operand> sources,
                       Reg mask, bool zeroing) {
  const ValueKey key = values_.key_of(op, width, sources, mask, zeroing, {});
  const uint64_t hash = key.hash();
  if (const Reg known = values_.find(key, hash); known.valid()) return known;
  const Reg reg = place_value(cls, level_of(sources, mask, {}), key, hash);
  Inst inst{};
  inst.op = op;
  inst.mask = mask;
  inst.zeroing = zeroing;
  inst.operands[0] = operand_of(reg, cls, width);
  std::copy(sources.begin(), sources.end(), inst.operands.begin() + 1);
  append(list_at(level(reg)), inst);
  return reg;
}

Reg CodeWriter::update(RegClass cls, int width, Reg start, Opcode op,
                       std::initializer_list<Operand> sources, Reg mask) {
  const ValueKey key = values_.key_of(op, width, sources, mask, false, start);
  const uint64_t hash = key.hash();
  if (const Reg known = values_.find(key, hash); known.valid()) return known;
  const Reg reg = place_value(cls, level_of(sources, mask, start), key, hash);
  once_[reg.id] = false;
  CodeList& list = list_at(level(reg));
  append(list, copy_of(reg, start, cls));
  if (level(reg) == depth()) last_copy_ = list.tail;
  Inst inst{};
  inst.op = op;
  inst.mask = mask;
  inst.operands[0] = operand_of(reg, cls, width);
  std::copy(sources.begin(), sources.end(), inst.operands.begin() + 1);
  // The copy will do where `start` is a source as well: it may end here.
  for (size_t i = 1; i <= sources.size(); ++i) {
    Operand& o = inst.operands[i];
    if (o.kind == Operand::kReg && o.reg == start) o.reg = reg;
  }
  append(list, inst);
  return reg;
}

/// A copy of whole registers, so that allocation can drop it.
Inst CodeWriter::copy_of(Reg to, Reg from, RegClass cls) const {
  const int width = cls == RegClass::kVec ? vector_bytes_ : 8;
  Inst inst{};
  inst.op = machine_.move_of(cls);
  inst.operands[0] = operand_of(to, cls, width);
  inst.operands[1] = operand_of(from, cls, width);
  return inst;
}

Reg CodeWriter::load(RegClass cls, int width, Opcode op, const Operand& address, int buffer,
                     Reg mask, const Operand& before, const Operand& after) {
  std::array<Operand, 3> all{};
  size_t count = 0;
  if (before.kind != Operand::kNone) all[count++] = before;
  all[count++] = address;
  if (after.kind != Operand::kNone) all[count++] = after;
  const std::initializer_list<Operand> one = {all[0]}, two = {all[0], all[1]},
                                       three = {all[0], all[1], all[2]};
  const auto& sources = count == 1 ? one : count == 2 ? two : three;
  const ValueKey key = values_.key_of(op, width, sources, mask, mask.valid(), {});
  const uint64_t hash = key.hash();
  if (const Reg known = values_.find(key, hash); known.valid()) return known;
  int level = level_of(sources, mask, {});
  // Not before the last branch, since the access may be legal only on this side of it. Nor out of a
  // scope that stores to the buffer; and no further than right before a loop that may not run.
  for (int d = depth(); d > level; --d) {
    const Scope& s = scopes_[d];
    if (s.kind == Scope::kBranch || (buffer >= 0 && (s.written & buffer_bit(buffer)))) {
      level = d;
      break;
    }
    if (s.kind == Scope::kLoop && !s.certain) {
      level = d - 1;
      break;
    }
  }
  level = place(cls, level, buffer >= 0);
  const Reg reg = make(cls, level);
  once_[reg.id] = true;
  Inst inst{};
  inst.op = op;
  inst.mask = mask;
  inst.zeroing = mask.valid();
  inst.operands[0] = operand_of(reg, cls, width);
  std::copy(sources.begin(), sources.end(), inst.operands.begin() + 1);
  append(list_at(level), inst);
  const int32_t entry = enter(key, hash, reg, level);
  // Where a gather's lanes lie is not known, nor what part of memory other forms take.
  const bool plain = count == 1 && address.width == 0;
  const Extent from = plain ? values_.extent_of(address, width) : Extent();
  if (buffer >= 0) values_.loaded(entry, buffer, from);
  return reg;
}

void CodeWriter::remember(Reg value, int width, Opcode op, const Operand& address, int buffer,
                          int bytes, Reg mask) {
  const ValueKey key = values_.key_of(op, width, {address}, mask, mask.valid(), {});
  const int32_t entry = enter(key, key.hash(), value, depth());
  values_.loaded(entry, buffer, values_.extent_of(address, bytes));
}

Reg CodeWriter::known_load(int width, Opcode op, const Operand& address) const {
  const ValueKey key = values_.key_of(op, width, {address}, {}, false, {});
  return values_.find(key, key.hash());
}

Reg CodeWriter::load_pool(int width, Opcode op, int32_t offset) {
  Mem m;
  m.pool = offset;
  if (crowded()) {
    // No register for it all along: loaded for each use, or an operand there.
    const int element = machine_.facts_of(op).repeats;
    if (element != 0 && !machine_.repeats_operands()) {
      m.pool = repeated(offset, element, width);
      op = machine_.vector_load();
    }
    const Reg reg = make(RegClass::kVec);
    emit(op, {vreg(reg, width), mem(m)});
    lir.regs[reg.id].remat = m.pool;
    // What is computed from it is computed once all the same.
    const ValueKey key = values_.key_of(op, width, {mem(m)}, {}, false, {});
    const uint64_t hash = key.hash();
    if (const Reg known = values_.find(key, hash); known.valid()) {
      values_.renumber(reg, known);
    } else {
      enter(key, hash, reg, depth());
    }
    return reg;
  }
  // Out of the innermost loop and no further: around outer loops it would only be in the way.
  const ValueKey key = values_.key_of(op, width, {mem(m)}, {}, false, {});
  const uint64_t hash = key.hash();
  if (const Reg known = values_.find(key, hash); known.valid()) return known;
  const Reg reg = place_value(RegClass::kVec, std::max(0, loop_depth() - 1), key, hash);
  append(list_at(level(reg)), op, {vreg(reg, width), mem(m)});
  lir.regs[reg.id].remat = offset;
  return reg;
}

/// A new register for a value, at `level` or as far out as registers allow; entered in the table.
Reg CodeWriter::place_value(RegClass cls, int level, const ValueKey& key, uint64_t hash) {
  const int at = place(cls, level);
  const Reg reg = make(cls, at);
  once_[reg.id] = true;
  enter(key, hash, reg, at);
  return reg;
}

/// Depth of the innermost loop's scope; 0 outside loops.
int CodeWriter::loop_depth() const {
  int d = depth();
  while (d > 0 && scopes_[d].kind != Scope::kLoop) --d;
  return d;
}

/// True when the innermost loop has no register left for a value from outside it.
bool CodeWriter::crowded() const {
  const Scope& s = scopes_[loop_depth()];
  return s.kind == Scope::kLoop && s.vectors + pinned_vectors >= vector_budget_;
}

/// A constant of `size` bytes, repeated to fill `width`.
int32_t CodeWriter::repeated(int32_t offset, int size, int width) {
  std::vector<uint8_t> bytes;
  while (static_cast<int>(bytes.size()) < width) {
    bytes.insert(bytes.end(), lir.pool.begin() + offset, lir.pool.begin() + offset + size);
  }
  return pool(bytes.data(), width);
}

int32_t CodeWriter::pool(const void* bytes, int size) {
  for (size_t at = 0; at + size <= lir.pool.size(); at += size) {
    if (std::memcmp(lir.pool.data() + at, bytes, size) == 0) return static_cast<int32_t>(at);
  }
  const size_t at = (lir.pool.size() + size - 1) / size * size;
  lir.pool.resize(at + size);
  std::memcpy(lir.pool.data() + at, bytes, size);
  return static_cast<int32_t>(at);
}

void CodeWriter::clobber(int buffer, const Operand& address, int bytes) {
  const uint64_t written = written_by_store(buffer);
  const Extent stored = values_.extent_of(address, bytes);
  if (stored.bytes == 0 || buffer >= ValueTable::kOwnBits) return values_.forget_loads(written);
  values_.forget_loads(written & ~buffer_bit(buffer));
  values_.forget_loads_at(buffer, stored);
}

bool CodeWriter::retarget(Reg from, Reg to) {
  const int32_t tail = top().body.tail;
  if (tail < 0 || variable_[from.id]) return false;
  Inst& last = store_[tail];
  if (last.operands[0].kind != Operand::kReg || last.operands[0].reg != from) return false;
  if (!once_[from.id]) {
    // A copy and what changes it; the copy's target must not be among the other sources.
    if (last_copy_ < 0 || store_.next(last_copy_) != tail) return false;
    Inst& copy = store_[last_copy_];
    if (copy.operands[0].reg != from) return false;
    const bool in_place = copy.operands[1].reg == to;
    for (size_t i = 1; i < last.operands.size() && !in_place; ++i) {
      const Operand& o = last.operands[i];
      if (o.kind == Operand::kReg && o.width >= 16 && o.reg == to) return false;
    }
    copy.operands[0].reg = to;
    for (Operand& o : last.operands) {
      if (o.kind == Operand::kReg && o.reg == from) o.reg = to;
    }
  }
  last.operands[0].reg = to;
  values_.renumber(from);
  return true;
}

void CodeWriter::copy(Reg to, Reg from, RegClass cls) {
  append(top().body, copy_of(to, from, cls));
}

void CodeWriter::finish(const CodeList& function) {
  const Opcode move = machine_.move_of(RegClass::kVec);
  lir.code.reserve(store_.size());
  for (int32_t at = function.head; at >= 0; at = store_.next(at)) {
    const Inst& inst = store_[at];
    // Copies of a register to itself come from values computed in place.
    if (inst.op == move && inst.operands[1].kind == Operand::kReg &&
        inst.operands[0].reg == inst.operands[1].reg && inst.operands[0].kind == Operand::kReg) {
      continue;
    }
    lir.code.push_back(inst);
  }
  drop_unread(lir, machine_);
}

}  // namespace hone::jit
