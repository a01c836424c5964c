// SPDX-License-Identifier: Apache-2.0
#include "ops/packed.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hone::ops {
namespace {

using ir::Expr;

/// A tensor of a type of less than a byte, as it was declared.
struct PackedTensor {
  DType type = DType::kU4;
  ir::Role role = ir::Role::kTemp;
  int dim = -1;               ///< of a parameter: along which elements share bytes; -1: of no dims
  Expr extent = {};           ///< of that dim
  std::string elements = {};  ///< the tensor that has one a byte; empty: an input

  int64_t in_byte() const { return elements_per_byte(type); }
  /// The bits of one element, all ones.
  int64_t mask() const { return (int64_t{1} << bit_width_of(type)) - 1; }
  /// The type that has an element a byte.
  DType byte() const { return is_unsigned(type) ? DType::kU8 : DType::kI8; }
  /// Whether its last byte may hold fewer elements than others.
  bool may_end_early() const {
    int64_t value = 0;
    return !ir::is_const(extent, &value) || value % in_byte() != 0;
  }
};

Expr make_i32(int64_t value) { return ir::make_int(value, DType::kI32); }

/// An i32 as an element of `type` would hold it.
Expr wrapped_bits(const Expr& e, DType type) {
  const int64_t count = int64_t{1} << bit_width_of(type);
  const Expr bits = ir::make_binary(ir::Op::kBitAnd, e, make_i32(count - 1));
  if (is_unsigned(type)) return bits;
  const Expr sign = make_i32(count / 2);
  return ir::make_binary(ir::Op::kBitXor, bits, sign) - sign;
}

/// A number as an element of `type`: integers wrap, floats are truncated and saturate.
Expr packed_value(const Expr& e, DType type) {
  const Expr number = ir::make_cast(DType::kI32, e);
  if (!is_float(e->type)) return wrapped_bits(number, type);
  const int64_t count = int64_t{1} << bit_width_of(type);
  const int64_t least = is_unsigned(type) ? 0 : -count / 2;
  const Expr low = ir::make_binary(ir::Op::kMax, number, make_i32(least));
  return ir::make_binary(ir::Op::kMin, low, make_i32(least + count - 1));
}

class Unpacking {
 public:
  explicit Unpacking(ir::Program& program) : p_(program) {}

  void run() {
    std::vector<ir::Buffer> made;
    for (size_t b = 0; b < p_.buffers.size(); ++b) {
      if (is_packed(p_.buffers[b].type)) take(p_.buffers.edit(b), made);
    }
    if (tensors_.empty() && !casts()) return;
    std::vector<ir::Stage> stages, packing;
    for (const ir::Stage& s : p_.stages) {
      const PackedTensor* t = tensor(s.output);
      if (t && t->role != ir::Role::kTemp) packing.push_back(packing_stage(s, *t));
      add_unpacked(s, stages, made);
    }
    p_.stages = {};
    for (auto* list : {&stages, &packing}) {
      for (ir::Stage& s : *list) p_.stages.push_back(std::move(s));
    }
    for (ir::Buffer& b : made) p_.buffers.push_back(std::move(b));
    for (size_t c = 0; c < p_.checks.size(); ++c) unpack(p_.checks.edit(c));
  }

 private:
  /// Whether a value goes by way of such a type, though no tensor is of one.
  bool casts() const {
    const auto any = [](const Expr& e) {
      return ir::any_node(e, [](const Expr& x) { return is_packed(x->type); });
    };
    const auto any_end = [&](const std::vector<ir::IndexVar>& vars) {
      return std::any_of(vars.begin(), vars.end(),
                         [&](const ir::IndexVar& v) { return any(v.lo) || any(v.hi); });
    };
    return std::any_of(p_.stages.begin(), p_.stages.end(),
                       [&](const ir::Stage& s) {
                         return any(s.value) || any(s.where) || any_end(s.vars) || any_end(s.rvars);
                       }) ||
           std::any_of(p_.checks.begin(), p_.checks.end(),
                       [&](const ir::Check& c) { return any(c.value) || any_end(c.vars); });
  }

  const PackedTensor* tensor(const std::string& name) const {
    const auto at = tensors_.find(name);
    return at == tensors_.end() ? nullptr : &at->second;
  }

  void take(ir::Buffer& b, std::vector<ir::Buffer>& made) {
    PackedTensor t{b.type, b.role};
    if (b.role == ir::Role::kTemp) {
      t.elements = b.name;
      b.type = t.byte();
    } else {
      if (b.role != ir::Role::kInput) {
        t.elements = b.name + ".elements";
        ir::Buffer elements;
        elements.name = t.elements;
        elements.type = t.byte();
        elements.shape = b.shape;
        made.push_back(std::move(elements));
      }
      pack(b, t);
    }
    tensors_.emplace(b.name, std::move(t));
  }

