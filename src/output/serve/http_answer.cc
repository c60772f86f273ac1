#include "output/serve/http_answer.h"

#include <fmt/format.h>

namespace mixstack::serve {
namespace {

/// RFC 9110, section 15.
std::string_view reason(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Internal Server Error";
  }
}

}  // namespace

std::string head_of(const HttpAnswer& answer) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
  if (answer.status != 204)
    head +=
        fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", answer.type, answer.body ? answer.body->size() : 0);
  head += answer.fields;
  if (answer.fields.find("Content-Security-Policy") == std::string::npos)
    head += "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";
  return head +
         "Cache-Control: no-store\r\n"
         "X-Content-Type-Options: nosniff\r\n"
         "X-Frame-Options: DENY\r\n"
         "Referrer-Policy: no-referrer\r\n"
         "Cross-Origin-Resource-Policy: same-origin\r\n"
         "Cross-Origin-Opener-Policy: same-origin\r\n"
         "Connection: close\r\n\r\n";
}

HttpAnswer plain_answer(unsigned status) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = std::make_shared<const std::string>(std::string(reason(status)) + "\n");
  if (status == 405) answer.fields = "Allow: GET\r\n";
  return answer;
}

}  // namespace mixstack::serve
