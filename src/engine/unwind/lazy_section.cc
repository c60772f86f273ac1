#include "engine/unwind/lazy_section.h"

#include <elf.h>

#include <algorithm>

namespace mixstack::unwind {
namespace {

bool is_plain(const images::Section& s) {
  return s.type != SHT_NOBITS && (s.flags & SHF_ALLOC) != 0 && (s.flags & SHF_COMPRESSED) == 0 && s.size != 0;
}

}  // namespace

LazySection::LazySection(const images::ElfImage& image, std::uint64_t address, std::uint64_t size)
    : image_(image), address_(address) {
  const auto first = image.bytes_at(address, 1);
  if (first.empty()) return;
  bytes_ = {first.data(), static_cast<std::size_t>(size)};
  present_ = std::vector<std::atomic<bool>>(static_cast<std::size_t>((size + kPiece - 1) / kPiece));
}

bool LazySection::fetch(std::uint64_t piece) const {
  const std::uint64_t offset = piece * kPiece;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, bytes_.size() - offset));
  const auto bytes = image_.bytes_at(address_ + offset, size);
  // An image that does not hold its bytes in one piece cannot be read this way.
  if (bytes.size() != size || bytes.data() != bytes_.data() + offset) return false;
  present_[static_cast<std::size_t>(piece)].store(true, std::memory_order_release);
  return true;
}

std::optional<images::UnwindSections> lazy_unwind_sections(const images::ElfImage& image) {
  images::UnwindSections out;
  out.arch = image.arch();
  out.is_64_bit = image.is_64_bit();
  for (const auto& s : image.sections()) {
    if (s.name == ".eh_frame" && is_plain(s)) out.eh_frame = s;
    if (s.name == ".eh_frame_hdr" && is_plain(s)) out.eh_frame_hdr = image.load(s);
    if (s.name == ".debug_frame" || s.name == ".zdebug_frame") out.debug_frame = image.load(s);
    if (s.name == ".text") out.text_address = s.address;
    if (s.name == ".got.plt" || (s.name == ".got" && out.data_address == 0)) out.data_address = s.address;
  }
  if (out.eh_frame.size == 0 || out.eh_frame_hdr.bytes.empty()) return std::nullopt;
  return out;
}

}  // namespace mixstack::unwind