  /// A parameter in bytes: its rows along the innermost dim in memory begin at whole ones.
  static void pack(ir::Buffer& b, PackedTensor& t) {
    const Expr in_byte = ir::make_int(t.in_byte());
    for (size_t a = 0; a < b.shape.size(); ++a) {
      const int dim = b.axes.empty() ? static_cast<int>(a) : b.axes[a].dim;
      int64_t stride = 0;
      const bool inner = b.strides.empty() ? a + 1 == b.shape.size()
                                           : ir::is_const(b.strides[a], &stride) && stride == 1;
      if (inner) t.dim = dim;
      if (!b.strides.empty() && !inner) {
        b.strides[a] = ir::make_binary(ir::Op::kDiv, b.strides[a], in_byte);
      }
    }
    b.type = DType::kU8;
    if (t.dim >= 0) {
      Expr& extent = b.shape[static_cast<size_t>(t.dim)];
      t.extent = extent;
      extent = ir::make_binary(ir::Op::kDiv, extent + ir::make_int(t.in_byte() - 1), in_byte);
    }
    b.packed = ir::PackedElements{t.type, t.dim, t.extent};
  }

  /// The stage that packs what `s` computes: each byte is the `|` of its elements.
  ir::Stage packing_stage(const ir::Stage& s, const PackedTensor& t) const {
    const ir::Buffer& b = *p_.buffer(s.output);
    ir::Stage out;
    out.name = out.output = s.output;
    for (size_t d = 0; d < b.shape.size(); ++d) {
      out.vars.push_back({s.vars[d].name, {}, b.shape[d]});
      out.loops.push_back({s.vars[d].name});
      out.out_index.push_back(ir::make_var(s.vars[d].name));
    }
    Expr byte;
    for (int64_t j = 0; j < (t.dim < 0 ? 1 : t.in_byte()); ++j) {
      std::vector<Expr> index = out.out_index;
      if (t.dim >= 0) {
        Expr& at = index[static_cast<size_t>(t.dim)];
        at = at * ir::make_int(t.in_byte()) + ir::make_int(j);
      }
      const bool guarded = j > 0 && t.may_end_early();
      const Expr none = guarded ? ir::make_int(0, t.byte()) : Expr();
      Expr element = ir::make_load(t.elements, t.byte(), std::move(index), none);
      element = ir::make_cast(DType::kI32, std::move(element));
      element = ir::make_binary(ir::Op::kBitAnd, element, make_i32(t.mask()));
      element = ir::make_binary(ir::Op::kShl, element, make_i32(j * bit_width_of(t.type)));
      byte = byte ? ir::make_binary(ir::Op::kBitOr, byte, element) : element;
    }
    out.value = ir::make_cast(DType::kU8, byte);
    return out;
  }

  void add_unpacked(ir::Stage s, std::vector<ir::Stage>& stages, std::vector<ir::Buffer>& made) {
    const std::string statement = s.output;
    const PackedTensor* t = tensor(statement);
    const auto own = [&](const Expr& e) { return unpacked(e, statement); };
    s.value = own(s.value);
    if (s.where) s.where = own(s.where);
    for (Expr& e : s.out_index) e = own(e);
    for (auto* vars : {&s.vars, &s.rvars}) {
      for (ir::IndexVar& v : *vars) {
        if (v.lo) v.lo = own(v.lo);
        v.hi = own(v.hi);
      }
    }
    rename_place(s.at);
    rename_place(s.store);
    if (!t) return stages.push_back(std::move(s));
    if (s.name == s.output) s.name = t->elements;
    s.output = t->elements;
    if (is_packed(s.accumulate)) s.accumulate = t->byte();
    if (s.from_old) {
      stages.push_back(last_terms(s, *t, made));
      s = kept_or_last(s, *t, statement);
    }
    s.value = ir::make_cast(t->byte(), s.value);
    stages.push_back(std::move(s));
  }

  /// The last terms of a scatter into an `inout`: a bit above those of an element says that an
  /// element has one.
  static ir::Stage last_terms(const ir::Stage& s, const PackedTensor& t,
                              std::vector<ir::Buffer>& made) {
    ir::Stage terms = s;
    terms.name = terms.output = t.elements + ".terms";
    terms.from_old = false;
    terms.accumulate = DType::kI16;
    const Expr bits = ir::make_binary(ir::Op::kBitAnd, s.value, make_i32(t.mask()));
    terms.value =
        ir::make_cast(DType::kI16, ir::make_binary(ir::Op::kBitOr, bits, make_i32(t.mask() + 1)));
    ir::Buffer b;
    b.name = terms.name;
    b.type = DType::kI16;
    for (const ir::IndexVar& v : s.vars) b.shape.push_back(v.hi);
    made.push_back(std::move(b));
    return terms;
  }

