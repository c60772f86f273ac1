#include "dotnet/code/function_table.h"

#include <algorithm>
#include <array>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"
#include "engine/unwind/windows/format.h"

namespace mixstack::dotnet {
namespace {

constexpr std::uint32_t kMaxRowSize = 16;

// Function length of ARM64 and ARM unwind data: packed into the row, or the low 18 bits of the .xdata header, counted
// in instructions ("ARM64 exception handling" of the Microsoft C++ documentation).
std::uint32_t length_from_unwind_data(const RuntimeMemory& memory, Address image_base, std::uint32_t unwind_data) {
  const std::uint32_t unit = memory.pointer_size() / 2;
  if ((unwind_data & 3) != 0) return (unwind_data >> 2 & 0x7ff) * unit;
  auto header = memory.reader().read<std::uint32_t>(image_base + unwind_data);
  return header ? (*header & 0x3ffff) * unit : 0;
}

std::uint32_t word(std::span<const std::byte> row, Field field) {
  return field ? base::load_at<std::uint32_t>(row, field.offset).value_or(0) : 0;
}

FunctionRow decode(const RuntimeMemory& memory, std::span<const std::byte> bytes) {
  const auto& l = memory.layouts().runtime_function;
  FunctionRow row;
  row.function.begin = word(bytes, l.begin_address);
  row.function.begin &= ~arch::cpu(memory.layouts().arch).function_flags;
  row.function.end = word(bytes, l.end_address);
  row.function.unwind_data = word(bytes, l.unwind_data);
  return row;
}

void complete(const RuntimeMemory& memory, Address image_base, FunctionRow& row) {
  if (memory.layouts().runtime_function.end_address) {
    row.end = row.function.end;
    return;
  }
  const auto length = length_from_unwind_data(memory, image_base, row.function.unwind_data);
  row.end = length == 0 ? 0 : row.function.begin + length;
}

bool covers(const FunctionRow& row, std::uint32_t rva) {
  return rva >= row.function.begin && (row.end == 0 || rva < row.end);
}

}  // namespace

Result<FunctionRow> FunctionTable::row(const RuntimeMemory& memory, std::uint32_t index) const {
  const std::uint32_t size = memory.layouts().runtime_function.size;
  if (size == 0 || size > kMaxRowSize) return fail(ErrorCode::field_unavailable);
  if (index >= count) return fail(ErrorCode::not_found, index);
  std::array<std::byte, kMaxRowSize> buffer;
  const auto bytes = std::span(buffer).first(size);
  const Address at = rows + Address{index} * size;
  if (auto r = memory.reader().read_exact(at, bytes); !r) return fail(r.error());
  FunctionRow found = decode(memory, bytes);
  found.index = index;
  found.address = at;
  return found;
}

Result<FunctionRow> FunctionTable::find(const RuntimeMemory& memory, std::uint32_t rva) const {
  std::uint32_t low = 0, high = count;
  FunctionRow best;
  bool any = false;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    auto r = row(memory, middle);
    if (!r) return r;
    if (r->function.begin <= rva) {
      best = *r;
      any = true;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (!any) return fail(ErrorCode::not_found, rva);
  complete(memory, image_base, best);
  if (!covers(best, rva)) return fail(ErrorCode::not_found, rva);
  return best;
}

Result<FunctionRow> FunctionTable::find_among_few(const RuntimeMemory& memory, std::uint32_t rva,
                                                  std::uint32_t& ordinal) const {
  if (count > kMaxFewRows) return fail(ErrorCode::limit_exceeded, count);
  FunctionRow best;
  bool any = false;
  std::uint32_t filled = 0;
  for (std::uint32_t i = 0; i < count; i++) {
    auto r = row(memory, i);
    if (!r) return r;
    if (r->function == unwind::windows::RuntimeFunction{}) continue;
    if (r->function.begin <= rva && (!any || r->function.begin >= best.function.begin)) {
      best = *r;
      any = true;
      ordinal = filled;
    }
    filled++;
  }
  if (!any) return fail(ErrorCode::not_found, rva);
  complete(memory, image_base, best);
  if (!covers(best, rva)) return fail(ErrorCode::not_found, rva);
  return best;
}

bool is_fragment(const RuntimeMemory& memory, Address image_base, const FunctionRow& row) {
  const auto* format = unwind::windows::format_of(memory.layouts().arch);
  return format != nullptr &&
         format->is_fragment(unwind::windows::MemoryUnwindData(memory.reader(), image_base), row.function);
}

}  // namespace mixstack::dotnet
