// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace hone::runtime {
namespace {

/// Fixed by: the format. What a file begins with; two bytes of its version follow.
constexpr std::string_view kMagic("\x93NUMPY", 6);
/// Fixed by: the format. Elements of a file that NumPy writes begin at a multiple of this.
constexpr size_t kHeaderUnit = 64;
/// Longer headers are of no array: one of 64 dims takes less.
/// Fixed by: what NumPy itself reads without being asked to.
constexpr size_t kMostHeader = 10000;

/// What a header says.
struct NpyHeader {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;
};

/// Reads the literal of a Python dict: three keys, whose values are a string, a bool and a tuple.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Result<NpyHeader> run() {
    NpyHeader out;
    bool seen[3] = {};
    if (!take('{')) return expected("`{`");
    while (!take('}')) {
      const size_t begin = at_;
      std::string key;
      if (!read_string(&key)) return expected("a key in quotes");
      if (!take(':')) return expected("`:`");
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0 || seen[which]) {
        at_ = begin;
        return expected("each of the keys descr, fortran_order and shape once");
      }
      seen[which] = true;
      if (which == 0 && !read_string(&out.descr)) {
        return expected("a type in quotes; records of several fields are not read");
      }
      if (which == 1 && !read_bool(&out.fortran)) return expected("True or False");
      if (which == 2 && !read_shape(&out.shape)) return expected("a tuple of extents, as (2, 3)");
      if (!take(',') && peek() != '}') return expected("`,` or `}`");
    }
    if (!seen[0] || !seen[1] || !seen[2]) {
      return expected("each of the keys descr, fortran_order and shape once");
    }
    skip();
    if (at_ != text_.size()) return expected("the end of the header");
    return out;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::string_view(" \n\t\r").find(text_[at_]) != text_.npos) ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  bool read_string(std::string* out) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return false;
    const size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) return false;
    *out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }

  bool read_bool(bool* out) {
    skip();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      *out = value;
      return true;
    }
    return false;
  }

  bool read_shape(std::vector<int64_t>* out) {
    if (!take('(')) return false;
    while (!take(')')) {
      int64_t extent = 0;
      skip();
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) return false;
      at_ += static_cast<size_t>(end - begin);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote them
      out->push_back(extent);
      if (!take(',') && peek() != ')') return false;
    }
    return true;
  }

  Failure expected(std::string_view what) {
    skip();
    return {ErrorCode::kArgument, fmt::format("byte {} of its header: {} is expected", at_, what)};
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// One element of what a file holds of tensors of `type`, in bytes.
size_t unit_of(DType type) { return static_cast<size_t>(size_of(type)); }

/// None where they are more than numbers of 64 bits have.
std::optional<int64_t> bytes_of(const std::vector<int64_t>& shape, size_t unit) {
  // No extent of an array that has one of 0 counts.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  auto bytes = static_cast<int64_t>(unit);
  for (const int64_t extent : shape) {
    if (bytes > std::numeric_limits<int64_t>::max() / extent) return {};
    bytes *= extent;
  }
  return bytes;
}

/// Is `descr` the type of that name? Of single bytes, and of machines whose order of bytes is this,
/// files say so in several ways.
bool is_type(std::string_view descr, std::string_view wanted) {
  if (descr.empty() || descr.substr(1) != wanted.substr(1)) return false;
  return descr[0] == '<' || descr[0] == '=' || descr[0] == '|' || wanted[0] == '|';
}

/// Puts elements that lie with the first dim innermost in row-major order.
TensorMemory row_major(const TensorMemory& given, const std::vector<int64_t>& shape, size_t unit,
                       size_t bytes) {
  TensorMemory out(bytes);
  std::vector<int64_t> index(shape.size(), 0), strides(shape.size());
  int64_t stride = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    strides[d] = stride;
    stride *= shape[d];
  }
  int64_t from = 0;
  for (size_t to = 0; to < bytes; to += unit) {
    std::memcpy(out.data() + to, given.data() + static_cast<size_t>(from) * unit, unit);
    for (size_t d = shape.size(); d-- > 0;) {
      from += strides[d];
      if (++index[d] < shape[d]) break;
      from -= index[d] * strides[d];
      index[d] = 0;
    }
  }
  return out;
}

/// A file that is read, whose errors name it.
class NpyFile {
 public:
  explicit NpyFile(const std::string& path) : path_(path), stream_(path, std::ios::binary) {}

