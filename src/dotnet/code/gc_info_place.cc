#include "dotnet/code/gc_info_place.h"

#include <limits>
#include <optional>

namespace mixstack::dotnet {
namespace {

std::optional<std::uint32_t> version_of_image(std::uint16_t major_version) {
  constexpr std::uint16_t kFirstOf4 = 11, kLastOf4 = 16, kOf5 = 26;
  if (major_version >= kFirstOf4 && major_version <= kLastOf4) return 4;
  return major_version == kOf5 ? std::optional<std::uint32_t>(5) : std::nullopt;
}

/// UNWIND_INFO: a header, unwind codes of two bytes each.
Result<std::uint32_t> unwind_size_of_x64(const MemoryReader& memory, Address unwind) {
  constexpr std::uint32_t kHeader = 4, kCount = 2, kCode = 2, kAlignment = 4;
  const auto count = memory.read<std::uint8_t>(unwind + kCount);
  if (!count) return fail(count.error());
  const std::uint32_t size = kHeader + *count * kCode;
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

/// .xdata: a header of one word or two, a word for each epilogue unless there is one and the header tells it, codes.
Result<std::uint32_t> unwind_size_of_arm64(const MemoryReader& memory, Address unwind) {
  constexpr std::uint32_t kWord = 4, kOneEpilogue = 1u << 21;
  const auto header = memory.read<std::uint32_t>(unwind);
  if (!header) return fail(header.error());
  std::uint32_t words = 1, epilogues = *header >> 22 & 0x1f, codes = *header >> 27;
  if (epilogues == 0 && codes == 0) {
    const auto second = memory.read<std::uint32_t>(unwind + kWord);
    if (!second) return fail(second.error());
    epilogues = *second & 0xffff;
    codes = *second >> 16 & 0xff;
    words++;
  }
  if ((*header & kOneEpilogue) == 0) words += epilogues;
  return (words + codes) * kWord;
}

}  // namespace

Result<GcInfoPlace> gc_info_of_jit(const RuntimeMemory& memory, Address code_header) {
  const Global& version = memory.layouts().globals.gc_info_version;
  if (!version) return fail(ErrorCode::field_unavailable, code_header);
  const auto at = memory.pointer(code_header, memory.layouts().real_code_header.gc_info);
  if (!at) return fail(at.error());
  if (*at == 0 || version.value > std::numeric_limits<std::uint32_t>::max())
    return fail(ErrorCode::malformed, code_header);
  return GcInfoPlace{*at, static_cast<std::uint32_t>(version.value), false};
}

Result<GcInfoPlace> gc_info_of_image(const RuntimeMemory& memory, const FunctionTable& table, Address method_start,
                                     std::uint16_t major_version) {
  const auto version = version_of_image(major_version);
  if (!version) return fail(ErrorCode::unsupported, major_version);
  const Address offset = method_start - table.image_base;
  if (method_start < table.image_base || offset > std::numeric_limits<std::uint32_t>::max())
    return fail(ErrorCode::not_found, method_start);
  const RuntimeMemory tables = memory.constants();
  const auto row = table.find(tables, static_cast<std::uint32_t>(offset));
  if (!row) return fail(row.error());
  if (table.image_base + row->function.begin != method_start) return fail(ErrorCode::not_found, method_start);
  constexpr std::uint32_t kPersonality = 4;
  const Address unwind = table.image_base + row->function.unwind_data;
  const Arch arch = memory.layouts().arch;
  if (arch != Arch::x86_64 && arch != Arch::aarch64) return fail(ErrorCode::unsupported_cpu);
  const auto size = arch == Arch::x86_64 ? unwind_size_of_x64(tables.reader(), unwind)
                                         : unwind_size_of_arm64(tables.reader(), unwind);
  if (!size) return fail(size.error());
  return GcInfoPlace{unwind + *size + kPersonality, *version, true};
}

}  // namespace mixstack::dotnet
