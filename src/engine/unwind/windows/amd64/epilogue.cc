#include "engine/unwind/windows/amd64/epilogue.h"

#include "base/arch/x86_64/cpu.h"
#include "base/system/byte_cursor.h"
#include "mixstack/registers.h"

namespace mixstack::unwind::windows::amd64 {
namespace {

class Reader {
 public:
  Reader(std::span<const std::byte> code, std::uint32_t pc) : code_(code), pc_(pc) {}
  /// -1 behind the end, which no instruction begins with.
  [[nodiscard]] int peek(std::size_t i) const {
    return at_ + i < code_.size() ? std::to_integer<int>(code_[at_ + i]) : -1;
  }
  template <class T>
  [[nodiscard]] std::optional<T> load(std::size_t i) const {
    return base::load_at<T>(code_, at_ + i);
  }
  void skip(std::size_t n) { at_ += n; }
  [[nodiscard]] std::uint32_t rva() const { return pc_ + static_cast<std::uint32_t>(at_); }

 private:
  std::span<const std::byte> code_;
  std::size_t at_ = 0;
  std::uint32_t pc_;
};

/// ModRM of `lea rsp, [base + disp]`: destination rsp, displacement of `size` bytes.
bool release_by_lea(Reader& in, unsigned frame_register, RuleBuilder& builder) {
  const int rex = in.peek(0);
  const int modrm = in.peek(2);
  if ((rex & 0xfe) != 0x48 || in.peek(1) != 0x8d || modrm < 0) return false;
  const auto base = static_cast<unsigned>((rex & 1) << 3 | (modrm & 7));
  // Base 4 and 12 would be followed by a SIB byte.
  if (base == 0 || base != frame_register || (base & 7) == 4) return false;
  const bool small = (modrm & 0xf8) == 0x60;
  if (!small && (modrm & 0xf8) != 0xa0) return false;
  const auto disp8 = in.load<std::int8_t>(3);
  const auto disp32 = in.load<std::int32_t>(3);
  if (small ? !disp8 : !disp32) return false;
  if (!builder.set_sp(dwarf_register(base), small ? *disp8 : *disp32)) return false;
  in.skip(small ? 4 : 7);
  return true;
}

void release_frame(Reader& in, unsigned frame_register, RuleBuilder& builder) {
  if (in.peek(0) == 0x48 && in.peek(2) == 0xc4) {
    if (in.peek(1) == 0x83) {
      if (const auto n = in.load<std::int8_t>(3)) {
        builder.move_sp(*n);
        in.skip(4);
      }
      return;
    }
    if (in.peek(1) == 0x81) {
      if (const auto n = in.load<std::int32_t>(3)) {
        builder.move_sp(*n);
        in.skip(7);
      }
      return;
    }
  }
  (void)release_by_lea(in, frame_register, builder);
}

/// False for `pop rsp`, which no epilogue has.
bool pop_registers(Reader& in, RuleBuilder& builder) {
  for (unsigned n = 0; n < 16; n++) {
    const int first = in.peek(0);
    const bool rex = first >= 0 && (first & 0xf0) == 0x40;
    const int opcode = rex ? in.peek(1) : first;
    if (opcode < 0 || (opcode & 0xf8) != 0x58) return true;
    const unsigned reg = dwarf_register(static_cast<unsigned>(opcode & 7) | (rex && (first & 1) != 0 ? 8u : 0u));
    if (reg == x86_64_reg::rsp) return false;
    // A pop to a scratch register only drops a word.
    if ((arch::x86_64::kCalleeSavedWindows >> reg & 1) != 0) builder.saved(reg, builder.sp());
    builder.move_sp(8);
    in.skip(rex ? 2 : 1);
  }
  return true;
}

std::optional<EpilogueEnd> match_end(Reader& in) {
  if (in.peek(0) == 0xf2) in.skip(1);  // bnd/repne before a transfer
  const int a = in.peek(0);
  const int b = in.peek(1);
  if (a == 0xc3 || a == 0xc2 || (a == 0xf3 && b == 0xc3)) return EpilogueEnd{};
  if (a == 0xeb) {
    const auto d = in.load<std::int8_t>(1);
    if (!d) return std::nullopt;
    return EpilogueEnd{in.rva() + 2 + static_cast<std::uint32_t>(std::int32_t{*d})};
  }
  if (a == 0xe9) {
    const auto d = in.load<std::int32_t>(1);
    if (!d) return std::nullopt;
    return EpilogueEnd{in.rva() + 5 + static_cast<std::uint32_t>(*d)};
  }
  if (a == 0xff && b == 0x25) return EpilogueEnd{};  // jmp [rip + n]
  // A redundant REX.W before an indirect jump is how compilers mark one that leaves the function.
  const int c = in.peek(2);
  if (a >= 0 && (a & 0xf8) == 0x48 && b == 0xff && c >= 0 && (c & 0x38) == 0x20) return EpilogueEnd{};
  return std::nullopt;
}

}  // namespace

std::optional<EpilogueEnd> match_epilogue(std::span<const std::byte> code, std::uint32_t pc, unsigned frame_register,
                                          RuleBuilder& builder) {
  Reader in(code, pc);
  release_frame(in, frame_register, builder);
  if (!pop_registers(in, builder)) return std::nullopt;
  return match_end(in);
}

}  // namespace mixstack::unwind::windows::amd64
