// Some memory of a process, to the byte.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>

#include "mixstack/address.h"

namespace mixstack::pack {

/// The known bytes of a process. At most 256 MiB (kMaxPages); more is left out, and `is_cut` says so. Not thread-safe.
class MemoryImage {
 public:
  /// Bytes that are known already stay as they are, unless they come from before `begin_again`.
  void add(Address address, std::span<const std::byte> bytes);
  /// Overwrites known bytes, too.
  void replace(Address address, std::span<const std::byte> bytes) { put(address, bytes, true); }
  void remove(AddressRange range);
  void begin_again();

  /// Calls `take` with every run of neighbouring bytes, ascending; of at most a page each.
  void for_each_run(const std::function<void(Address, std::span<std::byte>)>& take);
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kMaxPages = 65'536;
  struct Page {
    std::array<std::byte, kPage> bytes{};
    std::bitset<kPage> known, fresh;
  };
  [[nodiscard]] Page* page_at(Address aligned);
  void put(Address address, std::span<const std::byte> bytes, bool force);

  std::map<Address, std::unique_ptr<Page>> pages_;
  Page* latest_ = nullptr;
  Address latest_at_ = 0;
  bool is_cut_ = false;
};

}  // namespace mixstack::pack
