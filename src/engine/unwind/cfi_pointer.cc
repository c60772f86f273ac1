#include "engine/unwind/cfi_pointer.h"

namespace mixstack::unwind {
namespace {

std::uint64_t truncate(std::uint64_t value, unsigned address_size) {
  return address_size == 4 ? value & 0xffffffffu : value;
}

template <class T>
std::uint64_t sign_extended(base::ByteCursor& cursor) {
  return static_cast<std::uint64_t>(std::int64_t{cursor.read<T>()});
}

std::uint64_t read_format(base::ByteCursor& cursor, std::uint8_t format, unsigned address_size) {
  switch (format) {
    case eh_pe::kAbsPtr:
      return read_address(cursor, address_size);
    case eh_pe::kUleb128:
      return cursor.uleb();
    case eh_pe::kUdata2:
      return cursor.u16();
    case eh_pe::kUdata4:
      return cursor.u32();
    case eh_pe::kUdata8:
      return cursor.u64();
    case eh_pe::kSleb128:
      return static_cast<std::uint64_t>(cursor.sleb());
    case eh_pe::kSdata2:
      return sign_extended<std::int16_t>(cursor);
    case eh_pe::kSdata4:
      return sign_extended<std::int32_t>(cursor);
    case eh_pe::kSdata8:
      return cursor.u64();
    default:
      cursor.set_failed();
      return 0;
  }
}

void align(base::ByteCursor& cursor, const PointerBases& bases) {
  const std::uint64_t here = bases.section + cursor.position();
  cursor.skip((bases.address_size - here % bases.address_size) % bases.address_size);
}

/// The address an encoding is relative to, for a pointer that starts at the cursor; nothing for unknown ones.
std::optional<std::uint64_t> base_of(std::uint8_t encoding, const base::ByteCursor& cursor, const PointerBases& bases) {
  switch (encoding & eh_pe::kApplicationMask) {
    case 0:
      return 0;
    case eh_pe::kPcRel:
      return bases.section + cursor.position();
    case eh_pe::kTextRel:
      return bases.text;
    case eh_pe::kDataRel:
      return bases.data;
    case eh_pe::kFuncRel:
      return bases.function;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::uint64_t read_address(base::ByteCursor& cursor, unsigned address_size) {
  switch (address_size) {
    case 2:
      return cursor.u16();
    case 4:
      return cursor.u32();
    case 8:
      return cursor.u64();
    default:
      cursor.set_failed();
      return 0;
  }
}

std::optional<std::uint64_t> read_pointer(base::ByteCursor& cursor, std::uint8_t encoding, const PointerBases& bases) {
  if (encoding == eh_pe::kOmit) return std::nullopt;
  std::uint64_t value = 0;
  if ((encoding & eh_pe::kApplicationMask) == eh_pe::kAligned) {
    align(cursor, bases);
    value = read_address(cursor, bases.address_size);
  } else {
    const auto base = base_of(encoding, cursor, bases);
    if (!base) return std::nullopt;
    value =
        truncate(*base + read_format(cursor, encoding & eh_pe::kFormatMask, bases.address_size), bases.address_size);
  }
  if (!cursor.ok()) return std::nullopt;
  if ((encoding & eh_pe::kIndirect) == 0) return value;
  if (bases.image == nullptr || !*bases.image) return std::nullopt;
  base::ByteCursor target((*bases.image)(value, bases.address_size));
  value = read_address(target, bases.address_size);
  if (!target.ok()) return std::nullopt;
  return value;
}

bool skip_pointer(base::ByteCursor& cursor, std::uint8_t encoding, const PointerBases& bases) {
  if (encoding == eh_pe::kOmit) return true;
  if ((encoding & eh_pe::kApplicationMask) == eh_pe::kAligned) {
    align(cursor, bases);
    (void)read_address(cursor, bases.address_size);
  } else {
    (void)read_format(cursor, encoding & eh_pe::kFormatMask, bases.address_size);
  }
  return cursor.ok();
}

}  // namespace mixstack::unwind
