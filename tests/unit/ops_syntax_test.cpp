// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <string>

#include "ops/op.h"
#include "ops/parser.h"
#include "ops/stock.h"

namespace {

using hone::ops::Assign;
using hone::ops::Definition;
using hone::ops::Diagnostics;
using hone::ops::Infix;
using hone::ops::Op;
using hone::ops::parse_library;
using hone::ops::parse_problem;
using hone::ops::Parser;
using hone::ops::Range;
using hone::ops::Source;
using hone::ops::Statement;
using hone::ops::Term;

/// Random syntax trees, of any shape that the parser can give; they need mean nothing.
class TermMaker {
 public:
  explicit TermMaker(uint32_t seed) : random_(seed) {}

  Term term(int depth) {
    const int kind = depth <= 0 ? below(4) : below(11);
    Term t;
    switch (kind) {
      case 0:
        t.i = below(1000);
        return t;
      case 1:
        return real();
      case 2:
        t.kind = Term::kName;
        t.name = name();
        return t;
      case 3:
        t.kind = Term::kBool;
        t.i = below(2);
        return t;
      case 4:
        t.kind = Term::kNeg;
        t.args = {term(depth - 1)};
        return t;
      case 5:
        t.kind = below(2) == 0 ? Term::kNot : Term::kBitNot;
        t.args = {term(depth - 1)};
        return t;
      case 6:
        return access(depth);
      case 7:
        t.kind = Term::kCall;
        t.name = name();
        t.args = terms(depth, 3);
        return t;
      case 8:
        t.kind = Term::kCast;
        t.name = "f32";
        t.args = {term(depth - 1)};
        return t;
      case 9:
        return reduction(depth);
      default:
        return infix(depth);
    }
  }

  Definition definition() {
    Definition d;
    d.name = "x";
    d.params = {{"T", {}, true, hone::DType::kF16, 0}, {"S", {}, false, hone::DType::kF32, -3}};
    d.args.resize(2);
    d.args[0].name = "A";
    d.args[0].type = "T";
    d.args[0].shape = {term(2), term(0)};
    d.args[1].name = "Y";
    d.args[1].type = "f32";
    d.args[1].role = hone::ir::Role::kOutput;
    for (int i = below(3); i >= 0; --i) d.statements.push_back(statement());
    return d;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  std::string name() { return std::string(1, static_cast<char>('a' + below(4))); }

  Term real() {
    Term t;
    t.kind = Term::kFloat;
    const double values[] = {0.5,
                             3.0,
                             1e-300,
                             6.02e23,
                             std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN(),
                             0.1};
    t.f = values[below(7)];
    return t;
  }

  Term access(int depth) {
    Term t;
    t.kind = Term::kAccess;
    t.name = name();
    t.args = terms(depth, 3);
    t.guarded = below(2) == 0;
    if (t.guarded) t.args.push_back(term(depth - 1));
    return t;
  }

  Term infix(int depth) {
    Term t;
    t.kind = Term::kInfix;
    t.infix = static_cast<Infix>(below(static_cast<int>(Infix::kMod) + 1));
    t.args = {term(depth - 1), term(depth - 1)};
    return t;
  }

  Term reduction(int depth) {
    Term t;
    t.kind = Term::kReduce;
    const char* names[] = {"sum", "max", "argmin", "any"};
    t.name = names[below(4)];
    if (below(3) == 0) t.type = "f64";
    t.ranges = ranges(depth, 1);
    t.args = {term(depth - 1)};
    return t;
  }

  std::vector<Range> ranges(int depth, int least) {
    std::vector<Range> list;
    for (int i = below(3) + least; i > 0; --i) {
      Range r;
      r.name = name();
      if (below(2)) r.bounds = {term(depth - 1), term(depth - 1)};
      list.push_back(std::move(r));
    }
    return list;
  }

  std::vector<Term> terms(int depth, int most) {
    std::vector<Term> list;
    for (int i = below(most); i > 0; --i) list.push_back(term(depth - 1));
    return list;
  }

  Statement statement() {
    Statement s;
    s.name = name();
    if (below(2)) s.type = "f32";
    s.indices = ranges(1, 0);
    for (Range& r : s.indices) {
      if (below(4) != 0) continue;
      r.at = {term(2)};
      if (r.at[0].kind == Term::kName) r.at.clear();  // that is an index
      if (!r.at.empty()) r.name.clear();
    }
    s.assign = static_cast<Assign>(below(4) == 0 ? 1 + below(4) : 0);
    s.skip = below(8) == 0;
    if (below(4) == 0) s.loops = ranges(1, 2);
    s.value = term(4);
    if (below(2)) s.where = {term(2)};
    if (!s.where.empty() && below(2)) s.otherwise = {term(2)};
    return s;
  }

  std::mt19937 random_;
};

/// What the parser makes of a text, printed; or the error.
std::string reprinted(const std::string& text) {
  Diagnostics diagnostics(std::make_shared<const Source>(Source{text, "", 1}));
  hone::ops::ScalarFunctions functions;
  Parser parser(diagnostics, 0, functions);
  const Definition d = parser.parse_op();
  return diagnostics.failed() ? diagnostics.failure().message : print(d);
}

/// Every kind of error names a place: `line:column: ...` and an underline.
void check_shape(const std::string& message) {
  const bool shaped = std::isdigit(static_cast<unsigned char>(message[0])) &&
                      message.find("\n  ") != std::string::npos &&
                      message.find('^') != std::string::npos;
  RC_ASSERT(shaped);
}

}  // namespace

TEST_CASE("ops syntax: what is printed parses to the same") {
  CHECK(rc::check("parse(print(x)) == x", [](uint32_t seed) {
    const std::string text = print(TermMaker(seed).definition());
    RC_ASSERT(reprinted(text) == text);
  }));
}

TEST_CASE("ops syntax: canonical text does not depend on spelling") {
  const char* spelled = R"(
    op  f < T = f32,S=2 >( A :T[M , K*S],  # comment
        alpha: f32 ) ->(Y:T[M]) {
      t[i,k] = A[i,
                 k] * (alpha)
             + (1.50 - 0.5)   # goes on
      ;;
      Y[i] = sum [ k ] ( (t[i,k]) * -(-t[i,k]) ); }
  )";
  const auto op = Op::parse(spelled);
  REQUIRE_MESSAGE(op, (op ? "" : op.failure().message));
  CHECK(op->text() ==
        "op f<T=f32, S=2>(A: T[M,K*S], alpha: f32) -> (Y: T[M]) { t[i,k] = A[i,k]*alpha + (1.5 - "
        "0.5); Y[i] = sum[k](t[i,k]*--t[i,k]) }");
}

