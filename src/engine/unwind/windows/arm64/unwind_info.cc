#include "engine/unwind/windows/arm64/unwind_info.h"

namespace mixstack::unwind::windows::arm64 {
namespace {

Result<void> read_exact(const UnwindDataSource& data, std::uint32_t rva, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto n = data.read_some(rva + static_cast<std::uint32_t>(done), out.subspan(done));
    if (!n) return fail(n.error());
    if (*n == 0) return fail(ErrorCode::unreadable_memory, rva + done);
    done += *n;
  }
  return {};
}

Result<std::uint32_t> read_word(const UnwindDataSource& data, std::uint32_t rva) {
  std::uint32_t word = 0;
  const auto r = read_exact(data, rva, std::as_writable_bytes(std::span<std::uint32_t, 1>(&word, 1)));
  if (!r) return fail(r.error());
  return word;
}

}  // namespace

Result<void> UnwindInfo::load(const UnwindDataSource& data, std::uint32_t rva) {
  const auto header = read_word(data, rva);
  if (!header) return fail(header.error());
  if ((*header >> 18 & 3) != 0) return fail(ErrorCode::unsupported, *header >> 18 & 3);
  length = *header & 0x3ffff;
  single_epilogue = (*header >> 21 & 1) != 0;
  std::uint32_t epilogues = *header >> 22 & 31;
  std::uint32_t words = *header >> 27;
  std::uint32_t at = rva + 4;
  if (epilogues == 0 && words == 0) {
    const auto extension = read_word(data, at);
    if (!extension) return fail(extension.error());
    epilogues = *extension & 0xffff;
    words = *extension >> 16 & 0xff;
    at += 4;
  }
  epilogue_index = single_epilogue ? epilogues : 0;
  scope_count = single_epilogue ? 0 : epilogues;
  scopes_rva = at;
  code_size = words * 4;
  return read_exact(data, at + scope_count * 4, std::span(codes).first(code_size));
}

unsigned code_length(unsigned first) {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  switch (first) {
    case 0xe0:
      return 4;  // alloc_l
    case 0xe2:
      return 2;  // add_fp
    case 0xe7:
      return 3;  // save_any_reg
    case 0xf8:
    case 0xf9:
    case 0xfa:
    case 0xfb:
      return first - 0xf8 + 2;  // reserved, with operands
    default:
      return 1;
  }
}

bool is_instruction(unsigned first) { return first < 0xe8 || first >= 0xf8; }

std::uint32_t instruction_count(std::span<const std::byte> codes, std::size_t index) {
  std::uint32_t count = 0;
  while (index < codes.size()) {
    const auto first = std::to_integer<unsigned>(codes[index]);
    if (is_end(first)) break;
    count += is_instruction(first) ? 1 : 0;
    index += code_length(first);
  }
  return count;
}

}  // namespace mixstack::unwind::windows::arm64
