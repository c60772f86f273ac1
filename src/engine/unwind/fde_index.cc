#include "engine/unwind/fde_index.h"

#include <bit>
#include <limits>
#include <map>
#include <utility>

#include "engine/unwind/eh_frame_hdr.h"

namespace mixstack::unwind {
namespace {

using Function = std::pair<std::uint64_t, std::uint64_t>;  // start of code, position of the FDE in the section

/// Every readable FDE of the section. Stops where the chain of lengths breaks: the remainder is unknown.
std::vector<Function> read_all(const CfiSection& section) {
  std::vector<Function> functions;
  std::map<std::uint64_t, Result<Cie>> cies;
  std::uint64_t offset = 0;
  while (offset < section.bytes.size()) {
    const auto entry = read_entry(section, offset);
    if (!entry) break;
    offset = entry->next;
    if (entry->is_terminator || entry->is_cie) continue;
    auto known = cies.find(entry->cie_offset);
    if (known == cies.end()) known = cies.emplace(entry->cie_offset, read_cie(section, entry->cie_offset)).first;
    if (!known->second) continue;
    const auto fde = read_fde(section, *entry, *known->second);
    // Linkers set the start of functions they dropped to zero.
    if (!fde || fde->pc_begin == 0 || fde->pc_begin == fde->pc_end) continue;
    functions.emplace_back(fde->pc_begin, fde->offset);
  }
  return functions;
}

}  // namespace

FdeIndex::FdeIndex(const CfiSection& section, std::span<const std::byte> header, std::uint64_t header_address) {
  if (section.bytes.empty()) return;
  if (header.empty() || !use_header(section, header, header_address)) scan(section);
  if (size_ != 0) set_limits();
}

bool FdeIndex::use_header(const CfiSection& section, std::span<const std::byte> bytes, std::uint64_t address) {
  const auto header = read_eh_frame_hdr(bytes, address, section.address_size);
  if (!header || header->count == 0) return false;
  if (header->eh_frame_address && *header->eh_frame_address != section.address) return false;
  if (header->table_encoding == (eh_pe::kDataRel | eh_pe::kSdata4)) {
    if (header->count > (bytes.size() - header->table_offset) / sizeof(Entry)) return false;
    table_ = bytes.data() + header->table_offset;
    size_ = static_cast<std::size_t>(header->count);
    base_ = address;
    fde_base_ = address - section.address;
    if (is_sorted()) return true;
    size_ = 0;
  }
  auto entries = decode_eh_frame_hdr_table(*header, bytes, address, section.address_size);
  if (!entries) return false;
  for (auto& [code, fde] : *entries) fde -= section.address;
  own(std::move(*entries));
  return size_ != 0;
}

void FdeIndex::scan(const CfiSection& section) {
  // All at once if possible; otherwise reading stops at the first missing byte.
  (void)section.ensure(0, section.bytes.size());
  own(read_all(section));
}

void FdeIndex::own(std::vector<Function> functions) {
  std::stable_sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  constexpr std::uint64_t kReach = std::numeric_limits<std::int32_t>::max();
  base_ = functions.empty() ? 0 : functions.front().first;
  fde_base_ = 0;
  owned_.clear();
  owned_.reserve(functions.size());
  for (const auto& [code, fde] : functions)
    if (code - base_ <= kReach && fde <= kReach)
      owned_.push_back({static_cast<std::int32_t>(code - base_), static_cast<std::int32_t>(fde)});
  table_ = reinterpret_cast<const std::byte*>(owned_.data());
  size_ = owned_.size();
}

bool FdeIndex::is_sorted() const {
  bool disorder = false;  // no early exit, so that the compiler may use vector instructions
  for (std::size_t i = 1; i < size_; i++) disorder |= entry(i - 1).code > entry(i).code;
  return !disorder;
}

void FdeIndex::set_limits() {
  first_ = code(0);
  const std::uint64_t span = code(size_ - 1) - first_;
  reach_ = span + std::numeric_limits<std::uint32_t>::max();
  // About one function per bucket.
  const std::uint64_t wanted = std::max<std::uint64_t>(span / size_, 1);
  shift_ = static_cast<unsigned>(std::bit_width(wanted - 1));
  last_bucket_ = static_cast<std::size_t>(span >> shift_);
}

std::size_t FdeIndex::find_without_buckets(std::uint64_t pc) const {
  if (lookups_.fetch_add(1, std::memory_order_relaxed) >= kLookupsBeforeBuckets) make_buckets();
  return find_between(pc, 0, size_);
}

void FdeIndex::make_buckets() const {
  const std::lock_guard lock(mutex_);
  if (buckets_.load(std::memory_order_relaxed) != nullptr) return;
  bucket_storage_.assign(last_bucket_ + 2, static_cast<std::uint32_t>(size_));
  std::size_t next = 0;
  for (std::size_t i = 0; i < size_; i++) {
    const auto bucket = static_cast<std::size_t>((code(i) - first_) >> shift_);
    while (next <= bucket) bucket_storage_[next++] = static_cast<std::uint32_t>(i);
  }
  buckets_.store(bucket_storage_.data(), std::memory_order_release);
}

std::size_t FdeIndex::memory_size() const {
  const std::lock_guard lock(mutex_);
  return owned_.size() * sizeof(Entry) + bucket_storage_.size() * sizeof(std::uint32_t);
}

}  // namespace mixstack::unwind
