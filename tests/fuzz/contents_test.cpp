// SPDX-License-Identifier: Apache-2.0
//
// Whatever the language has, random problems have: what its tables list is looked for in a few
// thousand of them, so that a new function, type or operator is fuzzed from its first day.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jit/ir/functions/function.h"
#include "jit/ir/group.h"
#include "jit/ir/integers.h"
#include "jit/ir/recurrence.h"
#include "jit/ir/scatter.h"
#include "ops/definition.h"
#include "ops/lexer.h"
#include "ops/op.h"
#include "ops/random.h"
#include "ops/syntax.h"
#include "tests/support/effort.h"

using namespace hone;
using ops::Problem;
using ops::Term;

namespace {

constexpr DType kComputed[] = {DType::kF64, DType::kF32, DType::kI64, DType::kI32};

/// What has been met, and how often.
using Contents = std::map<std::string, int>;

void each_term(const Term& t, const std::function<void(const Term&)>& f) {
  f(t);
  for (const Term& a : t.args) each_term(a, f);
  for (const ops::Range& r : t.ranges) {
    for (const Term& b : r.bounds) each_term(b, f);
  }
}

void each_term(const ops::Definition& d, const std::function<void(const Term&)>& f) {
  for (const ops::Statement& s : d.statements) {
    for (const auto* ranges : {&s.indices, &s.loops}) {
      for (const ops::Range& r : *ranges) {
        for (const Term& t : r.at) each_term(t, f);
        for (const Term& t : r.bounds) each_term(t, f);
      }
    }
    for (const auto* terms : {&s.where, &s.otherwise}) {
      for (const Term& t : *terms) each_term(t, f);
    }
    each_term(s.value, f);
  }
}

bool any_term(const Term& t, const std::function<bool(const Term&)>& f) {
  bool found = false;
  each_term(t, [&](const Term& x) { found |= f(x); });
  return found;
}

bool any_term(const Problem& p, const std::function<bool(const Term&)>& f) {
  bool found = false;
  each_term(*p.op.definition, [&](const Term& x) { found |= f(x); });
  return found;
}

bool any_statement(const Problem& p, const std::function<bool(const ops::Statement&)>& f) {
  const auto& all = p.op.definition->statements;
  return std::any_of(all.begin(), all.end(), f);
}

bool any_buffer(const Problem& p, const std::function<bool(const ir::Buffer&)>& f) {
  return std::any_of(p.program.buffers.begin(), p.program.buffers.end(), f);
}

bool any_range(const Problem& p, const std::function<bool(const ops::Range&)>& f) {
  return any_term(p,
                  [&](const Term& t) { return std::any_of(t.ranges.begin(), t.ranges.end(), f); });
}

bool has(const std::string& text, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != text.npos; });
}

/// Is there a condition of data, `where (...)`, with an `else` or without?
bool has_choice(const std::string& text, bool with_else) {
  const std::string word = " where (";
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    for (int depth = 1; depth > 0; ++end) depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    if (text.compare(end, 6, " else ") == 0 ? with_else : !with_else) return true;
  }
  return false;
}

bool reads(const Term& t) { return t.kind == Term::kAccess; }

/// An index of a read that `f` holds for.
bool any_index(const Problem& p, const std::function<bool(const Term&)>& f) {
  return any_term(p, [&](const Term& t) {
    for (size_t i = 0; reads(t) && i < t.index_count(); ++i) {
      if (f(t.args[i])) return true;
    }
    return false;
  });
}

/// A read at a place that another read says.
bool looks_up(const Term& t) {
  return reads(t) && t.index_count() > 0 && any_term(t.args[0], reads);
}

bool is_infix(const Term& t, ops::Infix op) { return t.kind == Term::kInfix && t.infix == op; }

ir::Role role_of(const Problem& p, const std::string& name) {
  const ops::Argument* a = p.op.definition->arg(name);
  return a ? a->role : ir::Role::kTemp;
}

