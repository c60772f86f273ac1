#include "dotnet/code/method_check.h"

#include <algorithm>
#include <array>

namespace mixstack::dotnet {
namespace {

constexpr unsigned kMaxChunks = 4096, kMaxMethodsPerChunk = 512, kMaxParents = 64;

std::uint64_t alignment_of(const Layouts& l) {
  const auto a = l.globals.method_desc_alignment.known ? l.globals.method_desc_alignment.value : l.pointer_size;
  return a == 0 || a > 64 ? std::max<std::uint64_t>(l.pointer_size, 1) : a;
}

Address chunk_of(const RuntimeMemory& memory, Address method_desc, std::uint8_t index) {
  const auto& l = memory.layouts();
  return method_desc - l.method_desc_chunk.size - index * alignment_of(l);
}

}  // namespace

bool is_continuation_type(const RuntimeMemory& memory, Address method_table, Address ee_class) {
  const auto& l = memory.layouts();
  if (!l.globals.continuation_method_table) return false;
  const auto base = memory.through(l.globals.continuation_method_table);
  const auto shared = memory.through(l.globals.continuation_ee_class);
  if (!base || !shared || *base == 0 || *shared != ee_class) return false;
  const auto parent = memory.pointer(method_table, l.method_table.parent);
  return parent && *parent == *base;
}

Result<Address> method_table_of(const RuntimeMemory& memory, Address method_desc) {
  const auto& l = memory.layouts();
  auto index = memory.value<std::uint8_t>(method_desc, l.method_desc.chunk_index);
  if (!index) return fail(index.error());
  if (l.method_desc_chunk.size == 0) return fail(ErrorCode::field_unavailable);
  return memory.pointer(chunk_of(memory, method_desc, *index), l.method_desc_chunk.method_table);
}

Result<Address> ee_class_of(const RuntimeMemory& memory, Address method_table) {
  const auto& l = memory.layouts();
  // Bit 0 of the union says that it holds the canonical MethodTable (MethodTable::LowBits, methodtable.h).
  auto word = memory.pointer(method_table, l.method_table.ee_class_or_canon);
  if (!word) return word;
  Address canonical = method_table;
  if ((*word & 1) != 0) {
    canonical = *word & ~Address{1};
    word = memory.pointer(canonical, l.method_table.ee_class_or_canon);
    if (!word) return word;
    if ((*word & 1) != 0) return fail(ErrorCode::mismatch, method_table);
  }
  auto back = memory.pointer(*word, l.ee_class.method_table);
  if (!back) return back;
  if (*back != canonical && !is_continuation_type(memory, canonical, *word))
    return fail(ErrorCode::mismatch, method_table);
  return word;
}

bool is_method_desc(const RuntimeMemory& memory, Address address) {
  if (address < 0x10000 || address % alignment_of(memory.layouts()) != 0) return false;
  auto table = method_table_of(memory, address);
  return table && *table != 0 && ee_class_of(memory, *table).has_value();
}

Result<MethodClass> method_class(const RuntimeMemory& memory, Address method_desc) {
  auto flags = memory.value<std::uint16_t>(method_desc, memory.layouts().method_desc.flags);
  if (!flags) return fail(flags.error());
  return static_cast<MethodClass>(*flags & 7);
}

constexpr std::uint16_t kAsyncMethodData = 0x40;

// That of the class, and of each optional slot that the flags tell of (mdf* in src/coreclr/vm/method.hpp).
static std::uint32_t size_by_types(const Layouts& l, std::uint16_t flags) {
  constexpr std::uint16_t kNonVtableSlot = 0x08, kMethodImpl = 0x10, kNativeCodeSlot = 0x20;
  const MethodSizesLayout& sizes = l.method_sizes;
  const std::array by_class{l.method_desc.size, sizes.fcall,
                            sizes.pinvoke,      sizes.ee_impl,
                            sizes.array,        l.instantiated_method_desc.size,
                            sizes.com_interop,  l.dynamic_method_desc.size};
  std::uint32_t size = by_class[flags & 7u];
  if (size == 0) return 0;
  if ((flags & kNonVtableSlot) != 0) size += sizes.non_vtable_slot;
  if ((flags & kMethodImpl) != 0) size += sizes.method_impl;
  if ((flags & kNativeCodeSlot) != 0) size += sizes.native_code_slot;
  if ((flags & kAsyncMethodData) != 0) size += sizes.async_method_data;
  return size;
}

bool is_async_thunk(const RuntimeMemory& memory, Address method_desc) {
  constexpr std::uint32_t kThunk = 0x10;
  const auto& l = memory.layouts();
  if (l.algorithms.method_sizes != MethodSizes::types || !l.async_method_data.flags) return false;
  const auto flags = memory.value<std::uint16_t>(method_desc, l.method_desc.flags);
  if (!flags || (*flags & kAsyncMethodData) == 0) return false;
  const std::uint32_t before = size_by_types(l, *flags & static_cast<std::uint16_t>(~kAsyncMethodData));
  if (before == 0) return false;
  const auto data = memory.value<std::uint32_t>(method_desc + before, l.async_method_data.flags);
  return data && (*data & kThunk) != 0;
}

// The size table is indexed by classification and the flags of optional slots (s_ClassificationSizeTable).
static Result<std::uint32_t> method_desc_size(const RuntimeMemory& memory, Address method_desc) {
  const auto& l = memory.layouts();
  auto flags = memory.value<std::uint16_t>(method_desc, l.method_desc.flags);
  if (!flags) return fail(flags.error());
  if (l.algorithms.method_sizes == MethodSizes::types) {
    const std::uint32_t size = size_by_types(l, *flags);
    if (size == 0) return fail(ErrorCode::field_unavailable, *flags);
    return size;
  }
  if (!l.globals.method_desc_size_table) return fail(ErrorCode::field_unavailable);
  auto size = memory.reader().read<std::uint8_t>(l.globals.method_desc_size_table.value + (*flags & 0x3fu));
  if (!size) return fail(size.error());
  if (*size == 0) return fail(ErrorCode::malformed, method_desc);
  return std::uint32_t{*size};
}

static Result<Address> slot_in_chunk(const RuntimeMemory& memory, Address chunk, std::uint32_t slot) {
  const auto& l = memory.layouts();
  auto count = memory.value<std::uint8_t>(chunk, l.method_desc_chunk.count);
  if (!count) return fail(count.error());
  Address method = chunk + l.method_desc_chunk.size;
  // Count is stored less one.
  for (unsigned i = 0; i <= *count && i < kMaxMethodsPerChunk; i++) {
    auto own = memory.value<std::uint16_t>(method, l.method_desc.slot);
    if (!own) return fail(own.error());
    if (*own == slot) return method;
    auto size = method_desc_size(memory, method);
    if (!size) return fail(size.error());
    method += *size;
  }
  return fail(ErrorCode::not_found, slot);
}

Result<Address> method_for_slot(const RuntimeMemory& memory, Address method_table, std::uint32_t slot) {
  const auto& l = memory.layouts();
  for (unsigned depth = 0; method_table != 0 && depth < kMaxParents; depth++) {
    auto cls = ee_class_of(memory, method_table);
    if (!cls) return cls;
    auto chunk = memory.pointer(*cls, l.ee_class.method_desc_chunk);
    for (unsigned n = 0; chunk && *chunk != 0 && n < kMaxChunks; n++) {
      if (auto found = slot_in_chunk(memory, *chunk, slot); found || found.error().code != ErrorCode::not_found)
        return found;
      chunk = memory.pointer(*chunk, l.method_desc_chunk.next);
    }
    if (!chunk) return chunk;
    // A virtual slot that this type does not override is its parent's.
    auto parent = memory.pointer(method_table, l.method_table.parent);
    if (!parent) return parent;
    method_table = *parent;
  }
  return fail(ErrorCode::not_found, slot);
}

bool has_method_context_argument(const RuntimeMemory& memory, Address method_desc) {
  // DynamicMethodDesc::Flag and ILStubType, src/coreclr/vm/method.hpp.
  constexpr std::uint32_t kStatic = 0x1000, kIlStub = 0x8000, kDelegate = 0x10000, kCalli = 0x20000, kTypeMask = 0x7ff;
  constexpr std::uint32_t kClrToNative = 1, kClrToCom = 2;
  auto kind = method_class(memory, method_desc);
  if (!kind || *kind != MethodClass::dynamic) return false;
  auto flags = memory.value<std::uint32_t>(method_desc, memory.layouts().stored_sig_method_desc.extended_flags);
  if (!flags || (*flags & kIlStub) == 0) return false;
  const auto has = [&](std::uint32_t f) { return (*flags & f) != 0; };
  const std::uint32_t type = *flags & kTypeMask;
  // Without COM the number is another kind's: since .NET 11 that of the P/Invokes of delegates.
  const Global& com = memory.layouts().globals.feature_com_interop;
  if (!has(kStatic) && type == kClrToCom) return com && com.value != 0;
  return has(kStatic) && !has(kCalli) && type == kClrToNative && !has(kDelegate);
}

}  // namespace mixstack::dotnet
