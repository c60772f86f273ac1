#include "process/core/core_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/system/byte_cursor.h"
#include "process/kernel/elf_facts.h"

namespace mixstack::process {

/// Elf64_Phdr as plain values.
struct ProgramHeader {
  std::uint32_t type = 0, flags = 0;
  std::uint64_t offset = 0, address = 0, file_size = 0, memory_size = 0;
};

namespace {

constexpr std::size_t kHeader = sizeof(Elf64_Ehdr);
constexpr std::size_t kEntry = sizeof(Elf64_Phdr);
constexpr std::size_t kEntriesAtOnce = 1024;
constexpr std::uint64_t kMaxSegments = 4'000'000;              // Linux: max_map_count is 65,530 unless raised
constexpr std::size_t kMaxNotes = std::size_t{128} << 20;      // 3 KiB a thread: 40,000 threads
constexpr std::size_t kMaxNoteSegments = 64;                   // the kernel, gdb and createdump write one
constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 63;  // no user mapping lies above

/// The number of program headers; PN_XNUM (gABI, "extended numbering") puts it into section header 0.
[[nodiscard]] Result<std::uint64_t> count_of(const CoreBytes& bytes, std::span<const std::byte> header) {
  const auto count = base::load_at<std::uint16_t>(header, offsetof(Elf64_Ehdr, e_phnum)).value_or(0);
  if (count != PN_XNUM) return count;
  const auto sections = base::load_at<std::uint64_t>(header, offsetof(Elf64_Ehdr, e_shoff)).value_or(0);
  std::array<std::byte, sizeof(Elf64_Shdr)> section{};
  const auto n = bytes.read_at(sections, section);
  if (!n) return fail(n.error());
  if (sections == 0 || *n != section.size()) return fail(ErrorCode::truncated, sections);
  return std::uint64_t{base::load_at<std::uint32_t>(section, offsetof(Elf64_Shdr, sh_info)).value_or(0)};
}

/// Stops at the largest number: hostile headers may promise more than 64 bits can count.
void add_up(std::uint64_t& sum, std::uint64_t more) { sum = more > ~sum ? ~std::uint64_t{0} : sum + more; }

[[nodiscard]] ProgramHeader decode(std::span<const std::byte> entry) {
  base::ByteCursor c(entry);
  ProgramHeader h;
  h.type = c.u32();
  h.flags = c.u32();
  h.offset = c.u64();
  h.address = c.u64();
  (void)c.u64();
  h.file_size = c.u64();
  h.memory_size = c.u64();
  return h;
}

}  // namespace

Result<CoreFile> CoreFile::read(std::shared_ptr<const CoreBytes> bytes) {
  CoreFile file(std::move(bytes));
  std::array<std::byte, kHeader> header{};
  const auto n = file.bytes_->read_at(0, header);
  if (!n) return fail(n.error());
  const auto arch = arch_of_elf_header(std::span(header).first(*n));
  if (!arch && arch.error().code == ErrorCode::malformed) return fail(arch.error());
  const auto type = elf_half(header, offsetof(Elf64_Ehdr, e_type));
  if (*n == kHeader && type != ET_CORE) return fail(ErrorCode::unsupported, type);
  if (!arch) return fail(arch.error());
  if (*n != kHeader) return fail(ErrorCode::truncated, *n);
  file.arch_ = *arch;
  Damage damage;
  if (auto read = file.read_headers(damage); !read) return fail(read.error());
  file.read_notes();
  file.put_in_order(damage);
  file.describe(damage);
  return file;
}

Result<void> CoreFile::read_headers(Damage& damage) {
  std::array<std::byte, kHeader> header{};
  if (const auto n = bytes_->read_at(0, header); !n || *n != kHeader) return fail(ErrorCode::truncated);
  const auto count = count_of(*bytes_, header);
  if (!count) return fail(count.error());
  const auto table = base::load_at<std::uint64_t>(header, offsetof(Elf64_Ehdr, e_phoff)).value_or(0);
  const auto entry_size = base::load_at<std::uint16_t>(header, offsetof(Elf64_Ehdr, e_phentsize)).value_or(0);
  if (*count != 0 && entry_size != kEntry) return fail(ErrorCode::malformed, entry_size);
  if (table >= bytes_->size()) return fail(ErrorCode::truncated, table);
  const std::uint64_t held = (bytes_->size() - table) / kEntry;
  const std::uint64_t taken = std::min({*count, held, kMaxSegments});
  if (taken < *count)
    diagnoses_.push_back(
        {{ErrorCode::truncated, 0, *count - taken},
         "program headers",
         fmt::format("{} of {} program headers are beyond the end of the file", *count - taken, *count)});
  std::vector<std::byte> part(kEntriesAtOnce * kEntry);
  for (std::uint64_t i = 0; i < taken; i += kEntriesAtOnce) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kEntriesAtOnce, taken - i)) * kEntry;
    const auto n = bytes_->read_at(table + i * kEntry, std::span(part).first(wanted));
    if (!n) return fail(n.error());
    for (std::size_t at = 0; at + kEntry <= *n; at += kEntry) {
      const ProgramHeader h = decode(std::span(part).subspan(at, kEntry));
      if (h.type == PT_LOAD) add_segment(h, damage);
      if (h.type == PT_NOTE) add_notes(h, damage);
    }
  }
  return {};
}

