// Reads UTF-16 texts of the DAC as UTF-8, with one retry when the buffer was too small.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "helpers/dac/com.h"

namespace mixstack::helper {

/// Lone surrogates become U+FFFD.
[[nodiscard]] std::string to_utf8(std::u16string_view text);

/// Texts longer than this are cut.
inline constexpr std::uint32_t kMaxWideText = 16u << 10;

/// Calls `get(size, needed, buffer)`, once more with a larger buffer if the DAC asks for it. Empty when it fails. The
/// DAC's lengths are not trusted: the text ends at the first NUL inside the buffer.
template <class Get>
[[nodiscard]] std::string wide_text(Get get) {
  std::vector<char16_t> buffer(512);
  for (int attempt = 0; attempt < 2; attempt++) {
    std::fill(buffer.begin(), buffer.end(), u'\0');
    std::uint32_t needed = 0;
    const HResult result = get(static_cast<std::uint32_t>(buffer.size()), &needed, buffer.data());
    const bool too_small = needed > buffer.size() && buffer.size() < kMaxWideText;
    if (too_small && attempt == 0) {
      buffer.resize(std::min(needed, kMaxWideText));
      continue;
    }
    if (!succeeded(result)) return {};
    break;
  }
  const auto end = std::find(buffer.begin(), buffer.end(), u'\0');
  return to_utf8({buffer.data(), static_cast<std::size_t>(end - buffer.begin())});
}

}  // namespace mixstack::helper
