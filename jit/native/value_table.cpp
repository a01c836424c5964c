// SPDX-License-Identifier: Apache-2.0
#include "jit/native/value_table.h"

namespace hone::jit {

namespace {

uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 29);
}

}  // namespace

ValueTable::ValueTable() : buckets_(1024, -1) { entries_.reserve(512); }

uint64_t ValueKey::hash() const {
  uint64_t h = 0;
  for (uint64_t w : words) h = mix(h, w);
  return h;
}

ValueKey ValueTable::key_of(Opcode op, int width, const std::initializer_list<Operand>& sources,
                            Reg mask, bool zeroing, Reg start) const {
  const auto number = [&](Reg r) {
    return static_cast<uint64_t>(static_cast<uint32_t>(r.valid() ? numbers_[r.id] : 0));
  };
  ValueKey key;
  key.words[0] = uint64_t{op.number} | uint64_t{zeroing} << 16 |
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

Reg ValueTable::find(const ValueKey& key, uint64_t hash) const {
  for (int32_t e = buckets_[hash & (buckets_.size() - 1)]; e >= 0; e = entries_[e].next) {
    const Entry& entry = entries_[e];
    if (entry.number >= 0 && entry.key == key && numbers_[entry.reg.id] == entry.number) {
      return entry.reg;
    }
  }
  return {};
}

int32_t ValueTable::enter(const ValueKey& key, uint64_t hash, Reg reg) {
  if (entries_.size() > buckets_.size()) grow();
  int32_t& bucket = buckets_[hash & (buckets_.size() - 1)];
  const int32_t at = static_cast<int32_t>(entries_.size());
  entries_.push_back({key, reg, numbers_[reg.id], bucket});
  bucket = at;
  return at;
}

void ValueTable::grow() {
  buckets_.assign(buckets_.size() * 4, -1);
  for (size_t e = 0; e < entries_.size(); ++e) {
    if (entries_[e].number < 0) continue;
    int32_t& bucket = buckets_[entries_[e].key.hash() & (buckets_.size() - 1)];
    entries_[e].next = bucket;
    bucket = static_cast<int32_t>(e);
  }
}

bool Extent::apart_from(const Extent& other) const {
  if (bytes == 0 || other.bytes == 0 || base != other.base || index != other.index) return false;
  return begin + bytes <= other.begin || other.begin + other.bytes <= begin;
}

Extent ValueTable::extent_of(const Operand& address, int64_t bytes) const {
  const Mem& m = address.mem;
  if (address.kind != Operand::kMem || m.pool >= 0 || m.slot >= 0 || !m.base.valid()) return {};
  const auto number = [&](Reg r) {
    return static_cast<uint64_t>(static_cast<uint32_t>(numbers_[r.id]));
  };
  const uint64_t index = m.index.valid() ? number(m.index) << 8 | m.scale : 0;
  return {number(m.base), index, m.disp, bytes};
}

void ValueTable::loaded(int32_t entry, int buffer, const Extent& from) {
  if (loads_.size() <= static_cast<size_t>(buffer)) loads_.resize(buffer + 1);
  loads_[buffer].push_back({entry, from});
}

void ValueTable::forget_loads(uint64_t buffers) {
  for (size_t b = 0; b < loads_.size(); ++b) {
    if (!(buffers & buffer_bit(static_cast<int>(b)))) continue;
    for (const Load& load : loads_[b]) entries_[load.entry].number = -1;
    loads_[b].clear();
  }
}

void ValueTable::forget_loads_at(int buffer, const Extent& stored) {
  if (loads_.size() <= static_cast<size_t>(buffer)) return;
  std::erase_if(loads_[buffer], [&](const Load& load) {
    Entry& entry = entries_[load.entry];
    const bool known = entry.number >= 0 && numbers_[entry.reg.id] == entry.number;
    if (known && load.from.apart_from(stored)) return false;
    entry.number = -1;
    return true;
  });
}

}  // namespace hone::jit
