#include "engine/images/module_finder.h"

#include <elf.h>

#include <algorithm>

namespace mixstack::images {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMaxBackwardSteps = 8;  // mappings looked at below an executable one for an embedded header
constexpr std::string_view kVdso = "[vdso]";

bool is_special(const Region& r) { return r.inode == 0 && r.path.starts_with('['); }
bool is_anonymous(const Region& r) { return r.inode == 0 && !is_special(r); }
auto file_key(const Region& r) { return std::tuple(r.device_major, r.device_minor, r.inode); }

std::uint64_t page_down(std::uint64_t a) { return a & ~(kPage - 1); }
std::uint64_t page_up(std::uint64_t a) { return page_down(a + kPage - 1); }

/// Where the image ends: no mapping at or above belongs to it.
Address end_of(const ImageHead& head, const Region& first) {
  Address end = first.range.end;
  for (const auto& s : head.segments)
    if (s.type == PT_LOAD) end = std::max(end, page_up(head.load_bias + s.vaddr + s.memory_size));
  return end;
}

}  // namespace

ModuleFinder::ModuleFinder(std::span<const Region> regions, const MemoryReader& memory,
                           const ModuleMap::FileOpener& opener)
    : regions_(regions), memory_(memory), opener_(opener), claimed_(regions.size()) {
  for (const auto& r : regions_)
    if (r.executable && r.inode != 0) executable_files_.insert(file_key(r));
}

std::vector<FoundModule> ModuleFinder::find() {
  std::size_t probes = 0;
  for (std::size_t i = 0; i < regions_.size() && probes < kMaxProbes; i++) {
    if (claimed_[i] || !may_hold_header(i)) continue;
    probes++;
    if (auto head = probe_image(memory_, regions_[i].range.begin)) take({i, regions_[i].file_offset, std::move(*head)});
  }
  for (std::size_t i = 0; i < regions_.size(); i++)
    if (!claimed_[i] && regions_[i].executable && regions_[i].inode != 0) take_without_header(i);
  std::sort(found_.begin(), found_.end(),
            [](const FoundModule& a, const FoundModule& b) { return a.module.range.begin < b.module.range.begin; });
  return std::move(found_);
}

/// Every probe costs a read of the target, so only mappings that can matter are probed: a file's first page when some
/// of the file is executable, the vDSO, and anonymous memory that is executable or lies directly below such.
bool ModuleFinder::may_hold_header(std::size_t i) const {
  const auto& r = regions_[i];
  if (!r.readable) return false;
  if (r.inode != 0) return r.file_offset == 0 && executable_files_.contains(file_key(r));
  if (is_special(r)) return r.path == kVdso;
  if (r.executable) return true;
  if (i + 1 >= regions_.size()) return false;
  const auto& next = regions_[i + 1];
  return next.executable && is_anonymous(next) && next.range.begin == r.range.end;
}

bool ModuleFinder::same_file(const Region& a, const Region& b) const {
  return a.inode != 0 && file_key(a) == file_key(b);
}

/// A mapping belongs to an image when it shows the part of the file that a segment (a section of a PE image) puts
/// there, or is anonymous memory inside a segment (.bss, text that the program moved to huge pages). A single-file .NET
/// program maps other parts of its own file around its image; those do not fit any segment. The code section of a
/// ReadyToRun image often starts in the first page of its file: its mapping has offset 0 and "MZ" at its start, like
/// the header's.
bool ModuleFinder::fits_a_segment(const Region& r, const Claim& claim) const {
  const bool from_file = same_file(r, regions_[claim.first]);
  if (!from_file && !is_anonymous(r)) return false;
  if (budget_ < claim.head.segments.size()) return false;
  budget_ -= claim.head.segments.size();
  for (const auto& s : claim.head.segments) {
    if (s.type != PT_LOAD) continue;
    const std::uint64_t begin = page_down(claim.head.load_bias + s.vaddr);
    const std::uint64_t end = page_up(claim.head.load_bias + s.vaddr + s.memory_size);
    if (r.range.begin < begin || r.range.begin >= end) continue;
    if (!from_file && r.range.end <= end) return true;
    if (from_file && r.file_offset == claim.file_offset + page_down(s.offset) + (r.range.begin - begin)) return true;
  }
  return false;
}

