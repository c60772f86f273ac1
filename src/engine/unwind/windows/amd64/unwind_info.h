// UNWIND_INFO of AMD64, versions 1 and 2, with CoreCLR's Unix extension. Sources: "x64 exception handling" of the
// Microsoft C++ documentation; dotnet/runtime src/coreclr/inc/win64unwind.h and src/coreclr/unwinder/amd64/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/system/byte_cursor.h"
#include "engine/unwind/windows/unwind_data.h"
#include "mixstack/result.h"

namespace mixstack::unwind::windows::amd64 {

/// UNWIND_OP_CODES.
enum class Op : std::uint8_t {
  push_nonvol = 0,      ///< info: register
  alloc_large = 1,      ///< info 0: u16 * 8 follows; 1: u32 follows
  alloc_small = 2,      ///< info * 8 + 8 bytes
  set_fpreg = 3,        ///< frame register = rsp + frame_offset * 16
  save_nonvol = 4,      ///< info: register; u16 * 8 follows
  save_nonvol_far = 5,  ///< u32 follows
  epilog = 6,           ///< version 2: epilogue position
  spare = 7,
  save_xmm128 = 8,
  save_xmm128_far = 9,
  push_machframe = 10,   ///< info: 1 with error code
  set_fpreg_large = 11,  ///< CoreCLR on Unix: u32 * 16 follows
};

/// One 16-bit slot: offset of the end of its instruction in the prologue, operation, information.
struct Code {
  std::uint8_t offset = 0;
  Op op = Op::push_nonvol;
  std::uint8_t info = 0;
};

/// 4 + 255 slots + padding + chained row.
inline constexpr std::size_t kMaxUnwindInfoSize = 4 + 2 * 256 + 12;
/// As UNWIND_CHAIN_LIMIT of dotnet/runtime src/coreclr/unwinder/amd64/unwinder.cpp.
inline constexpr unsigned kChainLimit = 32;

/// A checked view of one record. Borrows the bytes.
class UnwindInfo {
 public:
  /// `truncated` when the bytes end inside, `unsupported` for a version other than 1 and 2.
  [[nodiscard]] static Result<UnwindInfo> parse(std::span<const std::byte> bytes);

  [[nodiscard]] unsigned version() const { return version_; }
  [[nodiscard]] bool is_chained() const { return (flags_ & 4) != 0; }  // UNW_FLAG_CHAININFO
  [[nodiscard]] unsigned prologue_size() const { return prologue_size_; }
  [[nodiscard]] unsigned code_count() const { return code_count_; }
  /// Windows number; 0 is "none".
  [[nodiscard]] unsigned frame_register() const { return frame_register_; }
  /// In bytes, a SET_FPREG_LARGE counted in.
  [[nodiscard]] std::int64_t frame_offset() const { return frame_offset_; }
  /// `index` below code_count().
  [[nodiscard]] Code code(unsigned index) const {
    const std::uint16_t raw = base::load_at<std::uint16_t>(codes_, std::size_t{index} * 2).value_or(0);
    return {static_cast<std::uint8_t>(raw & 0xff), static_cast<Op>(raw >> 8 & 15),
            static_cast<std::uint8_t>(raw >> 12)};
  }
  /// Slots of the operation at `index`, itself included.
  [[nodiscard]] static unsigned slots(const Code& code) {
    constexpr std::array<std::uint8_t, 16> kSlots{1, 2, 1, 1, 2, 3, 2, 3, 2, 3, 1, 3, 1, 1, 1, 1};
    return kSlots[static_cast<unsigned>(code.op) & 15] + (code.op == Op::alloc_large && code.info != 0 ? 1u : 0u);
  }
  /// The number in the slots behind `index`: 16 or 32 bits. Nothing when they lie outside.
  [[nodiscard]] std::optional<std::uint32_t> operand16(unsigned index) const;
  [[nodiscard]] std::optional<std::uint32_t> operand32(unsigned index) const;
  /// The row behind the codes of a chained record.
  [[nodiscard]] RuntimeFunction chained() const { return chained_; }

 private:
  std::span<const std::byte> codes_;
  unsigned version_ = 0, flags_ = 0, prologue_size_ = 0, code_count_ = 0, frame_register_ = 0;
  std::int64_t frame_offset_ = 0;
  RuntimeFunction chained_;
};

/// Holds the bytes of one record that was read through a source.
struct UnwindInfoBuffer {
  std::array<std::byte, kMaxUnwindInfoSize> bytes;
  /// Reads the record at `rva`. The view borrows this buffer.
  [[nodiscard]] Result<UnwindInfo> load(const UnwindDataSource& source, std::uint32_t rva);
};

/// DWARF number of a register by its number in instructions and unwind codes (rax rcx rdx rbx rsp rbp rsi rdi r8 ...).
[[nodiscard]] unsigned dwarf_register(unsigned machine_number);

}  // namespace mixstack::unwind::windows::amd64
