// Names of managed threads: through the GC handle to the managed object, whose fields no descriptor tells.
#include "dotnet/code/threads.h"

#include <algorithm>

namespace mixstack::dotnet {
namespace {

// System.Threading.Thread (System.Private.CoreLib, Thread.CoreCLR.cs) of .NET 9 and 10, after the MethodTable word:
// _executionContext, _synchronizationContext, _name, _startHelper, the native Thread, _priority, _managedThreadId.
// The last two prove the layout for each object read.
constexpr unsigned kNameSlot = 3, kNativeThreadSlot = 5;
constexpr unsigned kManagedIdAfterSlots = 6, kManagedIdExtra = 4;
constexpr unsigned kTries = 4;

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

std::string utf8_of(std::span<const char16_t> text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); i++) {
    std::uint32_t c = text[i];
    const bool high = c >= 0xd800 && c < 0xdc00;
    if (high && i + 1 < text.size() && text[i + 1] >= 0xdc00 && text[i + 1] < 0xe000) {
      c = 0x10000 + ((c - 0xd800) << 10) + (text[++i] - 0xdc00u);
    } else if (c >= 0xd800 && c < 0xe000) {
      c = 0xfffd;  // half a pair
    }
    append_utf8(out, c);
  }
  return out;
}

struct NameFound {
  Address object = 0, string = 0;
  std::string text;
  bool operator==(const NameFound&) const = default;
};

Result<NameFound> find_name(const RuntimeMemory& memory, const ManagedThread& thread) {
  auto object = memory.pointer_at(thread.thread_object_handle);
  if (!object) return fail(object.error());
  if (*object == 0) return fail(ErrorCode::not_found, thread.thread_object_handle);
  const unsigned word = memory.pointer_size();
  auto native = memory.pointer_at(*object + Address{kNativeThreadSlot} * word);
  auto id = memory.reader().read<std::uint32_t>(*object + Address{kManagedIdAfterSlots} * word + kManagedIdExtra);
  if (!native || !id) return fail(ErrorCode::unreadable_memory, *object);
  if (*native != thread.address || *id != thread.id) return fail(ErrorCode::mismatch, *object);
  auto name = memory.pointer_at(*object + Address{kNameSlot} * word);
  if (!name) return fail(name.error());
  if (*name == 0) return NameFound{*object, 0, {}};
  // A name is a System.String: checked by its type, since the GC may have moved it meanwhile.
  const auto& g = memory.layouts().globals;
  auto table = memory.pointer(*name, memory.layouts().object.method_table);
  auto string_table = memory.through(g.string_method_table);
  const Address mark = g.object_to_method_table_unmask.known ? g.object_to_method_table_unmask.value : 7;
  if (!table || !string_table) return fail(ErrorCode::unreadable_memory, *name);
  if ((*table & ~mark) != *string_table) return fail(ErrorCode::mismatch, *name);
  auto text = managed_string(memory, *name);
  if (!text) return fail(text.error());
  return NameFound{*object, *name, std::move(*text)};
}

/// A thread may end and the next one get all that it had: the place of its Thread, its managed id and its handle.
bool is_still_there(const RuntimeMemory& memory, const ManagedThread& thread) {
  const auto now = read_thread(memory, thread.address);
  return now && now->os_id == thread.os_id && now->id == thread.id &&
         now->thread_object_handle == thread.thread_object_handle;
}

}  // namespace

Result<std::string> managed_string(const RuntimeMemory& memory, Address string, std::size_t limit) {
  const auto& l = memory.layouts().string;
  auto length = memory.value<std::uint32_t>(string, l.length);
  if (!length) return fail(length.error());
  if (!l.first_char) return fail(ErrorCode::field_unavailable);
  std::vector<char16_t> text(std::min<std::size_t>(*length, limit));
  if (auto r = memory.reader().read_exact(string + l.first_char.offset, std::as_writable_bytes(std::span(text))); !r)
    return fail(r.error());
  return utf8_of(text);
}

Result<std::string> thread_name(const RuntimeMemory& memory, const ManagedThread& thread) {
  if (thread.thread_object_handle == 0) return fail(ErrorCode::not_found);
  Error error{ErrorCode::mismatch, 0, thread.address};
  for (unsigned i = 0; i < kTries; i++) {
    auto name = find_name(memory, thread);
    if (!name) {
      error = name.error();
      if (error.code != ErrorCode::mismatch) break;
      continue;
    }
    // What a collection moved between two reads is found elsewhere the second time.
    const auto again = find_name(memory, thread);
    if (again && *again == *name && is_still_there(memory, thread)) return std::move(name->text);
    error = {ErrorCode::mismatch, 0, thread.address};
  }
  return fail(error);
}

}  // namespace mixstack::dotnet