  /// Its elements: the last term of each, or the old value.
  ir::Stage kept_or_last(const ir::Stage& s, const PackedTensor& t,
                         const std::string& statement) const {
    ir::Stage out;
    out.name = s.name;
    out.output = s.output;
    out.vars = s.vars;
    out.out_index = s.out_index;
    for (const ir::IndexVar& v : s.vars) out.loops.push_back({v.name});
    const Expr last =
        ir::make_cast(DType::kI32, ir::make_load(t.elements + ".terms", DType::kI16, s.out_index));
    const Expr old = unpacked(ir::make_load(statement, t.type, s.out_index), statement);
    out.value = ir::make_select(ir::make_binary(ir::Op::kEq, last, make_i32(0)), old,
                                wrapped_bits(last, t.type));
    return out;
  }

  void rename_place(ir::Place& place) const {
    const PackedTensor* t = tensor(place.stage);
    if (t && !t->elements.empty()) place.stage = t->elements;
  }

  void unpack(ir::Check& check) const {
    for (Expr* e : {&check.value, &check.lo, &check.hi, &check.position}) *e = unpacked(*e, "");
    for (ir::IndexVar& v : check.vars) {
      if (v.lo) v.lo = unpacked(v.lo, "");
      v.hi = unpacked(v.hi, "");
    }
  }

  /// `e`, a part of the stage that writes `writer`, with i32 in the place of types of less than a
  /// byte.
  Expr unpacked(const Expr& e, const std::string& writer) const {
    std::vector<Expr> args;
    bool same = !is_packed(e->type);
    for (const Expr& a : e->args) {
      args.push_back(unpacked(a, writer));
      same &= args.back().get() == a.get();
    }
    if (same) return e;
    const PackedTensor* t = e->op == ir::Op::kLoad ? tensor(e->name) : nullptr;
    if (t)
      return element(*e, *t, std::move(args), t->role == ir::Role::kInOut && writer == e->name);
    if (e->op == ir::Op::kInt) return make_i32(e->i);
    if (e->op == ir::Op::kCast && is_packed(e->type)) return packed_value(args[0], e->type);
    return ir::with_args(e, std::move(args));
  }

  /// The element that `load` reads, as an i32. `old`: of an inout, what the caller gave.
  static Expr element(const ir::Node& load, const PackedTensor& t, std::vector<Expr> index,
                      bool old) {
    Expr otherwise;
    if (load.guarded) {
      otherwise = index.back();
      index.pop_back();
    }
    if (!t.elements.empty() && !old) {
      if (otherwise) otherwise = ir::make_cast(t.byte(), otherwise);
      return ir::make_cast(
          DType::kI32, ir::make_load(t.elements, t.byte(), std::move(index), std::move(otherwise)));
    }
    Expr byte_otherwise;
    if (otherwise) {  // whichever element of the byte is asked for
      const Expr bits = ir::make_binary(ir::Op::kBitAnd, otherwise, make_i32(t.mask()));
      byte_otherwise = ir::make_cast(DType::kU8, bits * make_i32(255 / t.mask()));
    }
    Expr within, at;
    if (t.dim >= 0) {
      Expr& i = index[static_cast<size_t>(t.dim)];
      at = i;
      within = ir::make_binary(ir::Op::kMod, i, ir::make_int(t.in_byte()));
      i = ir::make_binary(ir::Op::kDiv, i, ir::make_int(t.in_byte()));
    }
    Expr bits = ir::make_cast(DType::kI32, ir::make_load(load.name, DType::kU8, std::move(index),
                                                         std::move(byte_otherwise)));
    if (within) {
      const Expr count = ir::make_cast(DType::kI32, within) * make_i32(bit_width_of(t.type));
      bits = ir::make_binary(ir::Op::kShr, bits, count);
    }
    const Expr value = wrapped_bits(bits, t.type);
    if (!otherwise || !at || !t.may_end_early()) return value;
    return ir::make_select(ir::make_binary(ir::Op::kLt, at, t.extent), value, otherwise);
  }

  ir::Program& p_;
  std::map<std::string, PackedTensor> tensors_;
};

}  // namespace

void unpack_storage(ir::Program& program) { Unpacking(program).run(); }

}  // namespace hone::ops
