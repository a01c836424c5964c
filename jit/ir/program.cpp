// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/program.h"

#include <algorithm>

#include "jit/ir/instructions.h"

namespace hone::ir {
namespace {

template <class List>
const typename List::value_type* find(const List& items, std::string_view name) {
  for (const auto& item : items) {
    if (item.name == name) return &item;
  }
  return nullptr;
}

std::string join(const std::vector<Expr>& items) {
  std::string out;
  for (const Expr& e : items) out += (out.empty() ? "" : ",") + print(e);
  return out;
}

std::string axes_text(const Buffer& b) {
  std::string out;
  for (const Axis& a : b.axes) {
    out += "[d" + std::to_string(a.dim);
    if (a.div != 1) out += "/" + std::to_string(a.div);
    if (a.mod != 0) out += "%" + std::to_string(a.mod);
    out += "]";
  }
  return out;
}

constexpr std::string_view kRoleNames[] = {"input", "output", "inout", "temp"};

void print_buffer(const Buffer& b, std::string& out) {
  out += std::string(kRoleNames[static_cast<int>(b.role)]) + " " + b.name + ": " +
         std::string(name_of(b.type)) + "[" + join(b.shape) + "]";
  if (!b.axes.empty()) out += " layout=" + axes_text(b);
  if (!b.strides.empty()) out += " strides=(" + join(b.strides) + ")";
  if (b.align) out += " align=" + std::to_string(b.align);
  if (b.packed) {
    std::vector<Expr> shape;
    for (size_t d = 0; d < b.shape.size(); ++d) shape.push_back(b.element_extent(d));
    out += " of " + std::string(name_of(b.packed->type)) + "[" + join(shape) + "]";
  }
  if (b.constant) out += " const";
  if (b.cold) out += " cold";
  if (b.stream) out += " stream";
  if (b.role == Role::kTemp) out += " in=" + std::string(name_of(b.space));
  if (b.pad) out += " pad=" + std::to_string(b.pad);
  if (b.swizzle) out += " swizzle=on";
  out += "\n";
}

std::string range_text(const IndexVar& v) {
  return v.name + " in " + (v.lo ? print(v.lo) : "0") + ".." + print(v.hi) +
         (v.backward ? " backward" : "");
}

std::string definition_text(const Stage& s) {
  std::string out = s.output + "[" + join(s.out_index);
  for (const std::string& loop : s.factored) out += "," + loop;
  out += "] = ";
  if (s.reduce != Reduce::kNone) {
    out += std::string(name_of(s.reduce)) + "[";
    for (size_t i = 0; i < s.rvars.size(); ++i) out += (i ? ", " : "") + range_text(s.rvars[i]);
    out += ": " + std::string(name_of(s.accumulate)) + (s.from_old ? " from old" : "") + "](" +
           print(s.value) + ")";
  } else {
    out += print(s.value);
  }
  if (s.where) out += " where " + print(s.where);
  return out;
}

std::string relation_text(const Relation& r) {
  if (r.kind == Relation::kFuse) return "fuse " + r.parent + " " + r.second + " -> " + r.outer;
  return "split " + r.parent + " " + std::to_string(r.factor) + " -> " + r.outer + " " + r.inner +
         " tail=" + std::string(name_of(r.tail));
}

void print_stage(const Stage& s, std::string& out) {
  out += "stage " + s.name + ": " + definition_text(s) + "\n";
  if (!s.vars.empty()) {
    out += "  over";
    for (size_t i = 0; i < s.vars.size(); ++i) out += (i ? ", " : " ") + range_text(s.vars[i]);
    out += "\n";
  }
  for (const Relation& r : s.relations) out += "  " + relation_text(r) + "\n";
  if (!s.at.root()) {
    out += "  at " + s.at.stage + "/" + s.at.loop;
    if (!s.store.root()) out += " store " + s.store.stage + "/" + s.store.loop;
    out += "\n";
  }
  for (const Prefetch& p : s.prefetches) {
    out += "  prefetch " + p.tensor + " at " + p.loop;
    if (!p.outer.root()) out += " of " + p.outer.stage + "/" + p.outer.loop;
    out += " distance=" + std::to_string(p.distance) + "\n";
  }
  if (s.tma) out += "  tma\n";
  out += "  loops";
  for (const Loop& l : s.loops) {
    out += " ";
    if (l.mark == Mark::kTensor) {
      out += std::string(l.instruction->name) + ":";
    } else if (l.mark != Mark::kSerial) {
      out += std::string(name_of(l.mark)) + ":";
    }
    out += l.name + (l.partition ? "(partition)" : "");
    out += text_of(l.gpu);
  }
  out += "\n";
}

}  // namespace

const Loop* Stage::loop(std::string_view name) const { return find(loops, name); }

const IndexVar* Stage::var(std::string_view name) const {
  if (const IndexVar* v = find(vars, name)) return v;
  return find(rvars, name);
}

bool mentions_any(const Expr& e, const std::vector<IndexVar>& vars) {
  return std::any_of(vars.begin(), vars.end(),
                     [&](const IndexVar& v) { return mentions_var(e, v.name); });
}

bool Stage::is_reduction_var(std::string_view name) const { return find(rvars, name) != nullptr; }

bool IndexVar::empty() const {
  int64_t from = 0, to = 0;
  return (!lo || is_const(lo, &from)) && is_const(hi, &to) && to <= from;
}

bool Stage::reduces_nothing() const {
  return std::any_of(rvars.begin(), rvars.end(), [](const IndexVar& v) { return v.empty(); });
}

bool Stage::writes_nothing() const {
  return std::any_of(vars.begin(), vars.end(), [](const IndexVar& v) { return v.empty(); });
}

const Buffer* Program::buffer(std::string_view name) const { return find(buffers, name); }

const Stage* Program::stage(std::string_view name) const { return find(stages, name); }

const Stage* Program::producer(std::string_view buffer) const {
  for (const Stage& s : stages) {
    if (s.output == buffer) return &s;
  }
  return nullptr;
}

std::string_view name_of(Reduce r) {
  constexpr std::string_view names[] = {"none", "sum", "prod", "max", "min", "any", "all", "last"};
  return names[static_cast<int>(r)];
}

std::string_view name_of(Tail t) {
  constexpr std::string_view names[] = {"exact", "mask", "peel", "overlap", "pad"};
  return names[static_cast<int>(t)];
}

std::string_view name_of(Space s) {
  constexpr std::string_view names[] = {"root", "scratch", "registers", "shared", "warp"};
  return names[static_cast<int>(s)];
}

std::string print(const Program& program) {
  std::string out;
  for (const Dim& d : program.dims) {
    out += "dim " + d.name + "=" + std::to_string(d.lo) + ".." + std::to_string(d.hi) + "\n";
  }
  for (const ScalarParam& s : program.scalars) {
    out += "scalar " + s.name + ": " + std::string(name_of(s.type)) + "\n";
  }
  for (const Buffer& b : program.buffers) print_buffer(b, out);
  for (const Check& c : program.checks) {
    out += "check " + print(c.lo) + " <= " + print(c.value) + " <= " + print(c.hi) + " at " +
           c.tensor + "[" + print(c.position) + "]";
    for (const IndexVar& v : c.vars) out += " for " + range_text(v);
    out += "\n";
  }
  for (const Stage& s : program.stages) print_stage(s, out);
  return out;
}

}  // namespace hone::ir
