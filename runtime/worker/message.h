// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::runtime {

/// One line between the tuner and a worker: `verb<TAB>name=value<TAB>...`. Values hold anything
/// but tabs and newlines, which canonical texts never do; others are replaced by blanks.
struct Message {
  std::string verb;
  std::vector<std::pair<std::string, std::string>> fields;

  Message& add(std::string_view name, std::string_view value);
  Message& add(std::string_view name, int64_t value);
  Message& add(std::string_view name, double value);
  /// The value of a field, "" if absent.
  std::string_view get(std::string_view name) const;
  int64_t number(std::string_view name) const;
  double real(std::string_view name) const;
  /// One line with its newline.
  std::string line() const;
  static Message parse(std::string_view line);
};

/// Lines over a socket.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  /// False when the other side is gone, or does not read.
  bool send(const Message& message);
  /// The next message; nothing when the other side is gone or sends no lines, `timeout_ms` (-1:
  /// none) has passed, or soon after `stop` is requested.
  std::optional<Message> receive(int timeout_ms, const std::stop_token& stop = {});
  /// After `receive` gave nothing: whether the time was up.
  bool timed_out() const { return timed_out_; }

 private:
  std::optional<Message> take_line();

  int fd_;
  bool timed_out_ = false;
  std::string buffer_;
  size_t searched_ = 0;  ///< so far without a newline
};

}  // namespace hone::runtime
