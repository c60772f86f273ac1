// Where the Windows-style unwinders find their data: RUNTIME_FUNCTION rows, unwind data and code, all addressed
// relative to an image base (RVA). CoreCLR uses these formats on every OS, for ReadyToRun images and jitted code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "mixstack/memory_reader.h"
#include "mixstack/result.h"

namespace mixstack::unwind::windows {

/// One function-table row, widened: all addresses relative to the image base (for jitted code: to the base of the code
/// heap's range). AMD64 rows hold all three words (12 bytes); ARM64 rows have no `end` (8 bytes), it stays 0 there.
/// Source: IMAGE_RUNTIME_FUNCTION_ENTRY, PE format specification section ".pdata".
struct RuntimeFunction {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t unwind_data = 0;
  friend bool operator==(const RuntimeFunction&, const RuntimeFunction&) = default;
};

/// A place in a function. All RVAs of the same image base.
struct FunctionLocation {
  RuntimeFunction function;        ///< the row that covers the code (found with CodeAddress::lookup())
  std::uint32_t pc = 0;            ///< CodeAddress::raw() minus the image base: a return address is *not* lowered
  bool is_return_address = false;  ///< behind a call: may be in a prologue (stack probes), never in an epilogue
};

/// Bytes of one image or code heap by RVA.
class UnwindDataSource {
 public:
  virtual ~UnwindDataSource() = default;
  /// Reads up to `out.size()` bytes; fewer only where the next byte cannot be read, none is an error.
  [[nodiscard]] virtual Result<std::size_t> read_some(std::uint32_t rva, std::span<std::byte> out) const = 0;
  /// The row that covers `rva`, if the source can look one up. Only asked to tell a jump to the cold part of a split
  /// function from a tail call; without an answer such a jump counts as a tail call.
  [[nodiscard]] virtual std::optional<RuntimeFunction> function_at(std::uint32_t rva) const;
  /// A number at `rva`, if all of it can be read.
  template <class T>
  [[nodiscard]] std::optional<T> number_at(std::uint32_t rva) const {
    T value = 0;
    const auto n = read_some(rva, std::as_writable_bytes(std::span(&value, 1)));
    return n && *n == sizeof(T) ? std::optional<T>(value) : std::nullopt;
  }
};

/// Data in a target's memory at `image_base`. Borrows the reader.
class MemoryUnwindData : public UnwindDataSource {
 public:
  MemoryUnwindData(const MemoryReader& memory, Address image_base) : memory_(&memory), image_base_(image_base) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint32_t rva, std::span<std::byte> out) const override {
    return memory_->read_some(image_base_ + rva, out);
  }

 private:
  const MemoryReader* memory_;
  Address image_base_;
};

/// Data in bytes that lie as the loader maps them (byte `i` is RVA `first_rva + i`). Borrows the bytes.
class MappedUnwindData : public UnwindDataSource {
 public:
  explicit MappedUnwindData(std::span<const std::byte> bytes, std::uint32_t first_rva = 0)
      : bytes_(bytes), first_rva_(first_rva) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint32_t rva, std::span<std::byte> out) const override;

 private:
  std::span<const std::byte> bytes_;
  std::uint32_t first_rva_;
};

}  // namespace mixstack::unwind::windows