TEST_CASE("ops syntax: else binds to the access alone") {
  const auto tree = [](const char* value) {
    return reprinted(std::string("op f(A: f32[M]) -> (Y: f32[M]) { Y[i] = ") + value + " }");
  };
  const auto same = [&](const char* a, const char* b) { CHECK(tree(a) == tree(b)); };
  same("A[i] else 0 * 2", "(A[i] else 0) * 2");
  same("-A[i] else -1 + 2", "(-(A[i] else (-1))) + 2");
  same("A[i] else A[i] else 0", "A[i] else (A[i] else 0)");
  same("a - b - c", "((a - b) - c)");
  same("a || b && c == d + e * f", "a || (b && (c == (d + (e * f))))");
}

TEST_CASE("ops syntax: hostile texts give an error or an op, never a crash") {
  std::vector<std::string> seeds;
  for (const auto& file : hone::ops::stock_files()) seeds.emplace_back(file.text.substr(0, 4000));
  CHECK(rc::check("mutated libraries", [&](uint32_t seed) {
    std::mt19937 random(seed);
    std::string text = seeds[random() % seeds.size()];
    const size_t from = random() % text.size();
    text = text.substr(from, 60 + random() % 600);
    for (int edits = static_cast<int>(random() % 6); edits >= 0; --edits) {
      const size_t at = random() % text.size();
      const char fresh = "[](){}<>=;,.:*/-+&|!#0 9zi\n\t\0\xff"[random() % 30];
      if (random() % 3 == 0) {
        text.erase(at, 1 + random() % 5);
      } else if (random() % 2) {
        text[at] = fresh;
      } else {
        text.insert(at, text.substr(random() % text.size(), random() % 20));
      }
      if (text.empty()) text = " ";
    }
    const auto library = parse_library(text, "");
    if (!library) return check_shape(library.failure().message);
    for (const Op& op : library->ops) RC_ASSERT(Op::parse(op.text()).value().text() == op.text());
  }));
  CHECK(rc::check("random bytes", [](const std::string& text) {
    const auto library = parse_library(text, "");
    if (!library) check_shape(library.failure().message);
    const auto problem = parse_problem(text);
    if (!problem) check_shape(problem.failure().message);
  }));
}

TEST_CASE("ops syntax: deep and wide texts are refused quickly") {
  const auto refused = [](const std::string& value, const char* what) {
    const auto op = Op::parse("op f(A: f32[M]) -> (Y: f32[M]) { Y[i] = " + value + " }");
    REQUIRE_FALSE(op);
    CHECK_MESSAGE(op.failure().message.find(what) != std::string::npos, op.failure().message);
  };
  const auto repeated = [](const std::string& s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  refused(repeated("(", 100000), "nested deeper than 200");
  refused(repeated("-", 100000) + "1", "nested deeper than 200");
  refused(repeated("A[", 100000), "nested deeper than 200");
  refused(repeated("A[i] else ", 50000) + "1", "nested deeper than 200");
  refused("1" + repeated("+1", 100000), "nested deeper than 200");
  refused("1" + repeated("+1", 600000), "longer than 1 MB");
  refused(std::string(100, 'x'), "longer than 64 characters");
  refused("99999999999999999999", "out of range");
  refused("sum[" + repeated("k,", 20) + "k](1)", "12 indices");
}
