// The target's memory and registers, served by libmixstack over the socket, with a page cache.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "dotnet/dac/message_channel.h"

namespace mixstack::helper {

/// Every answer comes from the library; when that is gone, the program exits. Called by the DAC, in the one thread that
/// serves requests.
class RemoteMemory {
 public:
  explicit RemoteMemory(dotnet::dac::MessageChannel& channel) : channel_(channel) {}

  /// Reads up to `out.size()` bytes; returns how many.
  [[nodiscard]] std::size_t read(std::uint64_t address, std::span<std::byte> out);
  /// A CONTEXT of the thread, of `out.size()` bytes; false: the library has none.
  [[nodiscard]] bool context(std::uint32_t thread, std::uint32_t flags, std::span<std::byte> out);
  /// Bytes of an assembly's metadata from its file, up to `out.size()`; returns how many.
  [[nodiscard]] std::size_t metadata(dotnet::dac::MetadataRequest request, std::span<std::byte> out);
  /// Forgets all pages, for another capture.
  void clear() { pages_.clear(); }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kFetch = 4 * kPage;
  static constexpr std::size_t kMaxPages = 64u << 10;  // 256 MiB

  [[nodiscard]] const std::vector<std::byte>& page(std::uint64_t base);
  [[nodiscard]] std::vector<std::byte> ask(std::uint64_t address, std::size_t size);

  dotnet::dac::MessageChannel& channel_;
  std::unordered_map<std::uint64_t, std::vector<std::byte>> pages_;  ///< readable bytes of each page, from its start
};

}  // namespace mixstack::helper
