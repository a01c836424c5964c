// SPDX-License-Identifier: Apache-2.0
#include "ops/onnx/write.h"

#include <fmt/format.h>

#include <deque>
#include <fstream>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <system_error>

#include "ops/onnx/fields.h"
#include "ops/onnx/mapped_file.h"

namespace hone::onnx {
namespace {

/// Fixed by: onnx.proto, where data_location is EXTERNAL.
constexpr int64_t kElsewhere = 1;
/// Fixed by: protocol buffers, whose lengths have 31 bits.
constexpr size_t kLongestMessage = (size_t{1} << 31) - 1;

std::string_view view_of(const protozero::data_view& v) { return {v.data(), v.size()}; }

/// A message under way, as pieces: views of the file, and texts of its own.
class Pieces {
 public:
  void copy(std::string_view bytes) {
    // Neighbours in the file are one piece.
    if (!all_.empty() && all_.back().data() + all_.back().size() == bytes.data()) {
      all_.back() = {all_.back().data(), all_.back().size() + bytes.size()};
    } else {
      all_.push_back(bytes);
    }
    size_ += bytes.size();
  }
  void add(std::string bytes) {
    own_.push_back(std::move(bytes));
    all_.push_back(own_.back());
    size_ += own_.back().size();
  }
  /// A field that is a message.
  void add_message(uint32_t tag, std::string message) {
    std::string field;
    protozero::pbf_writer(field).add_message(tag, message);
    add(std::move(field));
  }
  /// The same of pieces, which have to live as long.
  void add_message(uint32_t tag, const Pieces& message) {
    std::string head;
    protozero::add_varint_to_buffer(&head, tag << 3 | 2);
    protozero::add_varint_to_buffer(&head, message.size_);
    add(std::move(head));
    for (const std::string_view part : message.all_) {
      all_.push_back(part);
      size_ += part.size();
    }
  }

  size_t size() const { return size_; }
  const std::vector<std::string_view>& all() const { return all_; }
  std::string text() const {
    std::string out;
    out.reserve(size_);
    for (const std::string_view part : all_) out += part;
    return out;
  }

 private:
  std::deque<std::string> own_;
  std::vector<std::string_view> all_;
  size_t size_ = 0;
};

/// Walks the fields of a message: the reader stands at each one, and `skipped` takes its bytes.
class Fields {
 public:
  explicit Fields(std::string_view bytes)
      : reader_(bytes.data(), bytes.size()), end_(bytes.data()) {}

  bool next() {
    begin_ = end_;
    return reader_.next();
  }
  /// Until the value is taken.
  uint32_t tag() const { return reader_.tag(); }
  bool is_bytes(uint32_t tag) const {
    return reader_.tag() == tag &&
           reader_.has_wire_type(protozero::pbf_wire_type::length_delimited);
  }
  bool is_number(uint32_t tag) const {
    return reader_.tag() == tag && reader_.has_wire_type(protozero::pbf_wire_type::varint);
  }
  /// The value of the field, which is taken.
  std::string_view bytes() {
    const std::string_view out = view_of(reader_.get_view());
    end_ = reader_.data().data();
    return out;
  }
  int64_t integer() {
    const int64_t out = reader_.get_int64();
    end_ = reader_.data().data();
    return out;
  }
  void skip() {
    reader_.skip();
    end_ = reader_.data().data();
  }
  /// The field with its tag, once it is taken.
  std::string_view whole() const { return {begin_, static_cast<size_t>(end_ - begin_)}; }

 private:
  protozero::pbf_reader reader_;
  const char* begin_ = nullptr;
  const char* end_;
};

/// The last text of a field in a message.
std::string_view text_in(std::string_view message, uint32_t tag) {
  std::string_view out;
  Fields fields(message);
  while (fields.next()) {
    if (fields.is_bytes(tag)) {
      out = fields.bytes();
    } else {
      fields.skip();
    }
  }
  return out;
}

bool is_elsewhere(std::string_view tensor) {
  bool elsewhere = false;
  Fields fields(tensor);
  while (fields.next()) {
    if (fields.is_number(TensorFields::kLocation)) {
      elsewhere = fields.integer() == kElsewhere;
    } else {
      fields.skip();
    }
  }
  return elsewhere;
}

std::string message_of(const NewNode& n) {
  std::string out;
  protozero::pbf_writer writer(out);
  for (const std::string& name : n.inputs) writer.add_string(NodeFields::kInput, name);
  for (const std::string& name : n.outputs) writer.add_string(NodeFields::kOutput, name);
  if (!n.name.empty()) writer.add_string(NodeFields::kName, n.name);
  writer.add_string(NodeFields::kOpType, n.op_type);
  if (n.axis) {
    std::string attribute;
    protozero::pbf_writer of(attribute);
    of.add_string(AttributeFields::kName, "axis");
    of.add_int64(AttributeFields::kI, *n.axis);
    of.add_int32(AttributeFields::kType, static_cast<int32_t>(AttributeKind::kInt));
    writer.add_message(NodeFields::kAttribute, attribute);
  }
  return out;
}

std::string message_of(const NewTensor& t) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_packed_int64(TensorFields::kDims, t.dims.begin(), t.dims.end());
  writer.add_int32(TensorFields::kType, static_cast<int32_t>(t.type));
  writer.add_string(TensorFields::kName, t.name);
  writer.add_bytes(TensorFields::kRaw, t.data);
  return out;
}

/// A node with other inputs and outputs.
std::string changed(std::string_view node, const NodeChange& change) {
  std::string out;
  {
    protozero::pbf_writer writer(out);
    for (const std::string& name : change.inputs) writer.add_string(NodeFields::kInput, name);
    for (const std::string& name : change.outputs) writer.add_string(NodeFields::kOutput, name);
  }
  Fields fields(node);
  while (fields.next()) {
    const uint32_t tag = fields.tag();
    fields.skip();
    if (tag != NodeFields::kInput && tag != NodeFields::kOutput) out += fields.whole();
  }
  return out;
}

/// The model under way.
class Editor {
 public:
  explicit Editor(const Edits& edits) : edits_(edits) {}

