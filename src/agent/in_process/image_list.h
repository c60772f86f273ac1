// Precompiled (ReadyToRun) images of our own process: their code ranges and the rows of their unwind data.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "engine/unwind/windows/unwind_data.h"
#include "mixstack/address.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"

namespace mixstack::agent {

/// A mapped image with machine code. Plain data.
struct CodeImage {
  AddressRange range;
  std::uint32_t rows = 0, count = 0;  ///< RVA and number of its RUNTIME_FUNCTION rows

  /// Reads the headers of an image mapped in the loader's layout. `not_found`: it has no machine code of its own.
  /// Sources: the PE format specification; docs/design/coreclr/botr/readytorun-format.md in dotnet/runtime.
  [[nodiscard]] static Result<CodeImage> at(Address base, Arch arch, const MemoryReader& memory);
  /// A section of the ReadyToRun header of an image mapped at `base`, whether it has code of its own or not.
  [[nodiscard]] static Result<AddressRange> section(Address base, std::uint32_t type, const MemoryReader& memory);
  /// The row that covers an RVA. Signal-safe if the reader is.
  [[nodiscard]] std::optional<unwind::windows::RuntimeFunction> row_of(std::uint32_t rva, Arch arch,
                                                                       const MemoryReader& memory) const;
};

/// Append-only: images of precompiled code are never unloaded. `find` is signal-safe. Bounded.
class ImageList {
 public:
  static constexpr std::size_t kMost = 2048;

  [[nodiscard]] const CodeImage* find(Address address) const {
    const std::uint32_t count = count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; i++)
      if (images_[i].range.contains(address)) return &images_[i];
    return nullptr;
  }
  /// False: known already, or no room.
  bool add(const CodeImage& image);
  [[nodiscard]] std::size_t size() const { return count_.load(std::memory_order_acquire); }

 private:
  std::array<CodeImage, kMost> images_{};
  std::atomic<std::uint32_t> count_{0};
  std::mutex mutex_;  // for writers
};

}  // namespace mixstack::agent
