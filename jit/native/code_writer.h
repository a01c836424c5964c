// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "jit/native/allocate.h"
#include "jit/native/code_store.h"
#include "jit/native/value_table.h"

namespace hone::jit {

/// A stretch of code that runs as a unit: the function, a loop's body, one side of a branch. `pre`
/// runs once, before it is entered (for a loop: only when at least one iteration follows).
struct Scope {
  enum Kind : uint8_t { kFunction, kLoop, kBranch, kPlain } kind = kFunction;
  CodeList pre;
  CodeList body;
  CodeList latch;                ///< loops: at the end of each iteration
  uint64_t written = 0;          ///< buffers stored to inside, see CodeWriter::buffer_bit
  std::vector<int32_t> entries;  ///< value numbers that end with the scope
  int vectors = 0;               ///< vector values kept in registers across the loop
  int masks = 0;                 ///< and mask values
  int loaded = 0;                ///< and what is loaded into general registers
  int64_t number = 0;
  bool certain = true;  ///< `pre` runs whenever the code around the scope does
};

/// Values that take several instructions, see CodeWriter::sequence.
enum class Sequence : uint16_t {
  kMin,
  kMax,
  kCondition,  ///< plus the comparison's number
  kSelect = kCondition + 16,
  kNonZero,
  kZero,
  kOnes,
  kShiftLeft,
  kShiftRight,
};

/// Emits LIR over virtual registers with value numbering: an instruction asked for twice is emitted
/// once. One whose operands do not change inside enclosing loops is emitted before them.
///
/// The level of a register is the depth of the scope in whose body it is defined.
class CodeWriter {
 public:
  explicit CodeWriter(const RegisterFile& file);

  Lir lir;

  // --- scopes ---

  /// Depth of the innermost open scope; 0 is the function.
  int depth() const { return static_cast<int>(scopes_.size()) - 1; }
  Scope& scope(int depth) { return scopes_[depth]; }
  Scope& top() { return scopes_.back(); }
  /// Opens a scope in which buffers of `written` are stored to: what was loaded from them before
  /// is not known to hold inside.
  void open(Scope::Kind kind, uint64_t written, bool certain = true);
  /// Closes the innermost scope and hands out its code; values defined in it are forgotten.
  Scope close();
  /// A number that no other scope has: of the innermost one.
  int64_t scope_number() const { return scopes_.back().number; }
  /// The bit of a buffer in Scope::written; buffers past 62 share one.
  static uint64_t buffer_bit(int buffer) { return ValueTable::buffer_bit(buffer); }

  // --- plain instructions ---

  /// Instructions so far.
  size_t size() const { return store_.size(); }

  /// Appends to the innermost body.
  void emit(Opcode op, std::initializer_list<Operand> operands, Reg mask = {},
            bool zeroing = false) {
    append(top().body, op, operands, mask, zeroing);
  }
  void append(CodeList& list, Opcode op, std::initializer_list<Operand> operands, Reg mask = {},
              bool zeroing = false);
  /// Immediates may be of any size: one that the instruction has no room for goes through a
  /// register.
  void append(CodeList& list, Inst inst);
  /// Moves all of `more` to the end of `list`.
  void splice(CodeList& list, const CodeList& more) { store_.splice(list, more); }

  // --- values ---

