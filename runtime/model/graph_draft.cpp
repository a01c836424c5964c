// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/graph_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ops/lexer.h"

namespace hone::runtime {
namespace {

/// Characters that an op's name leaves for the number behind it.
/// Chosen: more tensors than memory holds (not measured).
constexpr size_t kNumberRoom = 16;

std::string shape_text(const std::vector<GraphExtent>& shape) {
  std::string text;
  for (const GraphExtent& e : shape) text += (text.empty() ? "" : ",") + e.text();
  return text;
}

}  // namespace

bool is_graph_name(std::string_view name) {
  ops::Lexer lexer(name, 0);
  const ops::Token token = lexer.next();
  return token.kind == ops::Token::kName && token.text == name && !ops::is_reserved(name) &&
         name != "_";
}

size_t GraphDraft::add_named(Tensor t) {
  const std::string name = std::exchange(t.name, "");
  for (const GraphExtent& e : t.shape) take_words(e.text());
  tensors.push_back(std::move(t));
  take_name(tensors.size() - 1, name);
  return tensors.size() - 1;
}

size_t GraphDraft::add_made(std::string_view op) {
  Tensor t;
  t.name = fresh_name(op);
  t.own_name = true;
  names.emplace(t.name, tensors.size());
  tensors.push_back(std::move(t));
  return tensors.size() - 1;
}

void GraphDraft::take_name(size_t tensor, std::string_view name) {
  if (!is_graph_name(name)) {
    errors.push_back(
        fmt::format("`{}` cannot name a tensor; names are letters, digits and _, and "
                    "no words of the language",
                    name));
    return;
  }
  Tensor& t = tensors[tensor];
  const bool here = t.own_name && t.name == name;
  if (!here) rename(name);
  if (!here && names.contains(name)) {
    errors.push_back(fmt::format("`{}` already names a tensor; choose another name", name));
    return;
  }
  if (t.own_name) names.erase(t.name);
  t.name = name;
  t.own_name = false;
  names.emplace(t.name, tensor);
}

void GraphDraft::take_words(std::string_view expression) {
  ops::Lexer lexer(expression, 0);
  for (ops::Token token = lexer.next(); token.kind != ops::Token::kEnd; token = lexer.next()) {
    if (token.kind != ops::Token::kName) continue;
    words.emplace(token.text);
    rename(token.text);
  }
}

/// Another name for the tensor that was given this one here, if one was.
void GraphDraft::rename(std::string_view name) {
  const auto at = names.find(name);
  if (at == names.end() || !tensors[at->second].own_name) return;
  const size_t tensor = at->second;
  std::string other = fresh_name(name.substr(0, name.rfind('_')));
  names.erase(at);
  names.emplace(other, tensor);
  tensors[tensor].name = std::move(other);
}

std::string GraphDraft::fresh_name(std::string_view op) {
  const std::string base(op.substr(0, ops::kMaxName - kNumberRoom));
  int& number = numbers[base];
  std::string name;
  do {
    name = fmt::format("{}_{}", base, ++number);
  } while (names.contains(name) || words.contains(name));
  return name;
}

/// The left side of what a node makes, with the ranges that are stated.
std::string GraphDraft::left_of(size_t tensor, const std::vector<GraphExtent>* shape) const {
  if (!shape) return tensors[tensor].name;
  std::string indices;
  for (size_t i = 0; i < shape->size(); ++i) {
    std::string index = fmt::format("i{}", i);
    while (names.contains(index) || words.contains(index)) index += '_';
    const std::string& extent = (*shape)[i].text();
    indices += (i > 0 ? "," : "") + index;
    if (!extent.empty()) indices += " in 0.." + extent;
  }
  return fmt::format("{}[{}]", tensors[tensor].name, indices);
}

std::string GraphDraft::text_of(const Node& node) const {
  bool any = false;
  for (size_t i = 0; i < node.count; ++i) {
    any |= tensors[node.first + i].read || tensors[node.first + i].output;
  }
  std::string text;
  for (size_t i = 0; i < node.count; ++i) {
    const Tensor& t = tensors[node.first + i];
    const auto* shape = i < node.options.shapes.size() ? &node.options.shapes[i] : nullptr;
    // Where nothing at all is read, the error is to name it.
    const bool omitted = any && !t.read && !t.output;
    text += (i > 0 ? ", " : "") + (omitted ? "_" : left_of(node.first + i, shape));
  }
  text += " = " + node.op;
  std::string params, args;
  for (const auto& [name, value] : node.options.params) {
    params += fmt::format("{}{}={}", params.empty() ? "" : ", ", name, value);
  }
  if (!params.empty()) text += "<" + params + ">";
  for (size_t i = 0; i < node.args.size(); ++i) {
    args +=
        (i > 0 ? ", " : "") + (node.args[i].empty() ? tensors[node.reads[i]].name : node.args[i]);
  }
  return text + "(" + args + ")";
}

std::string GraphDraft::text() const {
  std::string given, made;
  for (const Tensor& t : tensors) {
    if (t.kind == Tensor::kMade) continue;
    given += fmt::format("{}{}{}: {}[{}]", given.empty() ? "" : ", ",
                         t.kind == Tensor::kWeight ? "const " : "", t.name, name_of(t.type),
                         shape_text(t.shape));
  }
  for (const size_t v : outputs) made += (made.empty() ? "" : ", ") + tensors[v].name;
  std::string out = fmt::format("{}graph {}({}) -> ({}) {{\n", ops, name, given, made);
  for (const Node& n : nodes) out += "  " + text_of(n) + "\n";
  return out + "}\n";
}

}  // namespace hone::runtime
