#include "base/memory/overlay_memory.h"

#include <algorithm>

namespace mixstack::memory {

OverlayMemory::OverlayMemory(std::span<const MemorySlice> slices, const MemoryReader* behind) : behind_(behind) {
  for (const auto& s : slices) add(s);
}

OverlayMemory::OverlayMemory(const Capture& capture, const MemoryReader* behind) : behind_(behind) {
  pieces_.reserve(capture.threads.size() + capture.roots.size());
  // Sorted by address, so that each slice is appended: inserting 30,000 stacks from below took seconds. Copies that
  // overlap are of one instant.
  std::vector<MemorySlice> slices;
  slices.reserve(std::max(capture.threads.size(), capture.roots.size()));
  const auto add_all = [&] {
    std::stable_sort(slices.begin(), slices.end(),
                     [](const MemorySlice& a, const MemorySlice& b) { return a.base < b.base; });
    for (const MemorySlice& s : slices) add(s);
    slices.clear();
  };
  for (const auto& t : capture.threads)
    if (t.instant == 0) slices.push_back(t.stack);
  add_all();
  for (const auto& r : capture.roots) slices.push_back(r);
  add_all();
}

OverlayMemory::Pieces::const_iterator OverlayMemory::first_ending_after(Address address) const {
  return std::partition_point(pieces_.begin(), pieces_.end(),
                              [&](const MemorySlice& p) { return p.range().end <= address; });
}

void OverlayMemory::add(MemorySlice slice) {
  if (slice.bytes.size() > ~Address{0} - slice.base) slice.bytes = slice.bytes.first(~Address{0} - slice.base);
  while (!slice.bytes.empty()) {
    auto next = first_ending_after(slice.base);
    const Address taken = next == pieces_.end() ? slice.range().end : next->base;
    std::size_t used = 0;
    if (taken <= slice.base) {
      used = std::min<std::size_t>(slice.bytes.size(), next->range().end - slice.base);
    } else {
      used = std::min<std::size_t>(slice.bytes.size(), taken - slice.base);
      pieces_.insert(next, {slice.base, slice.bytes.first(used)});
    }
    slice = {slice.base + used, slice.bytes.subspan(used)};
  }
}

bool OverlayMemory::holds(Address address) const {
  auto piece = first_ending_after(address);
  return piece != pieces_.end() && piece->base <= address;
}

Result<std::size_t> OverlayMemory::read_piece(Address address, std::span<std::byte> out) const {
  auto piece = first_ending_after(address);
  if (piece != pieces_.end() && piece->base <= address) {
    const auto from = piece->bytes.subspan(static_cast<std::size_t>(address - piece->base));
    const std::size_t n = std::min(from.size(), out.size());
    std::copy_n(from.begin(), n, out.begin());
    return n;
  }
  if (behind_ == nullptr) return fail(ErrorCode::unreadable_memory, address);
  // Stop before the next slice: its bytes come from the capture.
  if (piece != pieces_.end() && piece->base - address < out.size()) out = out.first(piece->base - address);
  return behind_->read_some(address, out);
}

Result<std::size_t> OverlayMemory::read_some(Address address, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    auto n = read_piece(address + done, out.subspan(done));
    if (!n && done == 0) return n;
    if (!n || *n == 0) break;
    done += *n;
  }
  return done;
}

}  // namespace mixstack::memory
