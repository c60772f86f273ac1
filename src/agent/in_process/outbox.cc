#include "agent/in_process/outbox.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace mixstack::agent {

bool Outbox::has_room() const {
  const std::lock_guard lock(mutex_);
  return bytes_ < kFull;
}

void Outbox::put(std::vector<std::byte> message) {
  {
    const std::lock_guard lock(mutex_);
    bytes_ += message.size();
    messages_.push_back(std::move(message));
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

void Outbox::put_first(std::vector<std::byte> message) {
  const std::lock_guard lock(mutex_);
  bytes_ += message.size();
  messages_.insert(messages_.begin() + (sent_ == 0 ? 0 : 1), std::move(message));
}

bool Outbox::is_empty() const {
  const std::lock_guard lock(mutex_);
  return messages_.empty();
}

bool Outbox::send_some(int fd) {
  const std::lock_guard lock(mutex_);
  while (!messages_.empty()) {
    const auto& first = messages_.front();
    const ssize_t n = ::send(fd, first.data() + sent_, first.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    sent_ += static_cast<std::size_t>(n);
    bytes_ -= static_cast<std::size_t>(n);
    if (sent_ < first.size()) continue;
    messages_.pop_front();
    sent_ = 0;
  }
  return true;
}

}  // namespace mixstack::agent
