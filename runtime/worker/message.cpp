// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/message.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>

namespace hone::runtime {
namespace {

/// Chosen: patience with a loaded machine; more than any message has (not measured).
constexpr int kSendMs = 5000;            // to who does not read
constexpr size_t kMostLine = 64u << 20;  // bytes of what is still a message

}  // namespace

Message& Message::add(std::string_view name, std::string_view value) {
  std::string clean(value);
  for (char& c : clean) {
    if (c == '\t' || c == '\n') c = ' ';
  }
  fields.emplace_back(name, std::move(clean));
  return *this;
}

Message& Message::add(std::string_view name, int64_t value) {
  return add(name, std::string_view(std::to_string(value)));
}

Message& Message::add(std::string_view name, double value) {
  return add(name, std::string_view(fmt::format("{}", value)));
}

std::string_view Message::get(std::string_view name) const {
  for (const auto& field : fields) {
    if (field.first == name) return field.second;
  }
  return {};
}

int64_t Message::number(std::string_view name) const {
  const std::string_view text = get(name);
  int64_t v = 0;
  std::from_chars(text.data(), text.data() + text.size(), v);
  return v;
}

double Message::real(std::string_view name) const {
  const std::string text(get(name));
  return std::strtod(text.c_str(), nullptr);
}

std::string Message::line() const {
  std::string out = verb;
  for (const auto& field : fields) out += '\t' + field.first + '=' + field.second;
  return out + '\n';
}

Message Message::parse(std::string_view line) {
  Message m;
  size_t at = line.find('\t');
  m.verb = std::string(line.substr(0, at));
  while (at != std::string_view::npos) {
    const size_t start = at + 1;
    at = line.find('\t', start);
    const std::string_view field = line.substr(start, at == line.npos ? at : at - start);
    const size_t equals = field.find('=');
    if (equals == field.npos) continue;
    m.fields.emplace_back(field.substr(0, equals), field.substr(equals + 1));
  }
  return m;
}

bool Channel::send(const Message& message) {
  const std::string text = message.line();
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n =
        ::send(fd_, text.data() + done, text.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd p{fd_, POLLOUT, 0};
      const int ready = ::poll(&p, 1, kSendMs);
      if (ready > 0 || (ready < 0 && errno == EINTR)) continue;
      return false;
    }
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

/// A whole line of the buffer; nothing where there is none.
std::optional<Message> Channel::take_line() {
  const size_t end = buffer_.find('\n', searched_);
  searched_ = end == std::string::npos ? buffer_.size() : 0;
  if (end == std::string::npos) return std::nullopt;
  Message m = Message::parse(std::string_view(buffer_).substr(0, end));
  buffer_.erase(0, end + 1);
  return m;
}

std::optional<Message> Channel::receive(int timeout_ms, const std::stop_token& stop) {
  // Chosen: a stop that feels immediate (not measured).
  constexpr int kLookMs = 20;  // how often to look for a stop
  using Clock = std::chrono::steady_clock;
  timed_out_ = false;
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms < 0 ? 0 : timeout_ms);
  for (bool first = true;; first = false) {
    if (auto m = take_line()) return m;
    if (buffer_.size() > kMostLine) return std::nullopt;
    int wait = -1;
    if (timeout_ms >= 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      wait = left.count() > 0 ? static_cast<int>(left.count()) : 0;
    }
    if (stop.stop_requested()) return std::nullopt;
    const bool look = stop.stop_possible() && (wait < 0 || wait > kLookMs);
    pollfd p{fd_, POLLIN, 0};
    // Who writes without end does not keep us past the time.
    const bool over = wait == 0 && !first;
    const int ready = over ? 0 : ::poll(&p, 1, look ? kLookMs : wait);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && look) continue;
    if (ready == 0) {
      timed_out_ = true;
      return std::nullopt;
    }
    char chunk[1 << 16];
    const ssize_t n = ::read(fd_, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    buffer_.append(chunk, static_cast<size_t>(n));
  }
}

}  // namespace hone::runtime
