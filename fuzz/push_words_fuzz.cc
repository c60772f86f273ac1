// LINK: mixstack_output_push
// What people type for --push and put into header files, and what an OTLP server answers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "output/formats/otlp.h"
#include "output/push/push_target.h"

using namespace mixstack::push;

namespace {

void require(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto target = parse_push_target(text)) {
    for (const char c : target->url) require(c > 0x20 && c < 0x7f && c != '@' && c != '?' && c != '#');
  }
  if (const auto label = parse_push_label(text)) require(!label->name.empty() && !label->value.empty());
  require(is_push_name(push_name_of(text)));
  if (const auto headers = parse_push_headers(text))
    for (const std::string& header : *headers) {
      require(header.find(':') != std::string::npos);
      for (const char c : header) require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    }
  if (const auto answer = mixstack::formats::read_otlp_answer(text)) require(answer->words.size() <= size);
  return 0;
}
