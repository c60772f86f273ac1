#include "engine/self_walk/module_records.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "engine/unwind/eh_frame_hdr.h"

namespace mixstack::self_walk {
namespace {

constexpr unsigned kMostHeaders = 128;
constexpr std::uint64_t kMostNoteBytes = 4096;
// DW_EH_PE_datarel | DW_EH_PE_sdata4, as every linker writes it.
constexpr std::uint8_t kTableEncoding = unwind::eh_pe::kDataRel | unwind::eh_pe::kSdata4;
constexpr std::uint64_t kEhFrameHdrBytes = 12;

[[nodiscard]] constexpr std::uint64_t align4(std::uint64_t n) { return (n + 3) & ~std::uint64_t{3}; }

[[nodiscard]] std::span<const std::byte> bytes_at(Address address, std::uint64_t size) {
  return {reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(address)), static_cast<std::size_t>(size)};
}

void read_eh_frame_hdr(ModuleRecord& record, ProbedMemory& memory) {
  const Address at = record.eh_frame_hdr;
  if (!record.range.contains(at) || record.range.end - at < kEhFrameHdrBytes) return;
  if (!memory.is_readable(at, kEhFrameHdrBytes)) return;
  // Checked against all that may follow, of which only the head is read here.
  const auto header = unwind::read_eh_frame_hdr(bytes_at(at, record.range.end - at), at, 8);
  if (!header || !header->eh_frame_address || header->table_encoding != kTableEncoding) return;
  if (!record.range.contains(*header->eh_frame_address)) return;
  record.eh_frame = *header->eh_frame_address;
  record.table = at + header->table_offset;
  record.count = std::min(header->count, (record.range.end - record.table) / 8);
}

/// A note: sizes of name and content, type, both parts padded (gABI, "Note Section").
void find_build_id(ModuleRecord& record, Address notes, std::uint64_t size, ProbedMemory& memory) {
  size = std::min(size, kMostNoteBytes);
  if (!record.range.contains(notes) || record.range.end - notes < size) return;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
    Elf64_Nhdr note;
    if (!memory.load(notes + at, note)) return;
    const std::uint64_t content = at + sizeof(note) + align4(note.n_namesz);
    if (content > size || note.n_descsz > size - content) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz != 0 &&
        note.n_descsz <= record.build_id_bytes.size()) {
      if (!memory.is_readable(notes + content, note.n_descsz)) return;
      record.build_id = notes + content;
      record.build_id_size = note.n_descsz;
      std::memcpy(record.build_id_bytes.data(), bytes_at(record.build_id, note.n_descsz).data(), note.n_descsz);
      return;
    }
    at = content + align4(note.n_descsz);
  }
}

/// Follows the ELF header at the start of the image, where every linker puts it.
void read_notes(ModuleRecord& record, ProbedMemory& memory) {
  Elf64_Ehdr elf;
  const Address base = record.range.begin;
  if (!memory.load(base, elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return;
  if (elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phoff > record.range.size()) return;
  const unsigned count = std::min<unsigned>(elf.e_phnum, kMostHeaders);
  Address bias = 0;
  bool has_bias = false;
  for (unsigned i = 0; i < count && record.build_id == 0; i++) {
    Elf64_Phdr p;
    if (!memory.load(base + elf.e_phoff + i * sizeof(p), p)) return;
    if (p.p_type == PT_LOAD && !has_bias) {
      bias = base - (p.p_vaddr - p.p_offset);
      has_bias = true;
    }
  }
  for (unsigned i = 0; has_bias && i < count && record.build_id == 0; i++) {
    Elf64_Phdr p;
    if (!memory.load(base + elf.e_phoff + i * sizeof(p), p)) return;
    if (p.p_type == PT_NOTE) find_build_id(record, bias + p.p_vaddr, p.p_filesz, memory);
  }
}

}  // namespace

ModuleRecord ModuleRecord::read(const LoadedObject& object, bool is_initial, ProbedMemory& memory) {
  ModuleRecord record;
  record.is_initial = is_initial;
  record.range = object.range;
  record.eh_frame_hdr = object.eh_frame_hdr;
  read_eh_frame_hdr(record, memory);
  if (!is_initial) read_notes(record, memory);
  return record;
}

bool ModuleRecord::is(const LoadedObject& object, ProbedMemory& memory) const {
  if (range != object.range || eh_frame_hdr != object.eh_frame_hdr) return false;
  if (is_initial) return true;
  return build_id != 0 && memory.is_readable(build_id, build_id_size) &&
         std::memcmp(bytes_at(build_id, build_id_size).data(), build_id_bytes.data(), build_id_size) == 0;
}

ModuleRecords::ModuleRecords()
    : pages_(kMost * sizeof(Entry), ZeroedPages::Presence::lazy), records_(static_cast<Entry*>(pages_.get())) {}

std::uint16_t ModuleRecords::find(const LoadedObject& object, ProbedMemory& memory) const {
  const std::uint16_t count = size();
  for (std::uint16_t i = 0; i < count; i++)
    if (records_[i].is_ready.load(std::memory_order_acquire) && records_[i].record.is(object, memory)) return i;
  return kNone;
}

std::size_t ModuleRecords::gone(const ObjectFinder& finder) const {
  std::size_t count = 0;
  for (std::uint16_t i = 0; i < size(); i++) {
    const ModuleRecord& record = records_[i].record;
    LoadedObject object;
    if (!records_[i].is_ready.load(std::memory_order_acquire)) continue;
    if (!finder.find(record.range.begin, object) || object.range != record.range) count++;
  }
  return count;
}

std::uint16_t ModuleRecords::add(const ModuleRecord& record) {
  if (is_full()) return kNone;  // so that the counter cannot wrap
  const std::uint32_t index = reserved_.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMost) return kNone;
  records_[index].record = record;
  records_[index].is_ready.store(true, std::memory_order_release);
  if (record.is_initial && index < 64) initial_.fetch_or(std::uint64_t{1} << index, std::memory_order_release);
  return static_cast<std::uint16_t>(index);
}

}  // namespace mixstack::self_walk
