// One client: reads its request, writes the answer, closes the connection. Never blocks.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/system/scoped_fd.h"
#include "output/serve/http_answer.h"
#include "output/serve/http_request.h"

namespace mixstack::serve {

class HttpConnection {
 public:
  using Clock = std::chrono::steady_clock;
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;
  static constexpr std::chrono::seconds kToAsk{10};   ///< most time from the connection to the end of its request
  static constexpr std::chrono::seconds kToTake{30};  ///< most time without taking a byte of the answer

  HttpConnection(base::ScopedFd socket, Clock::time_point now) : socket_(std::move(socket)), deadline_(now + kToAsk) {}

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] bool is_answering() const { return answering_; }
  /// Reads or writes without blocking. False: the connection has ended.
  [[nodiscard]] bool proceed(const Handler& handler, Clock::time_point now);
  [[nodiscard]] bool is_late(Clock::time_point now) const { return now >= deadline_; }

 private:
  bool read(const Handler& handler, Clock::time_point now);
  bool write(Clock::time_point now);
  void answer(const HttpAnswer& answer, Clock::time_point now);

  base::ScopedFd socket_;
  Clock::time_point deadline_;
  std::string request_;
  bool answering_ = false;
  std::string head_;
  std::shared_ptr<const std::string> body_;
  std::size_t sent_ = 0;  ///< of head and body
};

}  // namespace mixstack::serve