  Pieces& run(std::string_view model) {
    Fields fields(model);
    while (fields.next()) {
      if (fields.is_bytes(ModelFields::kGraph)) {
        edit_graph(fields.bytes());
        out_.add_message(ModelFields::kGraph, graph_);
      } else if (fields.is_bytes(ModelFields::kOpset)) {
        const std::string_view opset = fields.bytes();
        const std::string_view domain = text_in(opset, OpsetFields::kDomain);
        const bool own = domain.empty() || domain == "ai.onnx";
        if (edits_.opset > 0 && own) {
          add_opset(domain);
        } else {
          out_.copy(fields.whole());
        }
      } else {
        fields.skip();
        out_.copy(fields.whole());
      }
    }
    return out_;
  }

  /// Whether some tensor that stays has its data in another file.
  bool reads_elsewhere() const { return elsewhere_; }

 private:
  void add_opset(std::string_view domain) {
    std::string opset;
    protozero::pbf_writer writer(opset);
    if (!domain.empty()) writer.add_bytes(OpsetFields::kDomain, domain.data(), domain.size());
    writer.add_int64(OpsetFields::kVersion, edits_.opset);
    out_.add_message(ModelFields::kOpset, opset);
  }

  void edit_graph(std::string_view graph) {
    size_t node = 0;
    Fields fields(graph);
    while (fields.next()) {
      if (fields.is_bytes(GraphFields::kNode)) {
        const std::string_view message = fields.bytes();
        edit_node(node++, message, fields.whole());
        continue;
      }
      const bool initializer = fields.is_bytes(GraphFields::kInitializer),
                 input = fields.is_bytes(GraphFields::kInput);
      if (!initializer && !input) {
        fields.skip();
        graph_.copy(fields.whole());
        continue;
      }
      const std::string_view message = fields.bytes();
      const uint32_t name = initializer ? static_cast<uint32_t>(TensorFields::kName)
                                        : static_cast<uint32_t>(ValueInfoFields::kName);
      if (edits_.dropped.contains(text_in(message, name))) continue;
      elsewhere_ |= initializer && is_elsewhere(message);
      graph_.copy(fields.whole());
    }
    for (const NewTensor& t : edits_.tensors) {
      graph_.add_message(GraphFields::kInitializer, message_of(t));
    }
  }

  void edit_node(size_t i, std::string_view message, std::string_view whole) {
    const auto at = edits_.nodes.find(i);
    if (at == edits_.nodes.end()) return graph_.copy(whole);
    for (const NewNode& n : at->second.before)
      graph_.add_message(GraphFields::kNode, message_of(n));
    if (at->second.removed) return;
    if (at->second.inputs.empty()) return graph_.copy(whole);
    graph_.add_message(GraphFields::kNode, changed(message, at->second));
    if (at->second.kept) graph_.copy(whole);
  }

  const Edits& edits_;
  Pieces graph_, out_;
  bool elsewhere_ = false;
};

/// What `f` returns, or why the bytes are no message or too many.
template <class T, class F>
Result<T> guarded_edit(const F& f) {
  try {
    return f();
  } catch (const protozero::exception& fault) {
    return Failure{ErrorCode::kSyntax, fmt::format("this is no model of ONNX: {}", fault.what())};
  } catch (const std::bad_alloc&) {
    return Failure{ErrorCode::kMemory, "there is no memory left"};
  }
}

Failure too_long(size_t bytes) {
  return {ErrorCode::kUnsupported,
          fmt::format("the model would have {} bytes, and a file of ONNX has at most {}", bytes,
                      kLongestMessage)};
}

}  // namespace

Result<std::string> edited(std::string_view bytes, const Edits& edits) {
  return guarded_edit<std::string>([&]() -> Result<std::string> {
    Editor editor(edits);
    const Pieces& pieces = editor.run(bytes);
    if (pieces.size() > kLongestMessage) return too_long(pieces.size());
    return pieces.text();
  });
}

Result<Done> write_edited(const std::filesystem::path& from, const std::filesystem::path& to,
                          const Edits& edits) {
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(from);
  if (!file) return file.failure();
  return guarded_edit<Done>([&]() -> Result<Done> {
    Editor editor(edits);
    const Pieces& pieces = editor.run((*file)->bytes());
    if (pieces.size() > kLongestMessage) return too_long(pieces.size());
    std::error_code error;
    if (std::filesystem::equivalent(from, to, error)) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("{} is the file that is read; write another one", to.string())};
    }
    const auto folder = [](const std::filesystem::path& path) {
      return std::filesystem::weakly_canonical(std::filesystem::absolute(path).parent_path());
    };
    if (editor.reads_elsewhere() && folder(from) != folder(to)) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("{} has weights in other files of its folder; write the model "
                                 "into that folder as well",
                                 from.string())};
    }
    std::ofstream stream(to, std::ios::binary | std::ios::trunc);
    for (const std::string_view part : pieces.all()) {
      stream.write(part.data(), static_cast<std::streamsize>(part.size()));
    }
    stream.close();
    if (stream) return Done();
    return Failure{ErrorCode::kArgument, fmt::format("cannot write {}", to.string())};
  });
}

}  // namespace hone::onnx