void CoreFile::add_segment(const ProgramHeader& h, Damage& damage) {
  if (h.memory_size == 0 && h.file_size == 0) return;
  // createdump and old kernels may write a file part that is larger than the memory part; what is dumped counts.
  const std::uint64_t size = std::max(h.memory_size, h.file_size);
  const std::uint64_t held = h.offset >= bytes_->size() ? 0 : bytes_->size() - h.offset;
  const std::uint64_t missing = h.file_size - std::min(h.file_size, held);
  if (missing != 0) {
    damage.beyond_the_end++;
    add_up(damage.missing_bytes, missing);
  }
  if (h.address >= kMaxAddress && size <= -h.address) return;  // [vsyscall], in the kernel's half
  if (h.address >= kMaxAddress || size > kMaxAddress - h.address) {
    damage.lying++;
    return;
  }
  CoreSegment s;
  s.range = {h.address, h.address + size};
  s.file_offset = h.offset;
  s.dumped = h.file_size - missing;
  s.readable = (h.flags & PF_R) != 0;
  s.writable = (h.flags & PF_W) != 0;
  s.executable = (h.flags & PF_X) != 0;
  segments_.push_back(s);
}

void CoreFile::add_notes(const ProgramHeader& h, Damage& damage) {
  std::uint64_t room = note_segments_.size() < kMaxNoteSegments ? kMaxNotes : 0;
  for (const NoteSegment& s : note_segments_) room -= std::min(room, s.size);
  const std::uint64_t held = h.offset >= bytes_->size() ? 0 : bytes_->size() - h.offset;
  const std::uint64_t size = std::min({h.file_size, held, room});
  add_up(damage.notes_left_out, h.file_size - size);
  if (size != 0) note_segments_.push_back({h.offset, size});
}

/// Allocates once: a growing buffer would exist twice for a moment.
void CoreFile::read_notes() {
  std::uint64_t sum = 0;
  for (const NoteSegment& s : note_segments_) sum += s.size;
  notes_.resize(static_cast<std::size_t>(sum));
  std::size_t filled = 0;
  for (const NoteSegment& s : note_segments_) {
    const auto part = std::span(notes_).subspan(filled, static_cast<std::size_t>(s.size));
    filled += bytes_->read_at(s.offset, part).value_or(0);
  }
  notes_.resize(filled);
}

/// If two segments claim the same address, the one that starts first keeps it.
void CoreFile::put_in_order(Damage& damage) {
  std::stable_sort(segments_.begin(), segments_.end(),
                   [](const CoreSegment& a, const CoreSegment& b) { return a.range.begin < b.range.begin; });
  Address end = 0;
  std::size_t kept = 0;
  for (CoreSegment s : segments_) {
    if (s.range.begin < end) {
      damage.overlapping++;
      const std::uint64_t cut = std::min(end, s.range.end) - s.range.begin;
      s.range.begin += cut;
      s.file_offset += cut;
      s.dumped -= std::min(s.dumped, cut);
    }
    if (s.range.begin >= s.range.end) continue;
    end = s.range.end;
    constexpr Address kInPage = 4095;
    if (s.dumped != 0 && ((s.range.begin & kInPage) != 0 || (s.range.end & kInPage) != 0)) has_whole_pages_ = false;
    segments_[kept++] = s;
  }
  segments_.resize(kept);
}

void CoreFile::describe(const Damage& damage) {
  if (damage.beyond_the_end != 0)
    diagnoses_.push_back(
        {{ErrorCode::truncated, 0, damage.missing_bytes},
         bytes_->path(),
         fmt::format("the core was cut off: {} mappings lack {} bytes that its headers promise (disk full, "
                     "RLIMIT_CORE or a copy that ended early)",
                     damage.beyond_the_end, damage.missing_bytes)});
  if (damage.notes_left_out != 0)
    diagnoses_.push_back({{ErrorCode::truncated, 0, damage.notes_left_out},
                          "notes",
                          fmt::format("{} bytes of notes are missing: threads may be, too", damage.notes_left_out)});
  if (damage.overlapping != 0)
    diagnoses_.push_back({{ErrorCode::malformed, 0, damage.overlapping},
                          "program headers",
                          fmt::format("{} segments overlap others; the lower one was believed", damage.overlapping)});
  if (damage.lying != 0)
    diagnoses_.push_back({{ErrorCode::malformed, 0, damage.lying},
                          "program headers",
                          fmt::format("{} segments lie outside the address space", damage.lying)});
}

}  // namespace mixstack::process
