#include "features/memory/stack_ranges.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/arch/per_cpu.h"

namespace mixstack::memory_use {
namespace {

// struct pthread (nptl/descr.h of glibc) begins with a header, behind which it has a link of a list of all threads.
// Where variables of threads lie below it (x86-64), the header is tcbhead_t: {itself, dtv, itself, ...}
// (sysdeps/x86_64/nptl/ tls.h). Where they lie above it (ARM64, TLS_DTV_AT_TP), the header is 24 pointers that say
// nothing.
struct ThreadBlock {
  std::uint64_t align = 0, least_bytes = 0;  ///< 0: not known
  std::uint64_t link = 0;                    ///< 0: it is known by its header
};
constexpr arch::PerCpu<ThreadBlock> kBlocks{.x86_64 = {64, 24, 0}, .aarch64 = {16, 0xd8, 0xc0}};

std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// As many bytes as there are: one read may end at a page.
std::size_t fill(const MemoryReader& memory, Address at, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto got = memory.read_some(at + done, out.subspan(done));
    if (!got || *got == 0) break;
    done += *got;
  }
  return done;
}

/// {next, previous}, and then the thread's number: the neighbours refer back.
bool is_linked(const MemoryReader& memory, const std::byte* bytes, Address link) {
  constexpr std::uint64_t kMostThreads = 1 << 22;  // PID_MAX_LIMIT
  const std::uint64_t next = word_at(bytes), previous = word_at(bytes + 8);
  const std::uint64_t number = word_at(bytes + 16) & 0xffffffff;
  if (next == 0 || previous == 0 || next % 8 != 0 || previous % 8 != 0 || number == 0 || number > kMostThreads)
    return false;
  const auto back = memory.read<std::uint64_t>(next + 8), forth = memory.read<std::uint64_t>(previous);
  return back && forth && *back == link && *forth == link;
}

/// The end of the stack as such a block says it: `stackblock` and `stackblock_size`, which take its guard in, lie
/// somewhere in the block.
std::optional<Address> end_of_stack(const MemoryReader& memory, Address block, Address sp, Address last,
                                    std::uint64_t page_bytes) {
  constexpr std::uint64_t kMostSize = std::uint64_t{1} << 40;
  std::array<std::byte, 0x800> bytes{};
  const std::size_t got = fill(memory, block, bytes);
  for (std::size_t i = 0; i + 16 <= got; i += 8) {
    const std::uint64_t begin = word_at(bytes.data() + i), size = word_at(bytes.data() + i + 8);
    if (begin == 0 || begin > sp || size > kMostSize || begin + size <= block) continue;
    const Address end = (begin + size + page_bytes - 1) & ~(page_bytes - 1);
    if (end <= last) return end;
  }
  return std::nullopt;
}

}  // namespace

AddressRange stack_of(const MemoryReader& memory, const Region& mapping, Address sp, std::uint64_t page_bytes,
                      Arch arch) {
  constexpr std::uint64_t kAtOnce = 16 << 10, kMost = 16 << 20;
  const ThreadBlock& block = kBlocks[arch];
  if (!mapping.path.empty() || block.align == 0) return mapping.range;
  const Address first = sp & ~(block.align - 1), last = mapping.range.end;
  std::vector<std::byte> bytes;
  for (Address at = first; at < last && at - first < kMost;) {
    bytes.resize(static_cast<std::size_t>(std::min(kAtOnce, last - at)));
    const std::size_t got = fill(memory, at, bytes);
    if (got < block.least_bytes) break;
    std::uint64_t i = 0;
    for (; i + block.least_bytes <= got; i += block.align) {
      const std::byte* const own = bytes.data() + i;
      if (block.link == 0) {
        if (word_at(own) == at + i && word_at(own + 16) == at + i)
          return {mapping.range.begin, std::min(last, (at + i + page_bytes) & ~(page_bytes - 1))};
      } else if (is_linked(memory, own + block.link, at + i + block.link)) {
        if (const auto end = end_of_stack(memory, at + i, sp, last, page_bytes)) return {mapping.range.begin, *end};
      }
    }
    at += i;
  }
  return mapping.range;
}

}  // namespace mixstack::memory_use
