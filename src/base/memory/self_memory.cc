#include "base/memory/self_memory.h"

#include <algorithm>
#include <array>

namespace mixstack::memory {
namespace {

// The smallest page of any kernel: larger pages are only probed more often than needed.
constexpr Address kPage = 4096;
constexpr std::size_t kMostAtOnce = 1 << 30;

[[nodiscard]] bool can_copy() {
  const std::array<std::byte, 1> from{std::byte{1}};
  std::array<std::byte, 1> to{};
  return copy_own_memory(reinterpret_cast<std::uintptr_t>(from.data()), to) == 1 && to == from;
}

}  // namespace

SelfMemory::SelfMemory() : probe_(PageProbe::find_way()), can_copy_(can_copy()) {}

Result<std::size_t> SelfMemory::read_some(Address address, std::span<std::byte> out) const {
  if (out.empty()) return std::size_t{0};
  out = out.first(std::min(out.size(), kMostAtOnce));
  if (!can_copy_) return read_probed(address, out);
  const std::int64_t n = copy_own_memory(address, out);
  if (n <= 0) return fail(ErrorCode::unreadable_memory, address, static_cast<int>(-n));
  return static_cast<std::size_t>(n);
}

Result<std::size_t> SelfMemory::read_probed(Address address, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const Address at = address + done;
    if (at < address || !probe_.is_readable(at & ~Address{7})) break;
    const auto n = static_cast<std::size_t>(std::min<Address>(out.size() - done, kPage - at % kPage));
    std::memcpy(out.data() + done, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(at)), n);
    done += n;
  }
  if (done == 0) return fail(ErrorCode::unreadable_memory, address);
  return done;
}

}  // namespace mixstack::memory
