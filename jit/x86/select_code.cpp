// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select_code.h"

#include <algorithm>
#include <cstring>

#include "jit/x86/forms.h"

namespace hone::jit {

namespace {

/// Vector registers that hoisting leaves for the values of a loop's own body.
constexpr int kWorkingVectors = 6;
/// Mask registers that hoisting may fill.
constexpr int kMaskBudget = 4;

uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 29);
}

X86 move_of(RegClass cls) {
  return cls == RegClass::kVec ? X86::vmovaps : cls == RegClass::kMask ? X86::kmovq : X86::mov;
}

Operand operand_of(Reg reg, RegClass cls, int width) {
  return cls == RegClass::kVec    ? vreg(reg, width)
         : cls == RegClass::kMask ? kreg(reg)
                                  : greg(reg, width);
}

}  // namespace

CodeWriter::CodeWriter(const ir::Target& target)
    : vector_budget_(target.vector_registers() - kWorkingVectors),
      vector_bytes_(target.vector_bytes()),
      wide_(target.has(ir::Isa::kAvx512)),
      buckets_(1024, -1) {
  store_.swap(spare_store());
  store_.clear();
  entries_.reserve(512);
}

CodeWriter::~CodeWriter() {
  // Fresh memory costs more than filling it: one thread's next function takes over what is not
  // out of proportion.
  constexpr size_t kKept = 8192;
  if (store_.capacity() <= kKept) store_.swap(spare_store());
}

std::vector<Inst>& CodeWriter::spare_store() {
  static thread_local std::vector<Inst> spare;
  return spare;
}

void CodeWriter::open(Scope::Kind kind, uint64_t written, bool certain) {
  scopes_.emplace_back();
  scopes_.back().kind = kind;
  scopes_.back().number = ++last_scope_;
  scopes_.back().written = written;
  scopes_.back().certain = certain;
  if (kind == Scope::kLoop) forget_loads(written);
}

Scope CodeWriter::close() {
  Scope done = std::move(scopes_.back());
  scopes_.pop_back();
  if (done.kind == Scope::kPlain && done.certain && !scopes_.empty()) {
    // Plain code that always runs: what is known at its end is known after it.
    for (int32_t e : done.entries) {
      int16_t& level = levels_[entries_[e].reg.id];
      level = std::min(level, static_cast<int16_t>(depth()));
      top().entries.push_back(e);
    }
    return done;
  }
  for (int32_t e : done.entries) entries_[e].number = -1;
  for (size_t b = 0; b < loads_.size(); ++b) {
    if (done.written & buffer_bit(static_cast<int>(b))) clobber(static_cast<int>(b));
  }
  return done;
}

void CodeWriter::append(CodeList& list, X86 op, std::initializer_list<Operand> operands, Reg mask,
                        bool zeroing) {
  Inst inst{};
  inst.op = op;
  inst.mask = mask;
  inst.zeroing = zeroing;
  std::copy(operands.begin(), operands.end(), inst.operands.begin());
  append(list, inst);
}

/// An immediate of more than 32 bits, which only a move takes, becomes a register.
void CodeWriter::legalize(CodeList& list, Inst& inst) {
  if (is_pseudo(inst.op)) return;
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    Operand& o = inst.operands[i];
    if (o.kind != Operand::kImm || o.imm == static_cast<int32_t>(o.imm)) continue;
    if (inst.op == X86::mov && inst.operands[0].kind == Operand::kReg) return;
    if (inst.op == X86::imul && i == 2) {
      // A product with a register has the destination for its other factor.
      append(list, X86::mov, {inst.operands[0], o});
      inst.operands[2] = {};
      return;
    }
    const int width = inst.operands[0].width;
    o = greg(define(RegClass::kGpr, 8, X86::mov, {imm(o.imm)}), width == 0 ? 8 : width);
  }
}

void CodeWriter::append(CodeList& list, Inst inst) {
  legalize(list, inst);
  const int32_t at = static_cast<int32_t>(store_.size());
  store_.push_back(inst);
  next_.push_back(-1);
  if (list.tail >= 0) {
    next_[list.tail] = at;
  } else {
    list.head = at;
  }
  list.tail = at;
}

void CodeWriter::splice(CodeList& list, const CodeList& more) {
  if (more.head < 0) return;
  if (list.tail >= 0) {
    next_[list.tail] = more.head;
  } else {
    list.head = more.head;
  }
  list.tail = more.tail;
}

Reg CodeWriter::make(RegClass cls, int level) {
  const Reg reg = lir.make(cls);
  numbers_.push_back(++last_number_);
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
  numbers_[reg.id] = ++last_number_;
  levels_[reg.id] = static_cast<int16_t>(depth());
}