  /// The register holding the result of a pure instruction; its destination is left out and of
  /// `cls` and `width`. Reuses an equal instruction; emitted as far out as its operands allow.
  Reg define(RegClass cls, int width, Opcode op, std::initializer_list<Operand> sources,
             Reg mask = {}, bool zeroing = false);
  /// The same for instructions that also read their destination: it starts as a copy of `start`.
  Reg update(RegClass cls, int width, Reg start, Opcode op, std::initializer_list<Operand> sources,
             Reg mask = {});
  /// The same for a value that takes several instructions: `emit(list, reg)` appends them. `tag`
  /// tells the sequences apart.
  template <class Emit>
  Reg sequence(RegClass cls, int width, Sequence tag, std::initializer_list<Operand> sources,
               const Emit& emit) {
    const Opcode name(static_cast<uint16_t>(0x8000 + static_cast<int>(tag)));
    const ValueKey key = values_.key_of(name, width, sources, {}, false, {});
    const uint64_t hash = key.hash();
    if (const Reg known = values_.find(key, hash); known.valid()) return known;
    const int level = place(cls, level_of(sources, {}, {}));
    const Reg reg = make(cls, level);
    emit(list_at(level), reg);
    enter(key, hash, reg, level);
    return reg;
  }
  /// The same for a load from `buffer`. It is not moved past stores to it, nor out of branches, nor
  /// before a loop that may not run. `before` and `after` are sources around the address.
  Reg load(RegClass cls, int width, Opcode op, const Operand& address, int buffer, Reg mask = {},
           const Operand& before = {}, const Operand& after = {});
  /// Tells that loading so would give what is in `value`: it was just stored there, as `bytes`.
  void remember(Reg value, int width, Opcode op, const Operand& address, int buffer, int bytes,
                Reg mask = {});
  /// The register that is known to hold this load's result, or an invalid one.
  Reg known_load(int width, Opcode op, const Operand& address) const;
  /// A pool constant loaded by `op`: whole, or one element repeated.
  Reg load_pool(int width, Opcode op, int32_t offset);
  /// Byte offset of a constant in the pool, shared between equal ones.
  int32_t pool(const void* bytes, int size);

  /// Forgets what was loaded from `buffer` and from buffers that share memory with it. Of a store
  /// to `bytes` at an address, what was loaded from elsewhere in `buffer` stays known.
  void clobber(int buffer, const Operand& address = {}, int bytes = 0);
  /// Per buffer the bits of those that share memory with it, itself included; scratch is used
  /// again where buffers are not live together. Empty: no two share.
  std::vector<uint64_t> sharing;
  /// What a store to `buffer` adds to Scope::written.
  uint64_t written_by_store(int buffer) const {
    return sharing.empty() ? buffer_bit(buffer) : sharing[static_cast<size_t>(buffer)];
  }
  /// Tells that `reg` was written again, in the innermost scope.
  void rewritten(Reg reg);
  /// Depth of the scope in whose body `reg` is defined.
  int level(Reg reg) const { return levels_[reg.id]; }
  /// A new register defined in the innermost scope (or at `level`).
  Reg make(RegClass cls, int level = -1);
  /// A new vector register that is read and written again for the whole launch (a tile's): never
  /// retargeted, and counted in pinned_vectors.
  Reg make_variable();
  /// If the innermost body ends with the computation of `from`, and nothing else can use it yet,
  /// makes that compute `to` instead.
  bool retarget(Reg from, Reg to);
  /// Copies a whole register.
  void copy(Reg to, Reg from, RegClass cls);
  /// Registers held by values that stay for the whole launch (tiles); limits hoisting.
  int pinned_vectors = 0;

  /// The whole function in order, without what nothing reads; the writer is empty afterwards.
  void finish(const CodeList& function);

 private:
  void legalize(CodeList& list, Inst& inst);
  int32_t enter(const ValueKey& key, uint64_t hash, Reg reg, int level);
  int level_of(const std::initializer_list<Operand>& sources, Reg mask, Reg start) const;
  int place(RegClass cls, int level, bool loaded = false);
  CodeList& list_at(int level) { return level == depth() ? top().body : scopes_[level + 1].pre; }
  int loop_depth() const;
  bool crowded() const;
  Reg place_value(RegClass cls, int level, const ValueKey& key, uint64_t hash);
  int32_t repeated(int32_t offset, int size, int width);
  Inst copy_of(Reg to, Reg from, RegClass cls) const;

  const Machine& machine_;
  int vector_budget_;
  int vector_bytes_;
  int32_t last_copy_ = -1;  ///< the copy that the last update in the innermost body began with
  CodeStore store_;
  ValueTable values_;
  std::vector<Scope> scopes_;
  std::vector<int16_t> levels_;
  std::vector<uint8_t> once_;      ///< written by one instruction only
  std::vector<uint8_t> variable_;  ///< from make_variable
  int64_t last_scope_ = 0;
};

}  // namespace hone::jit
