// LINK: mixstack_output_push
// Files of the spool: what is read of them is what would have been written, and leads to a URL and nothing else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "output/push/spool_entry.h"

using namespace mixstack::push;

namespace {

void require(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto entry = decode_spool_entry(bytes);
  if (!entry) return 0;
  const std::string url = url_of(entry->target, entry->request);
  require(url.starts_with("http://") || url.starts_with("https://"));
  for (const char c : url) require(c > 0x20 && c < 0x7f);
  const auto again = decode_spool_entry(encode_spool_entry(entry->target, entry->request));
  require(again.has_value() && *again == *entry);
  return 0;
}
