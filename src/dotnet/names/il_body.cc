#include "dotnet/names/il_body.h"

#include <optional>

#include "base/system/byte_cursor.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::uint8_t kCall = 0x28, kCallIndirect = 0x29, kReturn = 0x2a, kSwitch = 0x45, kCallVirtual = 0x6f,
                       kNewObject = 0x73, kPrefix = 0xfe;

bool is_between(std::uint8_t op, std::uint8_t first, std::uint8_t last) { return op >= first && op <= last; }

/// Size in bytes of the operand of a one-byte opcode (ECMA-335 III.1.2.1 and the VI.C.2 table).
std::optional<unsigned> operand_size(std::uint8_t op) {
  if (is_between(op, 0x0e, 0x13) || op == 0x1f || is_between(op, 0x2b, 0x37) || op == 0xde) return 1;
  if (op == 0x21 || op == 0x23) return 8;
  if (op == 0x20 || op == 0x22 || is_between(op, 0x27, 0x29) || is_between(op, 0x38, 0x44)) return 4;
  if (is_between(op, 0x6f, 0x75) || op == 0x79 || is_between(op, 0x7b, 0x81)) return 4;
  if (op == 0x8c || op == 0x8d || op == 0x8f || is_between(op, 0xa3, 0xa5)) return 4;
  if (op == 0xc2 || op == 0xc6 || op == 0xd0 || op == 0xdd) return 4;
  if (op == 0x24 || op == 0x77 || op == 0x78 || is_between(op, 0xa6, 0xb2) || op > 0xe0) return std::nullopt;
  return 0;
}

std::optional<unsigned> prefixed_operand_size(std::uint8_t op) {
  if (op == 0x06 || op == 0x07 || op == 0x15 || op == 0x16 || op == 0x1c) return 4;
  if (is_between(op, 0x09, 0x0e)) return 2;
  if (op == 0x12 || op == 0x19) return 1;
  return op > 0x1e ? std::nullopt : std::optional<unsigned>(0);
}

}  // namespace

Result<IlBody> read_il_header(std::span<const std::byte> bytes) {
  constexpr unsigned kTiny = 2, kFat = 3, kMoreSections = 8;
  base::ByteCursor in(bytes);
  const std::uint8_t first = in.u8();
  IlBody body;
  if ((first & 3) == kTiny) {
    body.header_size = 1;
    body.code_size = first >> 2;
  } else if ((first & 7) == kFat) {
    body.header_size = static_cast<std::uint32_t>(in.u8() >> 4) * 4;
    (void)in.u16();  // stack
    body.code_size = in.u32();
    body.has_handlers = (first & kMoreSections) != 0;
    if (in.ok() && body.header_size != IlBody::kMaxHeader) return fail(ErrorCode::malformed, body.header_size);
  } else {
    return fail(ErrorCode::malformed, first);
  }
  if (!in.ok()) return fail(ErrorCode::truncated);
  if (body.code_size > IlBody::kMaxCode) return fail(ErrorCode::limit_exceeded, body.code_size);
  return body;
}

Result<IlSection> read_il_section(std::span<const std::byte> header) {
  constexpr unsigned kKinds = 0x3f, kHandlers = 1, kFat = 0x40, kMore = 0x80, kFatClause = 24;
  base::ByteCursor in(header);
  const std::uint32_t word = in.u32();
  if (!in.ok()) return fail(ErrorCode::truncated);
  IlSection section;
  section.is_of_handlers = (word & kKinds) == kHandlers;
  section.is_fat = (word & kFat) != 0;
  section.has_next = (word & kMore) != 0;
  section.size = section.is_fat ? word >> 8 : word >> 8 & 0xff;
  if (section.size < IlHandlers::kHeader) return fail(ErrorCode::malformed, word);
  if (section.size > IlHandlers::kHeader + IlHandlers::kMaxClauses * kFatClause)
    return fail(ErrorCode::limit_exceeded, section.size);
  return section;
}

void add_il_handlers(const IlSection& section, std::span<const std::byte> clauses, IlHandlers& handlers) {
  constexpr unsigned kFinally = 2, kFault = 4, kFatRest = 20, kSmallRest = 10;
  if (!section.is_of_handlers) return;
  base::ByteCursor in(clauses);
  while (!in.at_end()) {
    const std::uint32_t flags = section.is_fat ? in.u32() : in.u16();
    in.skip(section.is_fat ? kFatRest : kSmallRest);
    if (!in.ok()) return;
    if (flags == kFinally) handlers.has_finally = true;
    if (flags == kFault) handlers.has_fault = true;
  }
}

namespace {

/// One instruction; `code` is its opcode, of two-byte ones 0xfe00 and the second. The operand's first four bytes, of
/// those that have four or more.
struct Instruction {
  std::uint32_t offset = 0, code = 0, operand = 0;
  std::size_t end = 0;
};

template <class Use>
Result<void> each_instruction(std::span<const std::byte> code, Use use) {
  base::ByteCursor in(code);
  while (!in.at_end()) {
    Instruction i;
    i.offset = static_cast<std::uint32_t>(in.position());
    i.code = in.u8();
    std::optional<unsigned> size;
    if (i.code == kPrefix) {
      const std::uint8_t second = in.u8();
      i.code = kPrefix << 8 | second;
      size = prefixed_operand_size(second);
    } else {
      size = i.code == kSwitch ? 4 : operand_size(static_cast<std::uint8_t>(i.code));
    }
    if (!size) return fail(ErrorCode::malformed, i.offset);
    if (*size == 4) {
      i.operand = in.u32();
      if (i.code == kSwitch) in.skip(std::uint64_t{i.operand} * 4);
    } else {
      in.skip(*size);
    }
    if (!in.ok()) return fail(ErrorCode::truncated, i.offset);
    i.end = in.position();
    use(i);
  }
  return {};
}

}  // namespace

Result<std::vector<IlCall>> read_il_calls(std::span<const std::byte> code) {
  std::vector<IlCall> calls;
  const auto read = each_instruction(code, [&](const Instruction& i) {
    if (i.code == kCall || i.code == kCallVirtual || i.code == kNewObject) {
      calls.push_back({i.offset, i.operand, i.code == kCallVirtual});
      calls.back().is_last = i.end < code.size() && code[i.end] == std::byte{kReturn};
    } else if (i.code == kCallIndirect) {  // its operand is a signature
      calls.push_back({i.offset, 0, true});
    }
  });
  if (!read) return fail(read.error());
  return calls;
}

Result<std::vector<std::uint32_t>> read_il_tokens(std::span<const std::byte> code) {
  constexpr std::uint32_t kLoadStatic = 0x7e, kLoadFunction = 0xfe06, kClear = 0xfe15;
  std::vector<std::uint32_t> tokens;
  const auto read = each_instruction(code, [&](const Instruction& i) {
    if (i.code == kCall || i.code == kCallVirtual || i.code == kNewObject || i.code == kLoadStatic ||
        i.code == kLoadFunction || i.code == kClear)
      tokens.push_back(i.operand);
  });
  if (!read) return fail(read.error());
  return tokens;
}

}  // namespace mixstack::dotnet::names
