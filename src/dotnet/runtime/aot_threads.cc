#include "dotnet/runtime/aot_threads.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "dotnet/code/threads.h"

namespace mixstack::dotnet {
namespace {

// The structure at the exported DotNetRuntimeDebugHeader, and the arrays it points to
// (src/coreclr/nativeaot/Runtime/DebugHeader.cpp).
struct DebugHeader {
  std::array<char, 4> cookie;
  std::uint16_t major, minor;
  std::uint32_t flags, padding;
  std::uint64_t types, globals;
};
static_assert(sizeof(DebugHeader) == 32);
struct TypeEntry {
  std::uint64_t type, field;
  std::uint32_t offset, padding;
};
static_assert(sizeof(TypeEntry) == 24);
struct GlobalEntry {
  std::uint64_t name, value;
};

constexpr std::array<char, 4> kCookie = {'D', 'N', 'D', 'H'};
constexpr std::uint16_t kOldestMajor = 3, kNewestMajor = 5;  // .NET 8 to 10: alike in what is read here
constexpr std::uint32_t kPointersOf8Bytes = 1, kBigEndian = 2;
// Both arrays are of fixed size in the runtime (128 and 8); an entry without a name ends them.
constexpr std::size_t kMostTypes = 128, kMostGlobals = 8;
constexpr std::size_t kLongestName = 64;
constexpr std::uint32_t kLargestType = 1u << 16;

/// One field that the contract must describe: a pointer, or as large as one.
struct Wanted {
  std::string_view type, older_type, field;
  std::optional<std::uint32_t> offset, size_of_type;

  void take(std::string_view of, std::string_view name, std::uint32_t value) {
    if (of != type && of != older_type) return;
    if (name == field && !offset) offset = value;
    if (name == "SIZEOF" && !size_of_type) size_of_type = value;
  }
  /// The field is described, and lies in its type.
  [[nodiscard]] Result<void> check() const {
    constexpr std::uint32_t kSize = 8;
    if (!offset || !size_of_type) return fail(ErrorCode::field_unavailable);
    if (*size_of_type > kLargestType || *size_of_type < kSize || *offset > *size_of_type - kSize)
      return fail(ErrorCode::malformed, *offset);
    return {};
  }
};

/// The fields that lead from the runtime to its threads. Threads have the type name of .NET 9 and 10, or of 8.
struct Fields {
  Wanted store{"RuntimeInstance", "RuntimeInstance", "m_pThreadStore", {}, {}};
  Wanted list{"ThreadStore", "ThreadStore", "m_ThreadList", {}, {}};
  Wanted next{"RuntimeThreadLocals", "ThreadBuffer", "m_pNext", {}, {}};
  Wanted os_id{"RuntimeThreadLocals", "ThreadBuffer", "m_threadId", {}, {}};

