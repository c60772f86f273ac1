#include "engine/unwind/windows/amd64/unwind_info.h"

#include "base/system/byte_cursor.h"
#include "mixstack/registers.h"

namespace mixstack::unwind::windows::amd64 {

Result<UnwindInfo> UnwindInfo::parse(std::span<const std::byte> bytes) {
  base::ByteCursor cursor(bytes);
  UnwindInfo info;
  const std::uint8_t version_flags = cursor.u8();
  info.version_ = version_flags & 7u;
  info.flags_ = version_flags >> 3;
  info.prologue_size_ = cursor.u8();
  info.code_count_ = cursor.u8();
  const std::uint8_t frame = cursor.u8();
  info.frame_register_ = frame & 15u;
  info.frame_offset_ = std::int64_t{frame >> 4} * 16;
  info.codes_ = cursor.bytes(std::size_t{info.code_count_} * 2);
  if (info.is_chained()) {
    if (info.code_count_ % 2 != 0) cursor.skip(2);
    info.chained_.begin = cursor.u32();
    info.chained_.end = cursor.u32();
    info.chained_.unwind_data = cursor.u32();
  }
  if (!cursor.ok()) return fail(ErrorCode::truncated, bytes.size());
  if (info.version_ != 1 && info.version_ != 2) return fail(ErrorCode::unsupported, info.version_);
  // The largest offset the header can hold is also the mark that the true one may be in a SET_FPREG_LARGE.
  if (info.frame_offset_ == 15 * 16) {
    for (unsigned i = 0; i < info.code_count_; i += slots(info.code(i))) {
      if (info.code(i).op != Op::set_fpreg_large) continue;
      if (const auto large = info.operand32(i)) info.frame_offset_ = std::int64_t{*large} * 16;
      break;
    }
  }
  return info;
}

std::optional<std::uint32_t> UnwindInfo::operand16(unsigned index) const {
  const auto v = base::load_at<std::uint16_t>(codes_, (std::size_t{index} + 1) * 2);
  if (!v) return std::nullopt;
  return *v;
}

std::optional<std::uint32_t> UnwindInfo::operand32(unsigned index) const {
  return base::load_at<std::uint32_t>(codes_, (std::size_t{index} + 1) * 2);
}

Result<UnwindInfo> UnwindInfoBuffer::load(const UnwindDataSource& source, std::uint32_t rva) {
  // The length is in the header; asking for the largest record could touch memory behind a heap's end.
  std::size_t have = 0;
  std::size_t want = 4;
  for (int part = 0; part < 2; part++) {
    while (have < want) {
      auto n = source.read_some(rva + static_cast<std::uint32_t>(have), std::span(bytes).subspan(have, want - have));
      if (!n) return fail(n.error());
      if (*n == 0) return fail(ErrorCode::unreadable_memory, rva + have);
      have += *n;
    }
    const auto codes = std::to_integer<std::size_t>(bytes[2]);
    const bool chained = (std::to_integer<unsigned>(bytes[0]) >> 3 & 4) != 0;
    want = 4 + 2 * codes + (chained ? 2 * (codes % 2) + 12 : 0);
  }
  return UnwindInfo::parse(std::span(bytes).first(want));
}

unsigned dwarf_register(unsigned machine_number) {
  using namespace x86_64_reg;
  static constexpr std::uint8_t kMap[16] = {rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi,
                                            r8,  r9,  r10, r11, r12, r13, r14, r15};
  return kMap[machine_number & 15];
}

}  // namespace mixstack::unwind::windows::amd64
