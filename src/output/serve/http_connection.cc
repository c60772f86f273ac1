#include "output/serve/http_connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace mixstack::serve {
namespace {

bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

HttpAnswer answer_to(std::string_view head, const HttpConnection::Handler& handler) {
  const auto request = parse_request(head);
  return request ? handler(*request) : plain_answer(400);
}

}  // namespace

bool HttpConnection::proceed(const Handler& handler, Clock::time_point now) {
  return answering_ ? write(now) : read(handler, now);
}

bool HttpConnection::read(const Handler& handler, Clock::time_point now) {
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t size = recv(socket_.get(), piece.data(), piece.size(), 0);
    if (size < 0) return would_wait();
    if (size == 0) return false;
    request_.append(piece.data(), static_cast<std::size_t>(size));
    const std::size_t head = head_size(request_);
    if (head > kMostHead || (head == 0 && request_.size() > kMostHead)) {
      answer(plain_answer(431), now);
    } else if (head != 0) {
      answer(answer_to(std::string_view(request_).substr(0, head), handler), now);
    } else {
      continue;
    }
    return write(now);
  }
}

void HttpConnection::answer(const HttpAnswer& answer, Clock::time_point now) {
  answering_ = true;
  deadline_ = now + kToTake;
  head_ = head_of(answer);
  body_ = answer.status == 204 ? nullptr : answer.body;
}

bool HttpConnection::write(Clock::time_point now) {
  const std::size_t whole = head_.size() + (body_ ? body_->size() : 0);
  while (sent_ < whole) {
    const std::string_view rest = sent_ < head_.size() ? std::string_view(head_).substr(sent_)
                                                       : std::string_view(*body_).substr(sent_ - head_.size());
    const ssize_t size = send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (size < 0) return would_wait();
    sent_ += static_cast<std::size_t>(size);
    deadline_ = now + kToTake;
  }
  // Closing with unread input sends a reset, which may discard the answer at the client: end the stream first.
  shutdown(socket_.get(), SHUT_WR);
  return false;
}

}  // namespace mixstack::serve
