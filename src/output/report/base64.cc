#include "output/report/base64.h"

namespace mixstack::report {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint32_t byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
}

}  // namespace

void write_base64(Writer& out, std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t three = byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2);
    const char group[] = {kDigits[three >> 18], kDigits[three >> 12 & 63],
                          i + 1 < bytes.size() ? kDigits[three >> 6 & 63] : '=',
                          i + 2 < bytes.size() ? kDigits[three & 63] : '='};
    out << std::string_view(group, 4);
  }
}

}  // namespace mixstack::report
