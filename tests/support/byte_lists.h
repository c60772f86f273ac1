// Bytes and instruction words written out by hand. For tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace mixstack::test {

inline std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> out;
  out.reserve(values.size());
  for (const unsigned v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

/// The instructions of a CPU whose instructions are words.
inline std::vector<std::byte> words_of(std::initializer_list<std::uint32_t> words) {
  std::vector<std::byte> out(words.size() * 4);
  if (words.size() != 0) std::memcpy(out.data(), words.begin(), out.size());
  return out;
}

}  // namespace mixstack::test
