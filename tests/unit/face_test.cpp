// SPDX-License-Identifier: Apache-2.0
//
// The public face: what an op and a kernel say of themselves, what an engine says of its memory and
// its cache, and that nothing throws without a twin that does not.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "tests/support/source_root.h"

namespace fs = std::filesystem;
using namespace hone;

namespace {

std::string header(const std::string& name) {
  std::ifstream file(tests::source_root() + "/include/hone/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The classes of a header: name and text up to the next one.
std::vector<std::pair<std::string, std::string>> classes_of(const std::string& text) {
  const std::regex begin("\nclass HONE_API (\\w+)[^;\n]*\\{");
  std::vector<std::pair<std::string, std::string>> out;
  std::vector<size_t> at;
  for (auto i = std::sregex_iterator(text.begin(), text.end(), begin); i != std::sregex_iterator();
       ++i) {
    out.emplace_back((*i)[1], "");
    at.push_back(static_cast<size_t>(i->position()));
  }
  for (size_t i = 0; i < at.size(); ++i) {
    const size_t end = text.find(" private:", at[i]);
    out[i].second = text.substr(at[i], end - at[i]);
  }
  return out;
}

/// Names before a parenthesis.
std::set<std::string> members(const std::string& text) {
  const std::regex call("(operator\\(\\)|\\w+)\\(");
  std::set<std::string> names;
  for (auto i = std::sregex_iterator(text.begin(), text.end(), call); i != std::sregex_iterator();
       ++i) {
    names.insert((*i)[1]);
  }
  return names;
}

/// The members of a class that throw by their definitions, which stand in the engine's sources.
std::set<std::string> raising(const std::string& name) {
  std::set<std::string> names;
  for (const auto& e : fs::recursive_directory_iterator(tests::source_root() + "/runtime/engine")) {
    if (e.path().extension() != ".cpp") continue;
    std::ifstream file(e.path());
    std::string member, line;
    while (std::getline(file, line)) {
      static const std::regex definition("^[A-Za-z].*?\\b(\\w+)::(~?\\w+)\\(.*");
      std::smatch m;
      if (std::regex_match(line, m, definition)) member = m[1] == name ? m[2].str() : "";
      const bool raises = line.find("raise(") != std::string::npos ||
                          line.find("value_or_raise(") != std::string::npos;
      if (raises && !member.empty()) names.insert(member);
      if (line == "}") member.clear();
    }
  }
  return names;
}

/// The members whose comment says that they throw.
std::set<std::string> throwing(const std::string& text) {
  const std::regex documented(
      "((?:  ///[^\n]*\n)+)(  template[^\n]*\n)?  [^\n/]*?(operator\\(\\)|\\w+)\\(");
  std::set<std::string> names;
  for (auto i = std::sregex_iterator(text.begin(), text.end(), documented);
       i != std::sregex_iterator(); ++i) {
    if ((*i)[1].str().find("Throws") != std::string::npos) names.insert((*i)[3]);
  }
  return names;
}

Engine engine() { return Engine({.cache = ":memory:"}); }

}  // namespace

TEST_CASE("face: every member that throws has a twin that does not") {
  int twins = 0;
  for (const char* file : {"hone.h", "kernel.h", "bound.h", "device.h", "graph_builder.h"}) {
    for (const auto& [name, text] : classes_of(header(file))) {
      const std::set<std::string> all = members(text);
      const auto twin = [&](const std::string& member) {
        if (member == name) return std::string("try_create");
        return member == "operator()" ? std::string("try_call") : "try_" + member;
      };
      std::set<std::string> throws = throwing(text);
      throws.merge(raising(name));
      for (const std::string& member : throws) {
        // What templates in the header call has twins beside it.
        if (all.count(member) == 0) continue;
        CHECK_MESSAGE(all.count(twin(member)) == 1, name << "::" << member);
        ++twins;
      }
      for (const std::string& member : all) {
        if (!member.starts_with("try_") || member == "try_create" || member == "try_call") continue;
        CHECK_MESSAGE(all.count(member.substr(4)) == 1, name << "::" << member);
      }
    }
  }
  CHECK(twins >= 30);
}

TEST_CASE("face: a bound kernel has all that a kernel has") {
  std::set<std::string> bound;
  for (const auto& [name, text] : classes_of(header("bound.h"))) {
    if (name == "Bound") bound = members(text);
  }
  for (const auto& [name, text] : classes_of(header("kernel.h"))) {
    if (name != "Kernel") continue;
    for (const std::string& member : members(text)) {
      if (member.starts_with("with_refs") || member == "to_arg" || member == "forward") continue;
      CHECK_MESSAGE(bound.count(member) == 1, member);
    }
  }
}

TEST_CASE("face: what throws is seen in the engine's sources") {
  const std::set<std::string> engine = raising("Engine"), kernel = raising("Kernel");
  CHECK(engine.count("add_ops") == 1);
  CHECK(kernel.count("enqueue_list") == 1);
  CHECK(kernel.count("bind") == 1);
  CHECK(kernel.count("try_bind") == 0);
}

TEST_CASE("face: a bug is an error too") {
  try {
    throw InternalError("planted");
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::kInternal);
    CHECK(std::string(e.what()) == "planted");
  }
}

TEST_CASE("face: an op names its parameters") {
  const Op op = Op::parse(
      "op f<T=f16>(X: T[M,2*N], s: f32, ids: i32[M], inout A: T[N]) -> (Y: T[M]) "
      "{ Y[i] = sum[j](X[i,j])*cast<T>(s); A[k] += X[0,k]*cast<T>(ids[0]) }");
  const std::vector<Param> params = op.params();
  REQUIRE(params.size() == 5);
  CHECK(params[0].name == "X");
  CHECK(params[0].role == Role::kInput);
  CHECK(params[0].type == DType::kF16);
  CHECK(params[0].type_param == "T");
  REQUIRE(params[0].shape.size() == 2);
  CHECK(params[0].shape[1].text == "2*N");
  CHECK(params[0].shape[1].value == -1);
  CHECK(params[1].role == Role::kScalar);
  CHECK(params[1].type_param.empty());
  CHECK(params[2].type == DType::kI32);
  CHECK(params[3].role == Role::kInOut);
  CHECK(params[4].role == Role::kOutput);
  CHECK(name_of(params[4].role) == "output");
}

TEST_CASE("face: a kernel says what it takes") {
  const Kernel k = engine().compile("fc_relu M=1..64 N=12 K=8 W@N,K const=W,b cold=A,W");
  std::vector<std::string> names;
  for (const Param& p : k.params()) names.push_back(p.name);
  CHECK(names == std::vector<std::string>{"A", "W", "b", "Y"});
  const auto& a = k.params()[0];
  CHECK(a.shape[0].text == "M");
  CHECK(a.shape[0].value == -1);
  CHECK(a.shape[1].value == 8);
  CHECK(a.strides == std::vector<int64_t>{8, 1});
  const auto& w = k.params()[1];
  CHECK(w.constant);
  CHECK(w.cold);
  CHECK(a.cold);
  CHECK_FALSE(k.params()[2].cold);
  CHECK(w.shape[0].value == 8);
  CHECK(w.strides == std::vector<int64_t>{1, 8});  // stored as N,K
  const std::vector<float> weights(96, 1), bias(12, 0), x(8, 1);
  const Bound bound = k.bind("W", weights).bind("b", bias);
  CHECK(bound.params().size() == 4);
  CHECK(bound.schedule() == k.schedule());
  CHECK(bound.workspace_size() == k.workspace_size());
  CHECK(bound.memory().constants == bound.bytes());
  CHECK(bound.memory().call == k.workspace_size());
  CHECK(k.memory().constants == 0);
  const Bound again = bound.bind(bound);
  std::vector<float> y(12);
  again(TensorRef(x.data(), {1, 8}), TensorRef(y.data(), {1, 12}));
  CHECK(y[11] == 8);
}

TEST_CASE("face: an engine lists its ops, the added ones first") {
  Engine e = engine();
  const size_t stock = e.ops().size();
  CHECK(stock > 50);
  e.add_ops("op twice(X: f32[N]) -> (Y: f32[N]) { Y[i] = 2*X[i] }");
  e.add_ops("op relu(X: f32[N]) -> (Y: f32[N]) { Y[i] = max(X[i], 0.0) }");
  const std::vector<Op> ops = e.ops();
  CHECK(ops.size() == stock + 1);
  CHECK(ops[0].name() == "twice");
  CHECK(ops[1].name() == "relu");
  CHECK(std::count_if(ops.begin(), ops.end(), [](const Op& o) { return o.name() == "relu"; }) == 1);
}

TEST_CASE("face: records go out and come back, and those that make no sense are told") {
  Engine e = engine();
  CHECK(e.verify_cache().records == 0);
  const auto wrong = e.try_import_cache("problem: relu N=100\nnonsense\n", "mine");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.failure().message.find("mine") != std::string::npos);
  if (e.target().find("isa=none") != std::string::npos) return;
  e.tune("relu N=100", {.trials = 2});
  const std::string text = e.export_cache();
  Engine other = engine();
  CHECK(other.import_cache(text).records >= 1);
  CHECK(other.export_cache() == text);
  CHECK(other.verify_cache().flaws.empty());
  // A problem that there is not.
  std::string strange = text;
  strange.replace(strange.find("relu"), 4, "rely");
  const CacheReport report = other.import_cache(strange);
  REQUIRE(report.flaws.size() >= 1);
  CHECK(report.flaws[0].record.find("rely N=100") != std::string::npos);
  CHECK(report.flaws[0].flaw.find("rely") != std::string::npos);
}

TEST_CASE("face: an engine says what memory it has in use") {
  Engine e = engine();
  const EngineMemory before = e.memory();
  CHECK(before.ceiling > 0);
  const Kernel k = e.compile("fc M=4 N=64 K=64 const=W");
  const std::vector<float> w(64 * 64, 1);
  const auto bound = k.bind("W", w);
  const EngineMemory after = e.memory();
  CHECK(after.used >= before.used + bound.bytes());
  CHECK(after.code >= before.code);
}
