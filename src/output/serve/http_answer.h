// Answers of HTTP/1.1. Each closes its connection.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace mixstack::serve {

struct HttpAnswer {
  unsigned status = 200;
  std::string_view type = "text/plain; charset=utf-8";
  std::string fields{};                          ///< further lines, each ended by CR LF
  std::shared_ptr<const std::string> body = {};  ///< null: none
};

/// Status line and fields. They forbid browsers to store, frame or sniff the answer, and other origins to read it.
[[nodiscard]] std::string head_of(const HttpAnswer& answer);

/// A status with its reason phrase as the body.
[[nodiscard]] HttpAnswer plain_answer(unsigned status);

}  // namespace mixstack::serve