/// A stage that reads constants alone, and runs over a dim that only the call knows.
bool packs_over_open_dim(const Problem& p) {
  for (const ir::Stage& s : p.program.stages) {
    bool constants = true, loads = false, open = false;
    ir::visit(s.value, [&](const ir::Expr& e) {
      if (e->op == ir::Op::kLoad) {
        loads = true;
        constants &= p.program.buffer(e->name)->constant;
      }
      constants &= e->op != ir::Op::kScalar;
    });
    for (const auto* list : {&s.vars, &s.rvars}) {
      for (const ir::IndexVar& v : *list) {
        ir::visit(v.hi, [&](const ir::Expr& e) { open |= e->op == ir::Op::kDim; });
      }
    }
    if (loads && constants && open) return true;
  }
  return false;
}

/// A stage that reads itself, for which `f` holds.
bool recurs(const Problem& p, const std::function<bool(const ir::Stage&)>& f) {
  return std::any_of(p.program.stages.begin(), p.program.stages.end(),
                     [&](const ir::Stage& s) { return ir::is_recurrence(s) && f(s); });
}

/// Stages that read one another, one of which `f` holds for.
bool together(const Problem& p, const std::function<bool(const ir::Stage&)>& f) {
  const ir::Groups groups(p.program);
  for (const ir::Group& group : groups.all()) {
    for (const size_t s : group.stages) {
      if (f(p.program.stages[s])) return true;
    }
  }
  return false;
}

/// A stage whose terms tell where they go, for which `f` holds.
bool scatters(const Problem& p, const std::function<bool(const ir::Stage&)>& f) {
  return std::any_of(p.program.stages.begin(), p.program.stages.end(),
                     [&](const ir::Stage& s) { return !ir::scattered_vars(s).empty() && f(s); });
}

struct Construct {
  const char* name;
  std::function<bool(const Problem&)> found;
};

