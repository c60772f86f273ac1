#include "process/core/image_placement.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace mixstack::process {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMaxPlacements = 4096;  // a single-file program maps some hundred images
// PE Format, "Section Flags".
constexpr std::uint32_t kMemExecute = 0x20000000, kMemWrite = 0x80000000;

[[nodiscard]] std::uint64_t page_down(std::uint64_t a) { return a & ~(kPage - 1); }
[[nodiscard]] std::uint64_t page_up(std::uint64_t a) { return page_down(a + kPage - 1); }

[[nodiscard]] bool starts_with(const FileBytes& file, std::uint64_t offset, std::string_view magic) {
  const auto bytes = file.range(offset, magic.size());
  return !bytes.empty() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

}  // namespace

Result<std::size_t> FileMemory::read_some(Address address, std::span<std::byte> out) const {
  const std::uint64_t size = file_->size();
  if (address >= size) return fail(ErrorCode::unreadable_memory, address);
  const std::uint64_t n = std::min<std::uint64_t>(out.size(), size - address);
  const auto bytes = file_->range(address, n);
  if (bytes.empty()) return fail(ErrorCode::unreadable_memory, address);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return bytes.size();
}

std::unique_ptr<ImagePlacement> ImagePlacement::elf(std::shared_ptr<const FileBytes> file, const Region& header) {
  auto image = images::ElfImage::from_file(std::move(file));
  if (!image || !(*image)->is_64_bit()) return nullptr;
  std::unique_ptr<ImagePlacement> p(new ImagePlacement());
  p->kind_ = Kind::elf;
  p->arch_ = (*image)->arch();
  p->build_id_ = (*image)->build_id();
  const auto segments = (*image)->segments();
  std::uint64_t low = ~std::uint64_t{0}, high = 0;
  for (const auto& s : segments) {
    if (s.type == PT_LOAD && s.memory_size != 0) {
      p->parts_.push_back({s.vaddr, s.memory_size, s.offset, (s.flags & PF_W) != 0, (s.flags & PF_X) != 0});
      low = std::min(low, s.vaddr - s.offset);
      high = std::max(high, s.vaddr + s.memory_size);
    }
    if (s.type == PT_GNU_RELRO) p->relro_ = {s.vaddr, s.vaddr + s.memory_size};
  }
  const auto first = std::find_if(p->parts_.begin(), p->parts_.end(), [](const Part& s) { return s.offset < kPage; });
  if (first == p->parts_.end()) return nullptr;
  p->load_bias_ = header.range.begin - page_down(first->address - first->offset);
  p->range_ = {header.range.begin, p->load_bias_ + page_up(high)};
  p->elf_ = std::move(*image);
  return p;
}

std::unique_ptr<ImagePlacement> ImagePlacement::pe(std::shared_ptr<const FileBytes> file, const Region& header) {
  const std::uint64_t left = file->size() - std::min(file->size(), header.file_offset);
  auto memory = std::make_shared<const FileMemory>(std::move(file));
  const auto image = images::PeImage::from_memory(*memory, header.file_offset, images::PeLayout::flat, left);
  if (!image) return nullptr;
  std::unique_ptr<ImagePlacement> p(new ImagePlacement());
  p->kind_ = Kind::pe;
  p->arch_ = image->machine().arch;
  p->load_bias_ = header.range.begin;
  p->pe_offset_ = header.file_offset;
  p->pe_file_ = std::move(memory);
  std::uint64_t stored = image->size_of_headers();
  for (const auto& s : image->sections()) {
    p->parts_.push_back({s.rva, std::max(s.virtual_size, s.raw_size), header.file_offset + s.raw_offset,
                         (s.flags & kMemWrite) != 0, (s.flags & kMemExecute) != 0});
    stored = std::max<std::uint64_t>(stored, std::uint64_t{s.raw_offset} + s.raw_size);
  }
  p->is_flat_ = header.range.size() >= page_up(stored);
  p->range_ = {header.range.begin,
               p->is_flat_ ? header.range.end : header.range.begin + page_up(image->size_of_image())};
  return p;
}

const ImagePlacement::Part* ImagePlacement::part_at(Address address) const {
  if (is_flat_) return nullptr;
  const std::uint64_t link = address - load_bias_;
  for (const Part& p : parts_)
    if (link >= page_down(p.address) && link < page_up(p.address + p.memory_size)) return &p;
  return nullptr;
}

bool ImagePlacement::is_executable(Address address) const {
  const Part* part = part_at(address);
  return part != nullptr && part->executable;
}

bool ImagePlacement::is_writable(Address address) const {
  const Part* part = part_at(address);
  return part != nullptr && part->writable;
}

bool ImagePlacement::is_changeable(Address address) const {
  if (!is_writable(address)) return false;
  // The dynamic linker protects whole pages below the end of RELRO.
  const std::uint64_t link = address - load_bias_;
  return kind_ != Kind::elf || link < page_down(relro_.begin) || link >= page_down(relro_.end);
}

std::span<const images::Relocation> ImagePlacement::relocations() const {
  std::call_once(relocations_once_, [this] {
    if (kind_ == Kind::elf) {
      relocations_ = images::read_relocations(*elf_);
    } else if (!is_flat_) {
      const std::uint64_t left = ~std::uint64_t{0} - pe_offset_;
      if (const auto image = images::PeImage::from_memory(*pe_file_, pe_offset_, images::PeLayout::flat, left))
        relocations_ = images::read_relocations(*image);
    }
  });
  return relocations_;
}

void ImagePlacement::relocate(Address address, std::span<std::byte> bytes) const {
  (void)relocations();
  images::apply_relocations(relocations_, load_bias_, address - load_bias_, bytes);
}

std::vector<std::unique_ptr<ImagePlacement>> place_images(const std::shared_ptr<const FileBytes>& file,
                                                          std::span<const Region> mappings) {
  std::vector<std::unique_ptr<ImagePlacement>> out;
  const ImagePlacement* last = nullptr;
  for (const Region& m : mappings) {
    if (out.size() >= kMaxPlacements) break;
    // The code section of a ReadyToRun image often starts in the file's first page: "MZ" again, inside the image.
    if (last != nullptr && last->range().contains(m.range.begin)) continue;
    std::unique_ptr<ImagePlacement> p;
    if (m.file_offset == 0 && starts_with(*file, 0,
                                          "\x7f"
                                          "ELF"))
      p = ImagePlacement::elf(file, m);
    else if (starts_with(*file, m.file_offset, "MZ"))
      p = ImagePlacement::pe(file, m);
    if (!p) continue;
    out.push_back(std::move(p));
    last = out.back().get();
  }
  return out;
}

const ImagePlacement* placement_at(std::span<const std::unique_ptr<ImagePlacement>> placements, Address address) {
  for (const auto& p : placements)
    if (p->range().contains(address)) return p.get();
  return nullptr;
}

}  // namespace mixstack::process
