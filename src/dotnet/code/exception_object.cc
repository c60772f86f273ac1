// Reads exception objects. Heap objects of a running process may move or change at any time, so each step proves by
// MethodTables that it still reads the object it means.
#include <algorithm>
#include <array>

#include "base/system/byte_cursor.h"
#include "dotnet/code/exceptions.h"

namespace mixstack::dotnet {
namespace {

constexpr unsigned kMaxAncestors = 64;
constexpr std::uint32_t kMaxArrayLength = 0x7fffffc7;  // Array.MaxLength

// MethodTable.MTFlags, src/coreclr/vm/methodtable.h: a vector, and the size of its elements.
constexpr std::uint32_t kVectorMask = 0x800f0000, kVector = 0x800a0000, kComponentSizeMask = 0xffff;

// StackTraceElementFlags, src/coreclr/vm/clrex.h.
constexpr std::uint32_t kLastOfForeignPart = 1;

/// A vector (single-dimensional array) object.
struct Vector {
  Address data = 0;
  std::uint32_t length = 0;
  std::uint32_t element_size = 0;
  Address element_type = 0;
};

Result<Vector> read_vector(const RuntimeMemory& memory, Address object) {
  const Layouts& l = memory.layouts();
  auto table = object_method_table(memory, object);
  if (!table) return fail(table.error());
  auto flags = memory.value<std::uint32_t>(*table, l.method_table.flags);
  if (!flags) return fail(flags.error());
  if ((*flags & kVectorMask) != kVector) return fail(ErrorCode::mismatch, object);
  auto length = memory.value<std::uint32_t>(object, l.array.num_components);
  auto element_type = memory.pointer(*table, l.method_table.per_inst_info);
  if (!length) return fail(length.error());
  if (!element_type) return fail(element_type.error());
  if (l.array.size == 0) return fail(ErrorCode::field_unavailable, object);
  if (*length > kMaxArrayLength) return fail(ErrorCode::malformed, object);
  return Vector{object + l.array.size, *length, *flags & kComponentSizeMask, *element_type};
}

/// The byte array of a stack trace: `_stackTrace` itself, or, where methods had to be kept alive, the first element of
/// the object array that `_stackTrace` is (ExceptionObject::GetStackTraceParts in src/coreclr/vm/object.cpp).
Result<Vector> trace_bytes(const RuntimeMemory& memory, Address stack_trace) {
  auto vector = read_vector(memory, stack_trace);
  if (!vector) return vector;
  if (vector->element_size == 1) return vector;
  if (vector->element_size != memory.pointer_size() || vector->length == 0)
    return fail(ErrorCode::mismatch, stack_trace);
  auto first = memory.pointer_at(vector->data);
  if (!first) return fail(first.error());
  vector = read_vector(memory, *first);
  if (vector && vector->element_size != 1) return fail(ErrorCode::mismatch, *first);
  return vector;
}

ThrowRecord decode(std::span<const std::byte> bytes, unsigned word) {
  const auto pointer = [&](std::size_t index) {
    if (word == 8) return base::load_at<std::uint64_t>(bytes, index * 8).value_or(0);
    return std::uint64_t{base::load_at<std::uint32_t>(bytes, index * 4).value_or(0)};
  };
  ThrowRecord r;
  r.ip = pointer(0);
  r.sp = pointer(1);
  r.method_desc = pointer(2);
  const auto flags = base::load_at<std::uint32_t>(bytes, std::size_t{3} * word).value_or(0);
  r.ends_first_part = (flags & kLastOfForeignPart) != 0;
  return r;
}

}  // namespace

bool derives_from(const RuntimeMemory& memory, Address method_table, Address ancestor) {
  for (unsigned i = 0; i < kMaxAncestors && method_table != 0; i++) {
    if (method_table == ancestor) return true;
    method_table = memory.pointer(method_table, memory.layouts().method_table.parent).value_or(0);
  }
  return false;
}

Result<ExceptionObject> read_exception(const RuntimeMemory& memory, Address object) {
  const ExceptionLayout& l = memory.layouts().exception;
  ExceptionObject e{.address = object};
  auto table = object_method_table(memory, object);
  auto base = memory.through(memory.layouts().globals.exception_method_table);
  if (!table) return fail(table.error());
  if (!base) return fail(base.error());
  if (*base == 0 || !derives_from(memory, *table, *base)) return fail(ErrorCode::mismatch, object);
  e.method_table = *table;
  auto message = memory.pointer(object, l.message);
  auto inner = memory.pointer(object, l.inner_exception);
  auto trace = memory.pointer(object, l.stack_trace);
  auto hresult = memory.value<std::uint32_t>(object, l.hresult);
  for (const auto* field : {&message, &inner, &trace})
    if (!*field) return fail(field->error());
  if (!hresult) return fail(hresult.error());
  e.message = *message;
  e.inner = *inner;
  e.stack_trace = *trace;
  e.hresult = *hresult;
  return e;
}

// StackTraceArray (src/coreclr/vm/object.h): an ArrayHeader {u32 number of elements, u32 number of objects kept alive,
// Thread* that may append}, then StackTraceElements {ip, sp, MethodDesc, s32 flags}, padded to words.
ThrowStack read_throw_stack(const RuntimeMemory& memory, Address stack_trace, std::size_t limit) {
  ThrowStack stack;
  if (stack_trace == 0) return stack;
  const auto give_up = [&](const Error& error) {
    stack.records.clear();
    stack.error = error;
    return std::move(stack);
  };
  auto vector = trace_bytes(memory, stack_trace);
  if (!vector) return give_up(vector.error());
  const unsigned word = memory.pointer_size();
  const std::size_t header = 8 + word, element = 4 * std::size_t{word};
  if (vector->length < header) return give_up({ErrorCode::malformed, 0, stack_trace});
  auto count = memory.reader().read<std::uint32_t>(vector->data);
  if (!count) return give_up(count.error());
  if (*count > (vector->length - header) / element) return give_up({ErrorCode::malformed, 0, stack_trace});
  const std::size_t wanted = std::min<std::size_t>(*count, limit);
  stack.is_cut = wanted < *count;
  stack.records.reserve(wanted);
  std::array<std::byte, 64 * 32> block;
  const std::size_t per_block = block.size() / element;
  for (std::size_t i = 0; i < wanted; i += per_block) {
    const auto bytes = std::span(block).first(std::min(per_block, wanted - i) * element);
    if (auto r = memory.reader().read_exact(vector->data + header + i * element, bytes); !r) return give_up(r.error());
    for (std::size_t at = 0; at < bytes.size(); at += element)
      stack.records.push_back(decode(bytes.subspan(at, element), word));
  }
  return stack;
}

Result<ReferenceArray> read_reference_array(const RuntimeMemory& memory, Address array, Address element_type,
                                            std::size_t limit) {
  auto vector = read_vector(memory, array);
  if (!vector) return fail(vector.error());
  if (vector->element_type != element_type || vector->element_size != memory.pointer_size())
    return fail(ErrorCode::mismatch, array);
  ReferenceArray result;
  result.is_cut = vector->length > limit;
  for (std::size_t i = 0; i < std::min<std::size_t>(vector->length, limit); i++) {
    auto element = memory.pointer_at(vector->data + i * memory.pointer_size());
    if (!element) return fail(element.error());
    result.elements.push_back(*element);
  }
  return result;
}

}  // namespace mixstack::dotnet