/// Forms of statements, indices, ranges and arguments.
std::vector<Construct> forms() {
  using P = const Problem&;
  return {
      {"several outputs",
       [](P p) {
         int n = 0;
         for (const auto& b : p.program.buffers) n += b.role == ir::Role::kOutput;
         return n > 1;
       }},
      {"terms that a congruence chooses",
       [](P p) {
         return p.definition.stages.size() == p.program.stages.size() &&
                std::any_of(p.definition.stages.begin(), p.definition.stages.end(), [&](auto& s) {
                  const ir::Stage* now = p.program.stage(s.name);
                  return s.value->op == ir::Op::kSelect && now && !s.rvars.empty() &&
                         !now->rvars.empty() && !equal(s.rvars.back().hi, now->rvars.back().hi);
                });
       }},
      {"inout",
       [](P p) { return any_buffer(p, [](auto& b) { return b.role == ir::Role::kInOut; }); }},
      {"recurrence", [](P p) { return recurs(p, [](auto&) { return true; }); }},
      {"recurrence of an intermediate",
       [](P p) {
         return recurs(p, [&](auto& s) { return role_of(p, s.output) == ir::Role::kTemp; });
       }},
      {"recurrence backwards",
       [](P p) {
         return recurs(p, [](auto& s) {
           return std::any_of(s.vars.begin(), s.vars.end(), [](auto& v) { return v.backward; });
         });
       }},
      {"recurrence along two indices",
       [](P p) {
         return recurs(p,
                       [](auto& s) { return ir::independent_vars(s).size() + 1 < s.vars.size(); });
       }},
      {"recurrence that reduces",
       [](P p) { return together(p, [](auto& s) { return s.reduce != ir::Reduce::kNone; }); }},
      {"recurrence of two statements",
       [](P p) { return together(p, [](auto& s) { return s.name[0] == 'g'; }); }},
      {"+=",
       [](P p) {
         return any_statement(
             p, [](auto& s) { return s.assign == ops::Assign::kAdd && !s.scatters(); });
       }},
      {"scatter that skips",
       [](P p) { return any_statement(p, [](auto& s) { return s.scatters() && s.skip; }); }},
      {"scatter into an intermediate",
       [](P p) {
         return any_statement(
             p, [&](auto& s) { return s.scatters() && role_of(p, s.name) == ir::Role::kTemp; });
       }},
      {"scatter into an inout",
       [](P p) {
         return any_statement(
             p, [&](auto& s) { return s.scatters() && role_of(p, s.name) == ir::Role::kInOut; });
       }},
      {"scatter in place", [](P p) { return scatters(p, [](auto& s) { return s.from_old; }); }},
      {"scatter in place of less than a byte an element",
       [](P p) {
         return any_buffer(p, [](auto& b) { return b.name.ends_with(".elements.terms"); });
       }},
      {"rows of less than a byte an element that end early",
       [](P p) {
         return any_buffer(p, [](auto& b) {
           int64_t n = 0;
           return b.packed && b.packed->extent && ir::is_const(b.packed->extent, &n) &&
                  n % elements_per_byte(b.packed->type) != 0;
         });
       }},
      {"less than a byte an element, rows of another dim",
       [](P p) { return any_buffer(p, [](auto& b) { return b.packed && !b.axes.empty(); }); }},
      {"scatter by two indices of terms",
       [](P p) { return scatters(p, [](auto& s) { return s.rvars.size() > 1; }); }},
      {"scatter by two positions",
       [](P p) { return scatters(p, [](auto& s) { return ir::scattered_vars(s).size() > 1; }); }},
      {"scatter by an index of the result",
       [](P p) {
         return any_statement(p, [](auto& s) {
           return std::any_of(s.indices.begin(), s.indices.end(), [&](const ops::Range& r) {
             return !r.at.empty() && any_term(r.at[0], [](const Term& t) {
               return t.kind == Term::kName && t.name[0] == 'i';
             });
           });
         });
       }},
      {"scatter of a range from data",
       [](P p) {
         return any_statement(p, [](auto& s) {
           return std::any_of(s.loops.begin(), s.loops.end(), [](const ops::Range& r) {
             return !r.bounds.empty() && any_term(r.bounds[1], reads);
           });
         });
       }},
      {"scatter by an index alone",
       [](P p) {
         return any_statement(p, [](auto& s) {
           return std::any_of(s.indices.begin(), s.indices.end(), [](const ops::Range& r) {
             return !r.at.empty() && r.at[0].kind == ops::Term::kName;
           });
         });
       }},
      {"scatter where",
       [](P p) {
         return any_statement(p, [](auto& s) { return s.scatters() && !s.where.empty(); });
       }},
      {"type of an intermediate",
       [](P p) { return any_statement(p, [](auto& s) { return !s.type.empty(); }); }},
      {"where",
       [](P p) {
         return any_statement(p, [&](auto& s) {
           return !s.where.empty() && s.otherwise.empty() && role_of(p, s.name) == ir::Role::kTemp;
         });
       }},
      {"where of an inout",
       [](P p) {
         return any_statement(p, [&](auto& s) {
           return !s.where.empty() && s.otherwise.empty() && role_of(p, s.name) == ir::Role::kInOut;
         });
       }},
      {"where else",
       [](P p) { return any_statement(p, [](auto& s) { return !s.otherwise.empty(); }); }},
      {"read with else",
       [](P p) { return any_term(p, [](auto& t) { return reads(t) && t.guarded; }); }},
      {"read at a place from data",
       [](P p) { return any_term(p, [](auto& t) { return looks_up(t) && !t.guarded; }); }},
      {"read at a place from data, with else",
       [](P p) { return any_term(p, [](auto& t) { return looks_up(t) && t.guarded; }); }},
      {"window",
       [](P p) {
         return any_index(p, [](auto& t) {
           return is_infix(t, ops::Infix::kAdd) && t.args[1].kind == Term::kName &&
                  t.args[1].name != "P";
         });
       }},
      {"scaled index",
       [](P p) {
         return any_index(p, [](auto& t) {
           return any_term(t, [](auto& x) { return is_infix(x, ops::Infix::kMul); });
         });
       }},
      {"divided index",
       [](P p) { return any_index(p, [](auto& t) { return is_infix(t, ops::Infix::kDiv); }); }},
      {"index by remainder",
       [](P p) { return any_index(p, [](auto& t) { return is_infix(t, ops::Infix::kMod); }); }},
      {"index by bits",
       [](P p) {
         return any_index(p, [](auto& t) {
           return t.kind == Term::kInfix && t.infix >= ops::Infix::kBitOr &&
                  t.infix <= ops::Infix::kShr;
         });
       }},
      {"backward index",
       [](P p) {
         return any_index(p, [](auto& t) {
           return is_infix(t, ops::Infix::kSub) && t.args[1].kind == Term::kName;
         });
       }},
      {"range from data",
       [](P p) {
         return any_range(
             p, [](auto& r) { return !r.bounds.empty() && any_term(r.bounds[1], reads); });
       }},
      {"range by another index",
       [](P p) {
         return any_range(p, [](auto& r) {
           const auto index = [](const Term& t) {
             return t.kind == Term::kName && t.name[0] == 'i';
           };
           return !r.bounds.empty() &&
                  (any_term(r.bounds[0], index) || any_term(r.bounds[1], index));
         });
       }},
      {"range of a part",
       [](P p) {
         return any_range(p, [](auto& r) {
           return !r.bounds.empty() && r.bounds[0].kind == Term::kInt && r.bounds[0].i > 0;
         });
       }},
      {"several indices in a reduction",
       [](P p) { return any_term(p, [](auto& t) { return t.ranges.size() > 1; }); }},
      {"reduction in a reduction",
       [](P p) {
         return any_term(p, [](auto& t) {
           return t.kind == Term::kReduce &&
                  any_term(t.args[0], [](auto& x) { return x.kind == Term::kReduce; });
         });
       }},
      {"accumulated in another type",
       [](P p) {
         return any_term(p, [](auto& t) { return t.kind == Term::kReduce && !t.type.empty(); });
       }},
      {"constants alone over a dim of the call", packs_over_open_dim},
      {"no dims",
       [](P p) {
         return any_buffer(p,
                           [](auto& b) { return b.role == ir::Role::kOutput && b.shape.empty(); });
       }},
      {"empty dim",
       [](P p) {
         return any_buffer(p, [](auto& b) {
           return std::any_of(b.shape.begin(), b.shape.end(), [](auto& e) {
             int64_t n = 1;
             return ir::is_const(e, &n) && n == 0;
           });
         });
       }},
  };
}