bool ModuleFinder::belongs(std::size_t i, const Claim& claim) const {
  const auto& r = regions_[i];
  if (i == claim.first) return true;
  return fits_a_segment(r, claim);
}

void ModuleFinder::take(Claim claim) {
  const auto& first = regions_[claim.first];
  FoundModule found;
  auto& m = found.module;
  m.path = first.path;
  m.kind = claim.head.kind;
  m.load_bias = claim.head.load_bias;
  m.header = first;
  m.file_offset = claim.file_offset;
  m.deleted = first.deleted;
  m.has_file = first.inode != 0;
  std::vector<std::size_t> members;
  bool has_code = false;
  const Address end = end_of(claim.head, first);
  for (std::size_t i = claim.first; i < regions_.size() && regions_[i].range.begin < end && budget_ != 0; i++) {
    budget_--;
    const auto& r = regions_[i];
    if (claimed_[i] || !belongs(i, claim)) continue;
    members.push_back(i);
    has_code |= r.executable && (same_file(r, first) || !m.has_file);
  }
  // Data only, as when a tool maps a library to read it: no frame can lie in it, and anonymous code inside the range
  // it would have as an image is not its own.
  if (!has_code) return;
  for (const auto i : members) {
    claimed_[i] = true;
    found.ranges.push_back(regions_[i].range);
    if (regions_[i].executable) m.executable.push_back(regions_[i].range);
  }
  m.range = {found.ranges.front().begin, found.ranges.back().end};
  found.head = std::move(claim.head);
  found_.push_back(std::move(found));
}

/// Executable mappings of a file whose first page is not mapped where it should be. Shared ones are no image: loaders
/// map code privately, code generators (.NET's /memfd:doublemapper) share it with a writable view.
void ModuleFinder::take_without_header(std::size_t i) {
  if (regions_[i].shared || take_embedded(i) || take_by_file(i)) return;
  ImageHead head;
  head.load_bias = regions_[i].range.begin - regions_[i].file_offset;
  take({i, 0, std::move(head)});
}

/// An image inside a larger file (libraries in an archive): its header is mapped, but not at offset 0.
bool ModuleFinder::take_embedded(std::size_t i) {
  for (std::size_t step = 0; step < kMaxBackwardSteps && step <= i; step++) {
    const auto& r = regions_[i - step];
    if (is_anonymous(r)) continue;
    if (!same_file(r, regions_[i])) return false;
    if (claimed_[i - step] || !r.readable) continue;
    auto head = probe_image(memory_, r.range.begin);
    if (!head) continue;
    Claim claim{i - step, r.file_offset, std::move(*head)};
    if (!belongs(i, claim)) return false;
    take(std::move(claim));
    return true;
  }
  return false;
}

/// Memory does not show the header (a core without file pages): the file tells which segment is mapped here.
bool ModuleFinder::take_by_file(std::size_t i) {
  const auto& r = regions_[i];
  if (!opener_) return false;
  const auto file = opener_(r);
  if (!file) return false;
  const auto header = parse_elf_header(**file);
  if (!header) return false;
  Claim claim;
  claim.head.kind = ModuleKind::elf;
  claim.head.segments = parse_segments(**file, *header, (*file)->size());
  for (const auto& s : claim.head.segments) {
    const std::uint64_t distance = r.file_offset - page_down(s.offset);
    if (s.type != PT_LOAD || (s.flags & PF_X) == 0 || distance >= page_up(s.file_size)) continue;
    claim.head.load_bias = r.range.begin - distance - page_down(s.vaddr);
    claim.first = i;
    while (claim.first > 0 && !claimed_[claim.first - 1] && fits_a_segment(regions_[claim.first - 1], claim))
      claim.first--;
    take(std::move(claim));
    return true;
  }
  return false;
}

}  // namespace mixstack::images
