#include "dotnet/holders/heap_image.h"

#include <algorithm>
#include <cstring>

namespace mixstack::dotnet::holders {

std::span<std::byte> HeapImage::add(AddressRange range) {
  const auto size = static_cast<std::size_t>(range.size());
  if (size == 0 || size > left()) return {};
  const std::span<std::byte> out(room_.data() + used_, size);
  pieces_.push_back({range, used_});
  used_ += size;
  return out;
}

void HeapImage::sort() {
  std::sort(pieces_.begin(), pieces_.end(),
            [](const Piece& a, const Piece& b) { return a.range.begin < b.range.begin; });
  latest_ = 0;
}

void HeapImage::close() {
  memory::give_back(room_.data() + used_, left());
  room_.resize(used_);
}

void HeapImage::set_moving(std::vector<AddressRange> moving) {
  std::sort(moving.begin(), moving.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  moving_.clear();
  for (const AddressRange& r : moving) {
    if (r.empty()) continue;
    if (moving_.empty() || r.begin > moving_.back().end) {
      moving_.push_back(r);
    } else {
      moving_.back().end = std::max(moving_.back().end, r.end);
    }
  }
}

void HeapImage::clear() {
  pieces_.clear();
  used_ = 0;
  latest_ = 0;
}

std::span<const std::byte> HeapImage::bytes_at(Address address, std::uint64_t most) const {
  if (latest_ >= pieces_.size() || !pieces_[latest_].range.contains(address)) {
    const auto it = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                                     [](Address a, const Piece& p) { return a < p.range.begin; });
    if (it == pieces_.begin()) return {};
    const auto found = static_cast<std::size_t>(it - pieces_.begin()) - 1;
    if (!pieces_[found].range.contains(address)) return {};
    latest_ = found;
  }
  const Piece& p = pieces_[latest_];
  const std::uint64_t n = std::min(most, p.range.end - address);
  return {room_.data() + p.offset + (address - p.range.begin), static_cast<std::size_t>(n)};
}

Result<std::size_t> HeapImage::read_some(Address address, std::span<std::byte> out) const {
  const auto copied = bytes_at(address, out.size());
  if (!copied.empty()) {
    std::memcpy(out.data(), copied.data(), copied.size());
    return copied.size();
  }
  const auto moves = std::upper_bound(moving_.begin(), moving_.end(), address,
                                      [](Address a, const AddressRange& r) { return a < r.end; });
  if (moves != moving_.end() && moves->contains(address)) return fail(ErrorCode::unreadable_memory, address);
  // Not into a copy, nor into what moves: the rest is asked for anew.
  const auto next = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                                     [](Address a, const Piece& p) { return a < p.range.begin; });
  std::uint64_t most = out.size();
  if (next != pieces_.end()) most = std::min(most, next->range.begin - address);
  if (moves != moving_.end()) most = std::min(most, moves->begin - address);
  return (most >= kBulk ? bulk_ : below_).read_some(address, out.first(static_cast<std::size_t>(most)));
}

}  // namespace mixstack::dotnet::holders