/// Words of a problem after its op.
std::vector<Construct> words() {
  using P = const Problem&;
  const auto word = [](const char* text) {
    return [text](P p) { return p.text.substr(p.text.rfind('}')).find(text) != std::string::npos; };
  };
  return {
      {"const=", word(" const=")},
      {"cold=", word(" cold=")},
      {"cold= of what is const",
       [](P p) { return any_buffer(p, [](auto& b) { return b.constant && b.cold; }); }},
      {"cold= of an inout",
       [](P p) {
         return any_buffer(p, [](auto& b) { return b.cold && b.role == ir::Role::kInOut; });
       }},
      {"align=", word(".align=")},
      {"@", word("@")},
      {".stride=", word(".stride=(")},
      {"stride at the call", word("?")},
      {"stride of 0", word(",0,")},
      {"dim of the call", word("..")},
      {"dim of the call, at", word(" at ")},
      {"integer parameter", [](P p) { return p.op.definition->param("P") != nullptr; }},
      {"dtype parameter", [](P p) { return p.op.definition->param("T") != nullptr; }},
      {"inf", [](P p) { return p.op.text().find("inf") != std::string::npos; }},
      {"nan", [](P p) { return p.op.text().find("nan") != std::string::npos; }},
  };
}

std::string name_in(const Problem& p, const std::string& type) {
  const ops::Param* param = p.op.definition->param(type);
  return std::string(param ? name_of(param->type) : type);
}

