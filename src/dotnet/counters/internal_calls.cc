// Input: the segments of a loaded image, its memory, names. Output: an address for each name.
// Algorithm: tables of internal calls lie in the writable segments (they are relocated), their names in those that are
// only readable, their functions in executable ones. So each word of the first that leads to a wanted name is looked
// at, and counts if the word beside it leads to code.
// Bounds: kMostBytes of each kind of segment; a name is compared with the wanted ones alone.
#include "dotnet/counters/internal_calls.h"

#include <elf.h>

#include <algorithm>

#include "base/system/byte_cursor.h"

namespace mixstack::dotnet::counters {
namespace {

constexpr std::size_t kMostBytes = 64u << 20;

struct Part {
  AddressRange range;
  std::vector<std::byte> bytes;  ///< empty: not read
};

/// The readable part of a segment, from its begin on.
std::vector<std::byte> read(const MemoryReader& memory, AddressRange range, std::size_t& left) {
  constexpr std::size_t kAtOnce = 1u << 20;
  std::vector<std::byte> bytes;
  while (bytes.size() < range.end - range.begin && left > 0) {
    const std::size_t done = bytes.size();
    const std::size_t next = std::min({kAtOnce, static_cast<std::size_t>(range.end - range.begin) - done, left});
    bytes.resize(done + next);
    const auto got = memory.read_some(range.begin + done, std::span(bytes).subspan(done));
    bytes.resize(done + (got ? std::min(*got, next) : 0));
    left -= bytes.size() - done;
    if (bytes.size() != done + next) break;
  }
  return bytes;
}

class Image {
 public:
  Image(std::span<const images::Segment> segments, Address bias, const MemoryReader& memory) {
    std::size_t texts_left = kMostBytes, tables_left = kMostBytes;
    for (const images::Segment& s : segments) {
      if (s.type != PT_LOAD || s.file_size == 0 || s.vaddr + bias + s.file_size < s.vaddr + bias) continue;
      const AddressRange range{s.vaddr + bias, s.vaddr + bias + s.file_size};
      if ((s.flags & PF_X) != 0)
        code_.push_back(range);
      else if ((s.flags & PF_W) != 0)
        tables_.push_back({range, read(memory, range, tables_left)});
      else
        texts_.push_back({range, read(memory, range, texts_left)});
    }
  }

  [[nodiscard]] std::span<const Part> tables() const { return tables_; }
  [[nodiscard]] bool is_code(Address at) const {
    return std::any_of(code_.begin(), code_.end(), [at](const AddressRange& r) { return r.contains(at); });
  }
  /// Whether this very text, with its end, lies there.
  [[nodiscard]] bool is_text(Address at, std::string_view text) const {
    for (const Part& part : texts_) {
      if (at < part.range.begin || at - part.range.begin >= part.bytes.size()) continue;
      const auto rest = std::span(part.bytes).subspan(static_cast<std::size_t>(at - part.range.begin));
      if (rest.size() <= text.size() || rest[text.size()] != std::byte{0}) return false;
      return std::equal(text.begin(), text.end(), rest.begin(),
                        [](char c, std::byte b) { return static_cast<std::byte>(c) == b; });
    }
    return false;
  }

 private:
  std::vector<AddressRange> code_;
  std::vector<Part> tables_, texts_;
};

}  // namespace

std::vector<Address> find_internal_calls(std::span<const images::Segment> segments, Address bias,
                                         const MemoryReader& memory, std::span<const InternalCall> wanted) {
  const Image image(segments, bias, memory);
  std::vector<Address> found(wanted.size());
  std::vector<bool> is_twice(wanted.size());
  for (const Part& table : image.tables()) {
    const auto word = [&](std::size_t at) { return base::load_at<std::uint64_t>(table.bytes, at).value_or(0); };
    for (std::size_t at = 8; at + 16 <= table.bytes.size(); at += 8) {
      const Address name = word(at);
      if (name == 0) continue;
      for (std::size_t i = 0; i < wanted.size(); i++) {
        if (!image.is_text(name, wanted[i].name)) continue;
        const Address function = word(wanted[i].is_before ? at - 8 : at + 8);
        if (!image.is_code(function)) continue;
        is_twice[i] = is_twice[i] || (found[i] != 0 && found[i] != function);
        found[i] = function;
      }
    }
  }
  for (std::size_t i = 0; i < wanted.size(); i++)
    if (is_twice[i]) found[i] = 0;
  return found;
}

}  // namespace mixstack::dotnet::counters
