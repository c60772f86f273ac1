#include "engine/images/elf_memory.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/system/byte_cursor.h"
#include "engine/images/elf_headers.h"
#include "engine/images/file_bytes.h"

namespace mixstack::images {
namespace {

constexpr std::size_t kHeaderBytes = 4096;  // header and program headers lie in the first page of every loaded image
constexpr std::uint64_t kPage = 4096;

/// Reads as much of [address, address + size) as there is; a hole ends it.
std::size_t read_up_to(const MemoryReader& memory, Address address, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto n = memory.read_some(address + done, out.subspan(done));
    if (!n || *n == 0) break;
    done += *n;
  }
  return done;
}

/// How far behind the segment's file part its last page still shows the file: there the vDSO keeps section headers.
std::uint64_t tail_of(const Segment& s) {
  if (s.memory_size != s.file_size) return 0;
  return (kPage - (s.vaddr + s.file_size) % kPage) % kPage;
}

void store_link_time(std::vector<std::byte>& image, std::uint64_t at, std::uint64_t value, bool is_64_bit) {
  std::memcpy(image.data() + at, &value, is_64_bit ? 8 : 4);
}

/// glibc adds the load bias to the pointers of a writable dynamic section (elf/dl-load and get-dynamic-info of glibc).
void unrelocate_dynamic(std::vector<std::byte>& image, const ElfHeader& header, std::span<const Segment> segments,
                        std::uint64_t bias) {
  if (bias == 0) return;
  const std::uint64_t word = header.is_64_bit ? 8 : 4;
  const auto in_image = [&](std::uint64_t a) {
    return std::any_of(segments.begin(), segments.end(),
                       [a](const Segment& s) { return s.type == PT_LOAD && a - s.vaddr < s.memory_size; });
  };
  const auto load = [&](std::uint64_t at) -> std::optional<std::uint64_t> {
    if (header.is_64_bit) return base::load_at<std::uint64_t>(std::span<const std::byte>(image), at);
    return base::load_at<std::uint32_t>(std::span<const std::byte>(image), at);
  };
  for (const auto& s : segments) {
    if (s.type != PT_DYNAMIC) continue;
    for (std::uint64_t at = s.offset; at - s.offset + 2 * word <= s.file_size; at += 2 * word) {
      const auto value = load(at + word);
      if (!value || load(at) == std::uint64_t{DT_NULL}) break;
      if (*value >= bias && in_image(*value - bias)) store_link_time(image, at + word, *value - bias, header.is_64_bit);
    }
  }
}

}  // namespace

Result<std::vector<std::byte>> copy_loaded_image(const MemoryReader& memory, Address base, std::size_t limit) {
  std::vector<std::byte> head(std::min(limit, kHeaderBytes));
  head.resize(read_up_to(memory, base, head));
  if (head.empty()) return fail(ErrorCode::unreadable_memory, base);
  const auto first = buffer_file_bytes(head);
  const auto header = parse_elf_header(*first);
  if (!header) return fail(header.error());

  const auto segments = parse_segments(*first, *header, limit);
  const auto start = std::find_if(segments.begin(), segments.end(),
                                  [](const Segment& s) { return s.type == PT_LOAD && s.offset < kPage; });
  if (start == segments.end()) return fail(ErrorCode::malformed, base);
  const std::uint64_t bias = base - (start->vaddr - start->offset);

  std::vector<std::byte> image = std::move(head);
  for (const auto& s : segments) {
    if (s.type != PT_LOAD || s.file_size == 0) continue;
    const std::uint64_t want = std::min(s.file_size + tail_of(s), limit - s.offset);
    const auto end = static_cast<std::size_t>(s.offset + want);
    if (image.size() < end) image.resize(end);
    const auto got =
        read_up_to(memory, bias + s.vaddr,
                   std::span(image).subspan(static_cast<std::size_t>(s.offset), static_cast<std::size_t>(want)));
    if (got < want && end == image.size())
      image.resize(std::max<std::size_t>(static_cast<std::size_t>(s.offset) + got, first->size()));
  }
  unrelocate_dynamic(image, *header, segments, bias);
  return image;
}

}  // namespace mixstack::images
