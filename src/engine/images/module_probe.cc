#include "engine/images/module_probe.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "engine/images/file_bytes.h"
#include "engine/images/pe_image.h"

namespace mixstack::images {
namespace {

constexpr std::size_t kFirstRead = 1024;  // ELF header and up to 17 program headers
constexpr std::size_t kMaxHead = 64 << 10;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMaxNotes = 64 << 10;

std::vector<std::byte> read_up_to(const MemoryReader& memory, Address base, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::size_t done = 0;
  while (done < size) {
    const auto n = memory.read_some(base + done, std::span(bytes).subspan(done));
    if (!n || *n == 0) break;
    done += *n;
  }
  bytes.resize(done);
  return bytes;
}

std::size_t table_end(const ElfHeader& h) {
  const std::uint64_t entry = h.is_64_bit ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
  return static_cast<std::size_t>(std::min<std::uint64_t>(h.segment_table + h.segment_count * entry, kMaxHead));
}

Result<ImageHead> probe_elf(const MemoryReader& memory, Address base, std::vector<std::byte> bytes) {
  auto file = buffer_file_bytes(bytes);
  const auto header = parse_elf_header(*file);
  if (!header) return fail(header.error());
  if (const auto end = table_end(*header); end > bytes.size()) {
    bytes = read_up_to(memory, base, end);
    file = buffer_file_bytes(bytes);
  }
  ImageHead head;
  head.kind = ModuleKind::elf;
  head.segments = parse_segments(*file, *header, ~std::uint64_t{0});
  const auto first = std::find_if(head.segments.begin(), head.segments.end(), [](const Segment& s) {
    return s.type == PT_LOAD && s.offset < kPage && s.memory_size != 0;
  });
  if (first == head.segments.end()) return fail(ErrorCode::malformed, base);
  head.load_bias = base - (first->vaddr - first->offset);
  bytes.resize(std::min(bytes.size(), table_end(*header)));
  head.bytes = std::move(bytes);
  return head;
}

Result<ImageHead> probe_pe(const MemoryReader& memory, Address base) {
  const auto image = PeImage::from_memory(memory, base, PeLayout::mapped);
  if (!image) return fail(image.error());
  ImageHead head;
  head.kind = ModuleKind::pe;
  head.load_bias = base;
  head.segments.push_back({PT_LOAD, PF_R, 0, 0, image->size_of_headers(), image->size_of_headers()});
  for (const auto& s : image->sections())
    head.segments.push_back({PT_LOAD, 0, s.raw_offset, s.rva, s.raw_size, std::max(s.virtual_size, s.raw_size)});
  return head;
}

}  // namespace

Result<ImageHead> probe_image(const MemoryReader& memory, Address base) {
  auto bytes = read_up_to(memory, base, kFirstRead);
  if (bytes.size() < SELFMAG) return fail(ErrorCode::unreadable_memory, base);
  if (std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0) return probe_elf(memory, base, std::move(bytes));
  if (std::memcmp(bytes.data(), "MZ", 2) == 0) return probe_pe(memory, base);
  return fail(ErrorCode::not_found, base);
}

BuildId read_build_id(const MemoryReader& memory, const ImageHead& head) {
  for (const auto& s : head.segments) {
    if (s.type != PT_NOTE || s.file_size == 0 || s.file_size > kMaxNotes) continue;
    const auto id = find_build_id(read_up_to(memory, head.load_bias + s.vaddr, static_cast<std::size_t>(s.file_size)));
    if (!id.empty()) return id;
  }
  return {};
}

}  // namespace mixstack::images
