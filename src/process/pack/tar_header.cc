#include "process/pack/tar_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace mixstack::pack {
namespace {

struct Field {
  std::size_t offset, size;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUser{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kChecksum{148, 8}, kMagic{257, 6}, kVersion{263, 2}, kPrefix{345, 155};
constexpr std::size_t kType = 156;
constexpr std::uint64_t kMostInOctal = (std::uint64_t{1} << 33) - 1;  // eleven digits

[[nodiscard]] std::string_view text_of(std::span<const std::byte> block, Field f) {
  const auto* text = reinterpret_cast<const char*>(block.data() + f.offset);
  return {text, strnlen(text, f.size)};
}

[[nodiscard]] std::optional<std::uint64_t> number_of(std::span<const std::byte> block, Field f) {
  const auto bytes = block.subspan(f.offset, f.size);
  if ((bytes[0] & std::byte{0x80}) != std::byte{0}) {
    // GNU: the rest is a big-endian number.
    std::uint64_t value = std::to_integer<std::uint64_t>(bytes[0] & std::byte{0x7f});
    for (const std::byte b : bytes.subspan(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | std::to_integer<std::uint64_t>(b);
    }
    return value;
  }
  std::string_view text = text_of(block, f);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (text.empty()) return 0;
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The sum of all bytes, those of the checksum itself taken as spaces.
[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); i++)
    sum += i >= kChecksum.offset && i < kChecksum.offset + kChecksum.size ? ' ' : std::to_integer<unsigned>(block[i]);
  return sum;
}

using Block = std::array<std::byte, kTarBlock>;

void put(Block& block, Field f, std::string_view text) {
  std::memcpy(block.data() + f.offset, text.data(), std::min(text.size(), f.size));
}

[[nodiscard]] Block ustar(std::string_view prefix, std::string_view name, std::uint64_t size, std::uint64_t time,
                          char type) {
  Block block{};
  put(block, kName, name);
  put(block, kPrefix, prefix);
  put(block, kMode, "0000600");
  put(block, kUser, "0000000");
  put(block, kGroup, "0000000");
  put(block, kSize, fmt::format("{:011o}", std::min(size, kMostInOctal)));
  put(block, kTime, fmt::format("{:011o}", std::min(time, kMostInOctal)));
  put(block, kMagic, std::string_view("ustar\0", 6));
  put(block, kVersion, "00");
  block[kType] = static_cast<std::byte>(type);
  put(block, kChecksum, std::string_view(fmt::format("{:06o}", checksum_of(block)) + '\0' + ' '));
  return block;
}

/// "LENGTH KEY=VALUE\n", where the length counts its own digits.
[[nodiscard]] std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) length = std::to_string(length).size() + rest;
  return fmt::format("{} {}={}\n", length, key, value);
}

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Where `path` may be cut in two so that both parts fit; npos: nowhere.
[[nodiscard]] std::size_t cut_of(std::string_view path) {
  const std::size_t first = path.size() > kName.size ? path.size() - kName.size - 1 : 0;
  const std::size_t cut = path.find('/', first);
  return cut == std::string_view::npos || cut == 0 || cut > kPrefix.size || cut + 1 == path.size()
             ? std::string_view::npos
             : cut;
}

}  // namespace

std::optional<TarHeader> parse_tar_header(std::span<const std::byte> block) {
  if (block.size() < kTarBlock || text_of(block, {kMagic.offset, 5}) != "ustar") return std::nullopt;
  block = block.first(kTarBlock);
  if (number_of(block, kChecksum) != checksum_of(block)) return std::nullopt;
  const auto size = number_of(block, kSize);
  if (!size) return std::nullopt;
  TarHeader header;
  header.size = *size;
  header.type = static_cast<char>(block[kType]);
  if (header.type == '\0') header.type = '0';
  // GNU's own form ("ustar  ") has times where the prefix would be.
  const bool is_posix = block[kMagic.offset + 5] == std::byte{0};
  if (is_posix && !text_of(block, kPrefix).empty()) header.path = std::string(text_of(block, kPrefix)) + "/";
  header.path += text_of(block, kName);
  return header;
}

bool is_end_of_tar(std::span<const std::byte> block) {
  return std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; });
}

bool apply_pax_records(std::string_view records, TarHeader& header) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    if (error != std::errc{} || length > records.size() || length < digits + 2 || records[digits] != ' ' ||
        records[length - 1] != '\n')
      return false;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") header.path = value;
    if (key == "size") {
      const auto [last, wrong] = std::from_chars(value.data(), value.data() + value.size(), header.size);
      if (wrong != std::errc{} || last != value.data() + value.size()) return false;
    }
    records.remove_prefix(length);
  }
  return true;
}

std::vector<std::byte> tar_header_of(std::string_view path, std::uint64_t size, std::uint64_t time) {
  std::vector<std::byte> out;
  const std::size_t cut = path.size() <= kName.size ? std::string_view::npos : cut_of(path);
  const bool fits = path.size() <= kName.size || cut != std::string_view::npos;
  std::string records;
  if (!fits) records += pax_record("path", path);
  if (size > kMostInOctal) records += pax_record("size", std::to_string(size));
  if (!records.empty()) {
    append(out, ustar("", "mixstack-pack/pax-header", records.size(), time, 'x'));
    append(out, std::as_bytes(std::span(records)));
    out.resize(out.size() + tar_padding(records.size()));
  }
  if (cut != std::string_view::npos) {
    append(out, ustar(path.substr(0, cut), path.substr(cut + 1), size, time, '0'));
  } else {
    append(out, ustar("", path.substr(0, kName.size), size, time, '0'));
  }
  return out;
}

}  // namespace mixstack::pack