/// What stands in the text of a problem.
void count_terms(const Problem& p, Contents& seen) {
  each_term(*p.op.definition, [&](const Term& t) {
    ++seen[fmt::format("term {}", static_cast<int>(t.kind))];
    if (t.kind == Term::kInfix) ++seen[fmt::format("operator {}", ops::row_of(t.infix).text)];
    if (t.kind == Term::kCall) ++seen["function " + t.name];
    if (t.kind == Term::kReduce) ++seen["reduction " + t.name];
    if (t.kind != Term::kCast || !reads(t.args[0])) return;
    const ir::Buffer* b = p.program.buffer(t.args[0].name);
    if (b) ++seen[fmt::format("cast of {} to {}", name_of(b->element_type()), name_in(p, t.name))];
  });
}

/// What stands in the stages made of it: each kind of node in each type it computes in.
void count_nodes(const Problem& p, Contents& seen) {
  for (const ir::Stage& s : p.program.stages) {
    if (s.reduce != ir::Reduce::kNone) {
      ++seen[fmt::format("{} in {}", name_of(s.reduce), name_of(s.accumulate))];
      if (!ir::scattered_vars(s).empty()) {
        ++seen[fmt::format("scatter by {} in {}", name_of(s.reduce), name_of(s.accumulate))];
      }
    }
    ir::visit(s.value, [&](const ir::Expr& e) {
      if (e->args.empty() || e->op == ir::Op::kLoad) return;
      const std::string_view type = name_of(e->op == ir::Op::kSelect ? e->type : e->args[0]->type);
      const std::string what = e->fn ? e->fn->name : std::to_string(static_cast<int>(e->op));
      ++seen[fmt::format("node {} in {}", what, type)];
    });
  }
  for (const ir::Buffer& b : p.program.buffers) {
    ++seen[fmt::format("role {} of {}", static_cast<int>(b.role), name_of(b.element_type()))];
  }
  for (const ir::ScalarParam& s : p.program.scalars) {
    ++seen[fmt::format("scalar of {}", name_of(s.type))];
  }
}

