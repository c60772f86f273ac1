// LINK: mixstack_output_serve
// Whatever a client sends to the page server: heads, and what the site answers to those that are requests.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "output/serve/http_request.h"
#include "output/serve/page_site.h"

namespace {

using namespace mixstack::serve;

void require(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t head = head_size(bytes);
  require(head <= size);
  const auto request = parse_request(bytes.substr(0, head));
  if (!request) return 0;
  require(head != 0 && request->path.starts_with('/'));
  for (const char c : request->path) require(c > 0x20 && c < 0x7f);
  static PageSite site("fuzz", "0123456789abcdef");
  site.set_port(80);
  const HttpAnswer answer = site.answer(*request);
  if (answer.status == 200) require(request->host.ends_with(":80") && request->path.starts_with(site.path()));
  // Nothing a client sent is in a head.
  const std::string text = head_of(answer);
  require(text.find("\r\n\r\n") == text.size() - 4);
  return 0;
}
