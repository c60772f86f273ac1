// Answers of HTTP/1.1, each the last of its connection.
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

/// Status line and fields: nothing is to be stored, framed, sniffed or read by other origins.
[[nodiscard]] std::string head_of(const HttpAnswer& answer);

/// A status without content but its own words.
[[nodiscard]] HttpAnswer plain_answer(unsigned status);

}  // namespace mixstack::serve