CodeWriter::Key CodeWriter::key_of(X86 op, int width, const std::initializer_list<Operand>& sources,
                                   Reg mask, bool zeroing, Reg start) const {
  const auto number = [&](Reg r) {
    return static_cast<uint64_t>(static_cast<uint32_t>(r.valid() ? numbers_[r.id] : 0));
  };
  Key key;
  key.words[0] = static_cast<uint64_t>(op) | uint64_t{zeroing} << 16 |
                 static_cast<uint64_t>(width) << 24 | number(mask) << 32;
  key.words[7] = number(start);
  int w = 1;
  for (const Operand& o : sources) {
    uint64_t a = static_cast<uint64_t>(o.kind) | static_cast<uint64_t>(o.width) << 8;
    uint64_t b = static_cast<uint64_t>(o.imm);
    if (o.kind == Operand::kReg) {
      a |= number(o.reg) << 32;
    } else if (o.kind == Operand::kMem) {
      const bool pooled = o.mem.pool >= 0;
      a |= static_cast<uint64_t>(o.mem.scale) << 16 | uint64_t{o.mem.broadcast} << 24 |
           uint64_t{pooled} << 25 |
           (pooled ? static_cast<uint64_t>(o.mem.pool) : number(o.mem.base)) << 32;
      b = number(o.mem.index) << 32 | static_cast<uint32_t>(o.mem.disp);
    }
    key.words[w++] = a;
    key.words[w++] = b;
  }
  return key;
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

/// The level at which a value that could be at `level` is emitted: vectors leave loops only while
/// registers last.
int CodeWriter::place(RegClass cls, int level) {
  int at = depth();
  if (cls == RegClass::kGpr) return level;
  const bool vector = cls == RegClass::kVec;
  while (at > level) {
    const Scope& s = scopes_[at];
    const bool full =
        vector ? s.vectors + pinned_vectors >= vector_budget_ : s.masks >= kMaskBudget;
    if (s.kind == Scope::kLoop && full) break;
    --at;
  }
  for (int d = at + 1; d <= depth(); ++d) ++(vector ? scopes_[d].vectors : scopes_[d].masks);
  return at;
}

uint64_t CodeWriter::hash_of(const Key& key) {
  uint64_t h = 0;
  for (uint64_t w : key.words) h = mix(h, w);
  return h;
}

Reg CodeWriter::find(const Key& key, uint64_t hash) const {
  for (int32_t e = buckets_[hash & (buckets_.size() - 1)]; e >= 0; e = entries_[e].next) {
    const Entry& entry = entries_[e];
    if (entry.number >= 0 && entry.key == key && numbers_[entry.reg.id] == entry.number) {
      return entry.reg;
    }
  }
  return {};
}

int32_t CodeWriter::enter(const Key& key, uint64_t hash, Reg reg, int level) {
  if (entries_.size() > buckets_.size()) grow();
  int32_t& bucket = buckets_[hash & (buckets_.size() - 1)];
  const int32_t at = static_cast<int32_t>(entries_.size());
  entries_.push_back({key, reg, numbers_[reg.id], bucket});
  bucket = at;
  // What precedes a loop that may not run at all is not known after it.
  const bool inside = level < depth() && !scopes_[level + 1].certain;
  scopes_[inside ? level + 1 : level].entries.push_back(at);
  return at;
}

void CodeWriter::grow() {
  buckets_.assign(buckets_.size() * 4, -1);
  for (size_t e = 0; e < entries_.size(); ++e) {
    if (entries_[e].number < 0) continue;
    int32_t& bucket = buckets_[hash_of(entries_[e].key) & (buckets_.size() - 1)];
    entries_[e].next = bucket;
    bucket = static_cast<int32_t>(e);
  }
}

Reg CodeWriter::define(RegClass cls, int width, X86 op, std::initializer_list<Operand> sources,
                       Reg mask, bool zeroing) {
  const Key key = key_of(op, width, sources, mask, zeroing, {});
  const uint64_t hash = hash_of(key);
  if (const Reg known = find(key, hash); known.valid()) return known;
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

Reg CodeWriter::update(RegClass cls, int width, Reg start, X86 op,
                       std::initializer_list<Operand> sources, Reg mask) {
  const Key key = key_of(op, width, sources, mask, false, start);
  const uint64_t hash = hash_of(key);
  if (const Reg known = find(key, hash); known.valid()) return known;
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
  inst.op = move_of(cls);
  inst.operands[0] = operand_of(to, cls, width);
  inst.operands[1] = operand_of(from, cls, width);
  return inst;
}

Reg CodeWriter::load(RegClass cls, int width, X86 op, const Operand& address, int buffer, Reg mask,
                     const Operand& before, const Operand& after) {
  std::array<Operand, 3> all{};
  size_t count = 0;
  if (before.kind != Operand::kNone) all[count++] = before;
  all[count++] = address;
  if (after.kind != Operand::kNone) all[count++] = after;
  const std::initializer_list<Operand> one = {all[0]}, two = {all[0], all[1]},
                                       three = {all[0], all[1], all[2]};
  const auto& sources = count == 1 ? one : count == 2 ? two : three;
  const Key key = key_of(op, width, sources, mask, mask.valid(), {});
  const uint64_t hash = hash_of(key);
  if (const Reg known = find(key, hash); known.valid()) return known;
  int level = level_of(sources, mask, {});
  // Not before the last branch (the access may be legal only on this side of it), nor out of a
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
  level = place(cls, level);
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
  if (buffer >= 0) {
    if (loads_.size() <= static_cast<size_t>(buffer)) loads_.resize(buffer + 1);
    loads_[buffer].push_back(entry);
  }
  return reg;
}

void CodeWriter::remember(Reg value, int width, X86 op, const Operand& address, int buffer) {
  const Key key = key_of(op, width, {address}, {}, false, {});
  const int32_t entry = enter(key, hash_of(key), value, depth());
  if (loads_.size() <= static_cast<size_t>(buffer)) loads_.resize(buffer + 1);
  loads_[buffer].push_back(entry);
}

Reg CodeWriter::known_load(int width, X86 op, const Operand& address) const {
  const Key key = key_of(op, width, {address}, {}, false, {});
  return find(key, hash_of(key));
}

Reg CodeWriter::load_pool(int width, X86 op, int32_t offset) {
  Mem m;
  m.pool = offset;
  if (crowded()) {
    // No register for it all along: loaded for each use, or an operand there.
    if (!wide_ && op == X86::vbroadcastss) {
      m.pool = repeated(offset, 4, width);
      op = X86::vmovups;
    } else if (!wide_ && (op == X86::vbroadcastsd || op == X86::vmovddup)) {
      m.pool = repeated(offset, 8, width);
      op = X86::vmovups;
    }
    const Reg reg = make(RegClass::kVec);
    emit(op, {vreg(reg, width), mem(m)});
    lir.regs[reg.id].remat = m.pool;
    return reg;
  }
  // Out of the innermost loop and no further: around outer loops it would only be in the way.
  const Key key = key_of(op, width, {mem(m)}, {}, false, {});
  const uint64_t hash = hash_of(key);
  if (const Reg known = find(key, hash); known.valid()) return known;
  const Reg reg = place_value(RegClass::kVec, std::max(0, loop_depth() - 1), key, hash);
  append(list_at(level(reg)), op, {vreg(reg, width), mem(m)});
  lir.regs[reg.id].remat = offset;
  return reg;
}

/// A new register for a value, at `level` or as far out as registers allow; entered in the table.
Reg CodeWriter::place_value(RegClass cls, int level, const Key& key, uint64_t hash) {
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

void CodeWriter::forget_loads(uint64_t buffers) {
  for (size_t b = 0; b < loads_.size(); ++b) {
    if (!(buffers & buffer_bit(static_cast<int>(b)))) continue;
    for (int32_t e : loads_[b]) entries_[e].number = -1;
    loads_[b].clear();
  }
}

void CodeWriter::clobber(int buffer) { forget_loads(written_by_store(buffer)); }

bool CodeWriter::retarget(Reg from, Reg to) {
  const int32_t tail = top().body.tail;
  if (tail < 0 || variable_[from.id]) return false;
  Inst& last = store_[tail];
  if (last.operands[0].kind != Operand::kReg || last.operands[0].reg != from) return false;
  if (!once_[from.id]) {
    // A copy and what changes it; the copy's target must not be among the other sources.
    if (last_copy_ < 0 || next_[last_copy_] != tail) return false;
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
  numbers_[from.id] = ++last_number_;
  return true;
}

void CodeWriter::copy(Reg to, Reg from, RegClass cls) {
  append(top().body, copy_of(to, from, cls));
}

void CodeWriter::finish(const CodeList& function) {
  lir.code.reserve(store_.size());
  for (int32_t at = function.head; at >= 0; at = next_[at]) {
    const Inst& inst = store_[at];
    // Copies of a register to itself come from values computed in place.
    if (inst.op == X86::vmovaps && inst.operands[1].kind == Operand::kReg &&
        inst.operands[0].reg == inst.operands[1].reg && inst.operands[0].kind == Operand::kReg) {
      continue;
    }
    lir.code.push_back(inst);
  }
}

}  // namespace hone::jit