  Result<void> read(const MemoryReader& memory, Address entries) {
    for (std::size_t i = 0; i < kMostTypes; i++) {
      const auto entry = memory.read<TypeEntry>(entries + i * sizeof(TypeEntry));
      if (!entry) return fail(entry.error());
      if (entry->type == 0) break;
      const auto type = memory.read_cstring(entry->type, kLongestName);
      const auto field = memory.read_cstring(entry->field, kLongestName);
      if (!type || !field) continue;
      for (Wanted* w : {&store, &list, &next, &os_id}) w->take(*type, *field, entry->offset);
    }
    for (const Wanted* w : {&store, &list, &next, &os_id})
      if (auto r = w->check(); !r) return r;
    return {};
  }
};

Result<DebugHeader> read_header(const MemoryReader& memory, Address at) {
  auto header = memory.read<DebugHeader>(at);
  if (!header) return header;
  if (header->cookie != kCookie || (header->flags & (kPointersOf8Bytes | kBigEndian)) != kPointersOf8Bytes)
    return fail(ErrorCode::mismatch, at);
  if (header->major < kOldestMajor || header->major > kNewestMajor)
    return fail(ErrorCode::contract_unsupported, header->major);
  // The runtime fills in both addresses when it starts.
  if (header->types == 0 || header->globals == 0) return fail(ErrorCode::field_unavailable);
  return header;
}

Result<Address> global(const MemoryReader& memory, Address entries, std::string_view wanted) {
  for (std::size_t i = 0; i < kMostGlobals; i++) {
    const auto entry = memory.read<GlobalEntry>(entries + i * sizeof(GlobalEntry));
    if (!entry) return fail(entry.error());
    if (entry->name == 0) break;
    const auto name = memory.read_cstring(entry->name, kLongestName);
    if (name && *name == wanted && entry->value != 0) return entry->value;
  }
  return fail(ErrorCode::field_unavailable);
}

/// Offsets of a thread's id and of its link to the next one.
struct PlacesInThread {
  std::uint32_t os_id = 0, next = 0;
};

void follow_list(const MemoryReader& memory, const PlacesInThread& places, Address at, AotThreads& out) {
  std::unordered_set<Address> seen;
  std::unordered_set<std::uint32_t> ids;
  while (at != 0) {
    if (seen.size() == kMaxThreads || !seen.insert(at).second) {
      out.error = {ErrorCode::limit_exceeded, 0, at};
      return;
    }
    const auto id = memory.read<std::uint64_t>(at + places.os_id);
    const auto next = memory.read<std::uint64_t>(at + places.next);
    if (!id || !next) {
      out.error = id ? next.error() : id.error();
      return;
    }
    // No thread's id is 0 or that large: this is no thread, and its link means nothing.
    if (*id == 0 || *id > std::numeric_limits<std::int32_t>::max()) {
      out.error = {ErrorCode::malformed, 0, at};
      return;
    }
    if (ids.insert(static_cast<std::uint32_t>(*id)).second) out.os_ids.push_back(static_cast<std::uint32_t>(*id));
    at = *next;
  }
}

/// The first thread, and the offsets that lead to the others.
Result<Address> first_thread(const MemoryReader& memory, Address header_address, Fields& fields) {
  const auto header = read_header(memory, header_address);
  if (!header) return fail(header.error());
  if (auto r = fields.read(memory, header->types); !r) return fail(r.error());
  const auto runtime = global(memory, header->globals, "g_pTheRuntimeInstance");  // the object itself
  if (!runtime) return runtime;
  const auto store = memory.read<std::uint64_t>(*runtime + *fields.store.offset);
  if (!store) return fail(store.error());
  if (*store == 0) return fail(ErrorCode::field_unavailable);
  return memory.read<std::uint64_t>(*store + *fields.list.offset);
}

/// The same by the descriptor's contract Thread.
Result<Address> first_thread(const MemoryReader& memory, const Descriptor& descriptor, PlacesInThread& places) {
  constexpr ContractVersion kKnown{'n', 1};
  const auto version = descriptor.contract("Thread");
  if (!version || descriptor.pointer_size() != 8) return fail(ErrorCode::field_unavailable);
  if (*version != kKnown) return fail(ErrorCode::contract_unsupported, version->number);
  const auto os_id = descriptor.offset("Thread", "OSId"), next = descriptor.offset("Thread", "LinkNext"),
             list = descriptor.offset("ThreadStore", "FirstThreadLink");
  const auto global = descriptor.global_number("ThreadStore");
  if (!os_id || !next || !list || !global) return fail(ErrorCode::field_unavailable);
  if (std::max({*os_id, *next, *list}) > kLargestType) return fail(ErrorCode::malformed);
  places = {*os_id, *next};
  const auto store = memory.read<std::uint64_t>(*global);
  if (!store) return fail(store.error());
  if (*store == 0) return fail(ErrorCode::field_unavailable);  // the runtime has not started yet
  return memory.read<std::uint64_t>(*store + *list);
}

}  // namespace

Result<std::string> read_aot_crash_record(const MemoryReader& memory, Address header_address) {
  constexpr std::size_t kMost = 8 << 10;  // MAX_CRASHINFOBUFFER_SIZE
  const auto header = read_header(memory, header_address);
  if (!header) return fail(header.error());
  const auto buffer = global(memory, header->globals, "g_CrashInfoBuffer");
  if (!buffer) return fail(buffer.error());
  return memory.read_cstring(*buffer, kMost);
}

AotThreads read_aot_threads(const MemoryReader& memory, Address header) {
  AotThreads out;
  Fields fields;
  if (const auto first = first_thread(memory, header, fields); first)
    follow_list(memory, {*fields.os_id.offset, *fields.next.offset}, *first, out);
  else
    out.error = first.error();
  return out;
}

AotThreads read_aot_threads(const MemoryReader& memory, const Descriptor& descriptor) {
  AotThreads out;
  PlacesInThread places;
  if (const auto first = first_thread(memory, descriptor, places); first)
    follow_list(memory, places, *first, out);
  else
    out.error = first.error();
  return out;
}

}  // namespace mixstack::dotnet