/// What the language has, by its tables.
std::set<std::string> all_there_is() {
  std::set<std::string> all;
  for (int k = 0; k <= static_cast<int>(Term::kReduce); ++k) all.insert(fmt::format("term {}", k));
  for (int i = 0; i <= static_cast<int>(ops::Infix::kMod); ++i) {
    all.insert(fmt::format("operator {}", ops::row_of(static_cast<ops::Infix>(i)).text));
  }
  for (const char* name : {"relu", "max", "min", "select", "philox"})
    all.insert(fmt::format("function {}", name));
  for (const ir::Function& f : ir::functions()) {
    all.insert(fmt::format("function {}", f.name));
    for (const DType t : kComputed) {
      if (is_float(t) || f.ints_too) all.insert(fmt::format("node {} in {}", f.name, name_of(t)));
    }
  }
  for (const char* name : {"argmax", "argmin"}) all.insert(fmt::format("reduction {}", name));
  for (int r = 1; r <= static_cast<int>(ir::Reduce::kAll); ++r) {
    const auto kind = static_cast<ir::Reduce>(r);
    all.insert(fmt::format("reduction {}", name_of(kind)));
    const bool logical = kind == ir::Reduce::kAny || kind == ir::Reduce::kAll;
    for (const DType t : kComputed) {
      if (!logical) all.insert(fmt::format("{} in {}", name_of(kind), name_of(t)));
    }
    if (logical) all.insert(fmt::format("{} in bool", name_of(kind)));
  }
  for (const DType t : kComputed) {
    for (const char* how : {"sum", "prod", "max", "min"}) {
      all.insert(fmt::format("scatter by {} in {}", how, name_of(t)));
    }
  }
  for (const char* how : {"any", "all"}) all.insert(fmt::format("scatter by {} in bool", how));
  for (int a = 0; a < kDTypeCount; ++a) {
    // Scalars are of no 8-bit floats, and what is of less than a byte is in bytes by then.
    const auto type = name_of(static_cast<DType>(a));
    const bool packed = is_packed(static_cast<DType>(a)), late = a > static_cast<int>(DType::kBool);
    if (!packed) all.insert(fmt::format("scatter by last in {}", type));
    if (!late) all.insert(fmt::format("scalar of {}", type));
    for (int r = 0; r <= static_cast<int>(packed ? ir::Role::kInOut : ir::Role::kTemp); ++r) {
      all.insert(fmt::format("role {} of {}", r, type));
    }
    // Of two late types all pairs would take very many problems.
    for (int b = 0; b < (late ? static_cast<int>(DType::kI4) : kDTypeCount); ++b) {
      all.insert(fmt::format("cast of {} to {}", type, name_of(static_cast<DType>(b))));
    }
  }
  for (int o = static_cast<int>(ir::Op::kSelect); o < static_cast<int>(ir::Op::kCall); ++o) {
    const auto op = static_cast<ir::Op>(o);
    const bool logical = op == ir::Op::kNot || op == ir::Op::kAnd || op == ir::Op::kOr;
    const bool both = op == ir::Op::kSelect || op == ir::Op::kEq || op == ir::Op::kNe;
    for (const DType t : kComputed) {
      const bool whole = op == ir::Op::kMod || ir::is_bitwise(op);
      const bool fits = !logical && !(whole && is_float(t));
      if (fits) all.insert(fmt::format("node {} in {}", o, name_of(t)));
    }
    if (logical || both) all.insert(fmt::format("node {} in bool", o));
  }
  return all;
}

}  // namespace

TEST_CASE("fuzz: random problems have all that the language has") {
  Contents seen;
  std::set<std::string> wanted = all_there_is();
  std::vector<Construct> constructs = forms();
  for (Construct& c : words()) constructs.push_back(std::move(c));
  for (const Construct& c : constructs) wanted.insert(c.name);
  wanted.insert("a function of one's own");
  wanted.insert("a use of an op");
  wanted.insert("a use of an op of several results");
  wanted.insert("a result that is left out");
  wanted.insert("a condition of data");
  wanted.insert("a state that a condition of data keeps");
  constexpr uint64_t kProblems = 60000;
  for (uint64_t seed = 1; seed <= kProblems; ++seed) {
    const std::string text = ops::random_problem(seed);
    const auto p = ops::parse_problem(text);
    REQUIRE(p);
    seen["a function of one's own"] += text.starts_with("fn ");
    seen["a use of an op"] += text.find("[u0") != text.npos && text != p->text;
    seen["a use of an op of several results"] += has(text, {"b0[u0", "b1[u0", "b2[u0"});
    seen["a result that is left out"] += has(text, {"_, ", "_ = "});
    seen["a condition of data"] += has_choice(text, true);
    seen["a state that a condition of data keeps"] +=
        has_choice(text, false) && recurs(*p, [](const ir::Stage&) { return true; });
    count_terms(*p, seen);
    count_nodes(*p, seen);
    for (const Construct& c : constructs) seen[c.name] += c.found(*p);
    if (seed % 100 != 0) continue;
    std::erase_if(wanted, [&](const std::string& w) { return seen[w] > 2; });
    std::erase_if(constructs, [&](const Construct& c) { return !wanted.contains(c.name); });
    if (wanted.empty()) break;
  }
  for (const std::string& w : wanted) FAIL_CHECK(w << ": in " << seen[w] << " random problems");
}
