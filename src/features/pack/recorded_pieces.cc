#include "features/pack/recorded_pieces.h"

#include <algorithm>
#include <array>
#include <set>

#include "engine/images/module_probe.h"
#include "process/kernel/memory_map.h"

namespace mixstack::packing {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStackOfACore = 1 << 20, kStacksOfACore = 64 << 20;

}  // namespace

void add_headers(const MemoryReader& memory, pack::PackedProcess& recording) {
  std::array<std::byte, kPage> page;
  for (const Region& r : recording.regions) {
    if (!r.path.starts_with('/') || r.shared || r.writable || !r.readable) continue;
    const auto n = memory.read_some(r.range.begin, page);
    if (!n || *n < 4) continue;
    const bool is_elf = page[0] == std::byte{0x7f} && page[1] == std::byte{'E'} && page[2] == std::byte{'L'};
    const bool is_pe = page[0] == std::byte{'M'} && page[1] == std::byte{'Z'};
    if (!is_elf && !is_pe) continue;
    recording.memory.add(r.range.begin, std::span(page).first(*n));
    const auto head = is_elf ? images::probe_image(memory, r.range.begin) : fail(ErrorCode::not_found);
    if (!head) continue;
    for (const images::Segment& s : head->segments) {
      if (s.type != 4 /* PT_NOTE */ || s.memory_size > kPage) continue;
      std::vector<std::byte> note(static_cast<std::size_t>(s.memory_size));
      if (memory.read_exact(head->load_bias + s.vaddr, note)) recording.memory.add(head->load_bias + s.vaddr, note);
    }
  }
}

void keep_dumped(const process::DumpedMemory& dumped, pack::PackedProcess& recording) {
  pack::MemoryImage held;
  recording.memory.for_each_run([&](Address begin, std::span<std::byte> bytes) {
    const Address end = begin + bytes.size();
    for (Address at = dumped.next_dumped(begin, end); at < end; at = dumped.next_dumped(at, end)) {
      const auto n = dumped.read_some(at, bytes.first(static_cast<std::size_t>(end - at)));
      if (!n || *n == 0) break;
      held.add(at, bytes.first(*n));
      at += *n;
    }
  });
  recording.memory = std::move(held);
}

void add_files_behind_memory(const Target& target, const process::DumpedMemory& dumped,
                             pack::PackedProcess& recording) {
  std::set<std::string> known, paths;
  for (const pack::PackedProcess::File& file : recording.files) known.insert(file.path);
  recording.memory.for_each_run([&](Address begin, std::span<std::byte> bytes) {
    const Address end = begin + bytes.size();
    for (Address at = begin; at < end;) {
      const Address held = dumped.next_dumped(at, end);
      if (const Region* r = at < held ? process::find_region(recording.regions, at) : nullptr) paths.insert(r->path);
      if (held >= end) break;
      std::array<std::byte, kPage> page;
      const auto n = dumped.read_some(held, std::span(page).first(static_cast<std::size_t>(end - held)));
      if (!n || *n == 0) break;
      at = held + *n;
    }
  });
  for (const Region& r : recording.regions) {
    if (!r.path.starts_with('/') || !paths.contains(r.path) || !known.insert(r.path).second) continue;
    if (auto file = target.open_file(r); file && *file != nullptr)
      recording.files.push_back({r.path, std::move(*file)});
  }
}

void add_proofs(const process::DumpedMemory& dumped, pack::PackedProcess& recording) {
  constexpr std::size_t kMostOfAFile = 4 << 20;
  std::vector<std::byte> page(kPage);
  for (const pack::PackedProcess::File& file : recording.files) {
    const auto magic = file.bytes->range(0, 2);
    if (magic.size() != 2 || magic[0] != std::byte{'M'} || magic[1] != std::byte{'Z'}) continue;
    std::size_t left = kMostOfAFile;
    for (const Region& r : recording.regions) {
      if (r.path != file.path) continue;
      for (Address at = dumped.next_dumped(r.range.begin, r.range.end); at < r.range.end && left >= kPage;
           at = dumped.next_dumped(at, r.range.end)) {
        const auto n = dumped.read_some(at, page);
        if (!n || *n == 0) break;
        recording.memory.add(at, std::span(page).first(*n));
        at += *n;
        left -= *n;
      }
    }
  }
}

void add_stacks(const process::DumpedMemory& dumped, pack::PackedProcess& recording) {
  std::size_t left = kStacksOfACore;
  for (const auto& [tid, thread] : recording.threads) {
    const Address sp = thread.capture.registers.sp();
    const Region* region = process::find_region(recording.regions, sp);
    if (!thread.capture.captured || region == nullptr) continue;
    std::vector<std::byte> stack(
        static_cast<std::size_t>(std::min<std::uint64_t>({kStackOfACore, left, region->range.end - sp})));
    const auto n = dumped.read_some(sp, stack);
    if (!n) continue;
    recording.memory.add(sp, std::span(stack).first(*n));
    left -= *n;
  }
}

}  // namespace mixstack::packing
