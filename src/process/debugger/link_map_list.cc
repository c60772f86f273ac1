#include "process/debugger/link_map_list.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>

namespace mixstack::process {
namespace {

constexpr std::uint64_t kMaxHeaders = 256;
constexpr std::size_t kMaxDynamic = 512;
constexpr std::size_t kMaxLibraries = 4096;
constexpr std::size_t kMaxNamespaces = 64;
constexpr std::size_t kMaxPath = 4096;

// Words of struct r_debug and r_debug_extended (<link.h>): version, map, brk, state, ldbase, next.
enum : std::size_t { kVersion, kMap, kBrk, kState, kLdBase, kNext };
// Words of struct link_map (<link.h>): addr, name, ld, next, prev.
enum : std::size_t { kAddr, kName, kLd, kLinkNext, kPrev, kLinkWords };

[[nodiscard]] std::uint32_t low_half(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

}  // namespace

Result<Address> LinkMapList::dynamic_section(const MemoryReader& memory) const {
  if (headers_ == 0 || header_count_ == 0 || header_count_ > kMaxHeaders) return fail(ErrorCode::not_found);
  Address bias = 0;
  const Elf64_Phdr* dynamic = nullptr;
  std::vector<Elf64_Phdr> headers(header_count_);
  auto read = memory.read_exact(headers_, std::as_writable_bytes(std::span(headers)));
  if (!read) return fail(read.error());
  for (const auto& h : headers) {
    if (h.p_type == PT_PHDR) bias = headers_ - h.p_vaddr;  // without one the program is linked to fixed addresses
    if (h.p_type == PT_DYNAMIC) dynamic = &h;
  }
  if (dynamic == nullptr) return fail(ErrorCode::not_found);
  return bias + dynamic->p_vaddr;
}

Result<Address> LinkMapList::debug_slot(const MemoryReader& memory) {
  if (slot_ != 0) return slot_;
  auto dynamic = dynamic_section(memory);
  if (!dynamic) return fail(dynamic.error());
  for (std::size_t i = 0; i < kMaxDynamic; i++) {
    const Address at = *dynamic + i * sizeof(Elf64_Dyn);
    auto entry = memory.read<Elf64_Dyn>(at);
    if (!entry) return fail(entry.error());
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_DEBUG) return slot_ = at + offsetof(Elf64_Dyn, d_un);
  }
  return fail(ErrorCode::not_found);
}

Result<Address> LinkMapList::debug_address(const MemoryReader& memory) {
  auto slot = debug_slot(memory);
  if (!slot) return fail(slot.error());
  auto debug = memory.read<std::uint64_t>(*slot);
  if (!debug) return fail(debug.error());
  if (*debug == 0) return fail(ErrorCode::not_found);
  return *debug;
}

Result<Address> LinkMapList::trap(const MemoryReader& memory) {
  auto debug = debug_address(memory);
  if (!debug) return fail(debug.error());
  auto words = read_debug(memory, *debug);
  if (!words) return fail(words.error());
  if ((*words)[kBrk] == 0) return fail(ErrorCode::not_found);
  return (*words)[kBrk];
}

Result<LinkMapList::DebugWords> LinkMapList::read_debug(const MemoryReader& memory, Address at) {
  DebugWords words{};
  // Before version 2 the structure ends before `next`, maybe at the end of a mapping.
  auto read = memory.read_exact(at, std::as_writable_bytes(std::span(words).first(kNext)));
  if (!read) return fail(read.error());
  if (low_half(words[kVersion]) >= 2) {
    auto next = memory.read<std::uint64_t>(at + kNext * sizeof(std::uint64_t));
    if (!next) return fail(next.error());
    words[kNext] = *next;
  }
  return words;
}

Result<void> LinkMapList::read_chain(const MemoryReader& memory, Address first, State& state) {
  Address before = 0;
  for (Address at = first; at != 0;) {
    if (state.libraries.size() >= kMaxLibraries) return fail(ErrorCode::limit_exceeded, at);
    auto link = memory.read<std::array<std::uint64_t, kLinkWords>>(at);
    if (!link) return fail(link.error());
    if ((*link)[kPrev] != before) return fail(ErrorCode::process_changed, at);
    auto path = (*link)[kName] == 0 ? std::string() : memory.read_cstring((*link)[kName], kMaxPath);
    if (!path) return fail(path.error());
    seen_.push_back({at, {}, kLinkWords});
    std::copy(link->begin(), link->end(), seen_.back().words.begin());
    state.libraries.push_back({std::move(*path), (*link)[kAddr], (*link)[kLd], at, false});
    before = at;
    at = (*link)[kLinkNext];
  }
  return {};
}

Result<void> LinkMapList::read_lists(const MemoryReader& memory, Address debug, State& state) {
  Address at = debug;
  for (std::size_t n = 0; at != 0; n++) {
    if (n >= kMaxNamespaces) return fail(ErrorCode::limit_exceeded, at);
    auto words = read_debug(memory, at);
    if (!words) return fail(words.error());
    // Version 0: the linker has not filled it in yet, and nothing holds.
    if (low_half((*words)[kVersion]) == 0) return fail(n == 0 ? ErrorCode::not_found : ErrorCode::process_changed, at);
    state.consistent = state.consistent && low_half((*words)[kState]) == 0 && (n > 0 || (*words)[kMap] != 0);
    seen_.push_back({at, *words, low_half((*words)[kVersion]) >= 2 ? kDebugWords : kDebugWords - 1});
    if (auto chain = read_chain(memory, (*words)[kMap], state); !chain) return fail(chain.error());
    auto again = read_debug(memory, at);
    if (!again || *again != *words) return fail(ErrorCode::process_changed, at);
    at = (*words)[kNext];
  }
  return {};
}

Result<LinkMapList::State> LinkMapList::read(const MemoryReader& memory, const std::string& executable) {
  seen_.clear();
  auto debug = debug_address(memory);
  if (!debug) return fail(debug.error());
  State state;
  state.consistent = true;
  if (auto read = read_lists(memory, *debug, state); !read) {
    seen_.clear();
    return fail(read.error());
  }
  if (!state.libraries.empty()) {
    state.libraries.front().executable = true;
    if (state.libraries.front().path.empty()) state.libraries.front().path = executable;
  }
  return state;
}

bool LinkMapList::is_unchanged(const memory::BulkMemory& memory) {
  if (seen_.empty()) return false;
  now_.resize(seen_.size());
  reads_.clear();
  for (std::size_t i = 0; i < seen_.size(); i++)
    reads_.push_back({seen_[i].at, std::as_writable_bytes(std::span(now_[i])).first(seen_[i].count * 8), 0});
  memory.read_ranges(reads_);
  for (std::size_t i = 0; i < seen_.size(); i++) {
    if (reads_[i].done != reads_[i].out.size()) return false;
    if (!std::equal(now_[i].begin(), now_[i].begin() + static_cast<std::ptrdiff_t>(seen_[i].count),
                    seen_[i].words.begin()))
      return false;
  }
  return true;
}

}  // namespace mixstack::process