  Result<NpyArray> read(DType type) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path_, error);
    if (!stream_ || error) {
      return Failure{ErrorCode::kNotFound, fmt::format("{} cannot be read", path_)};
    }
    left_ = size;
    std::string text;
    if (auto f = read_header_text(&text); !f) return f.failure();
    const auto header = HeaderReader(text).run();
    if (!header) return wrong(header.failure().message);
    const std::string wanted = npy_type_of(type);
    if (!is_type(header->descr, wanted)) return wrong_type(*header, wanted, type);
    const auto bytes = bytes_of(header->shape, unit_of(type));
    if (!bytes || static_cast<uint64_t>(*bytes) != left_) {
      return wrong(
          fmt::format("{} bytes follow its header, and an array of {} and shape ({}) has {}", left_,
                      header->descr, fmt::join(header->shape, ", "),
                      bytes ? fmt::format("{}", *bytes) : "more than any file"));
    }
    NpyArray out;
    out.shape = header->shape;
    const auto room = static_cast<size_t>(*bytes);
    out.memory = TensorMemory(room);
    if (!take(out.memory.data(), room)) return wrong("its elements cannot be read");
    if (auto f = check_bools(type, out.memory, room); !f) return f.failure();
    if (header->fortran && room > 0 && out.shape.size() > 1) {
      out.memory = row_major(out.memory, out.shape, unit_of(type), room);
    }
    return out;
  }

 private:
  bool take(void* to, size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return bytes == 0 ||
           stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)).good();
  }

  Failure wrong(std::string_view what) const {
    return {ErrorCode::kArgument, fmt::format("{}: {}", path_, what)};
  }

  Failure wrong_type(const NpyHeader& header, const std::string& wanted, DType type) const {
    const bool big = header.descr.starts_with(">");
    return wrong(fmt::format("its elements are `{}`{}; for {} `{}` is accepted", header.descr,
                             big ? ", with the highest byte first" : "", name_of(type), wanted));
  }

  Result<Done> read_header_text(std::string* text) {
    unsigned char begin[8];
    if (!take(begin, sizeof begin) || std::memcmp(begin, kMagic.data(), kMagic.size()) != 0) {
      return wrong("it does not begin as .npy files do, with \\x93NUMPY and a version");
    }
    const int version = begin[6];
    if (version < 1 || version > 3 || begin[7] != 0) {
      return wrong(fmt::format("its version is {}.{}; 1.0, 2.0 and 3.0 are accepted", version,
                               static_cast<int>(begin[7])));
    }
    unsigned char length[4] = {};
    if (!take(length, version == 1 ? 2 : 4)) return wrong("it ends within its header");
    const size_t bytes =
        length[0] | size_t{length[1]} << 8 | size_t{length[2]} << 16 | size_t{length[3]} << 24;
    if (bytes > kMostHeader) {
      return wrong(
          fmt::format("its header says that it has {} bytes; {} are the most", bytes, kMostHeader));
    }
    text->resize(bytes);
    if (!take(text->data(), bytes)) {
      return wrong(fmt::format("it ends within its header, which should have {} bytes", bytes));
    }
    return Done{};
  }

  Result<Done> check_bools(DType type, const TensorMemory& memory, size_t bytes) const {
    for (size_t i = 0; type == DType::kBool && i < bytes; ++i) {
      const int value = static_cast<int>(memory.data()[i]);
      if (value <= 1) continue;
      return wrong(fmt::format("element {} is {}; elements of bool are 0 or 1", i, value));
    }
    return Done{};
  }

  const std::string& path_;
  std::ifstream stream_;
  uint64_t left_ = 0;  ///< bytes that were not read yet
};

}  // namespace

TensorMemory::TensorMemory(size_t bytes)
    : owned_(std::make_unique_for_overwrite<std::byte[]>(bytes + kTensorAlignment)) {
  void* data = owned_.get();
  size_t room = bytes + kTensorAlignment;
  data_ = static_cast<std::byte*>(std::align(kTensorAlignment, bytes, data, room));
}

std::string npy_type_of(DType type) {
  if (type == DType::kBool) return "|b1";
  if (type == DType::kBF16) return "<u2";
  if (size_of(type) == 1) return type == DType::kI8 ? "|i1" : "|u1";
  return fmt::format("<{}{}", is_float(type) ? 'f' : 'i', size_of(type));
}

std::vector<int64_t> npy_shape_of(DType type, std::vector<int64_t> shape) {
  if (!is_packed(type)) return shape;
  if (shape.empty()) return {1};
  shape.back() = bytes_of_row(type, shape.back());
  return shape;
}

Result<NpyArray> read_npy(const std::string& path, DType type) { return NpyFile(path).read(type); }

Result<Done> write_npy(const std::string& path, const TensorRef& tensor) {
  std::vector<int64_t> shape;
  for (int i = 0; i < tensor.rank(); ++i) shape.push_back(tensor.extent(i));
  shape = npy_shape_of(tensor.type(), std::move(shape));
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                  npy_type_of(tensor.type()), fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const size_t before = kMagic.size() + 4;
  text.append(kHeaderUnit - (before + text.size() + 1) % kHeaderUnit, ' ');
  text += '\n';
  std::ofstream file(path, std::ios::binary);
  file << kMagic << '\x01' << '\0' << static_cast<char>(text.size() & 255)
       << static_cast<char>(text.size() >> 8) << text;
  const auto bytes = static_cast<std::streamsize>(*bytes_of(shape, unit_of(tensor.type())));
  if (bytes > 0) file.write(static_cast<const char*>(tensor.data()), bytes);
  file.close();
  if (file) return Done{};
  return Failure{ErrorCode::kArgument, fmt::format("{} cannot be written", path)};
}

}  // namespace hone::runtime
