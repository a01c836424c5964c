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
    const ssize_t n = ::send(fd_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

std::optional<Message> Channel::receive(int timeout_ms, const std::stop_token& stop) {
  constexpr int kLookMs = 20;  // how often to look for a stop
  using Clock = std::chrono::steady_clock;
  timed_out_ = false;
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms < 0 ? 0 : timeout_ms);
  while (true) {
    if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
      Message m = Message::parse(std::string_view(buffer_).substr(0, end));
      buffer_.erase(0, end + 1);
      return m;
    }
    int wait = -1;
    if (timeout_ms >= 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      wait = left > 0 ? static_cast<int>(left) : 0;
    }
    if (stop.stop_requested()) return std::nullopt;
    const bool look = stop.stop_possible() && (wait < 0 || wait > kLookMs);
    pollfd p{fd_, POLLIN, 0};
    const int ready = ::poll(&p, 1, look ? kLookMs : wait);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && look) continue;
    if (ready == 0) {
      timed_out_ = true;
      return std::nullopt;
    }
    char chunk[4096];
    const ssize_t n = ::read(fd_, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    buffer_.append(chunk, static_cast<size_t>(n));
  }
}

}  // namespace hone::runtime
