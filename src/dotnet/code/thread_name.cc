// Names of managed threads: through the GC handle to the managed object, whose fields no descriptor describes.
#include "dotnet/code/threads.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace mixstack::dotnet {
namespace {

// System.Threading.Thread (System.Private.CoreLib, Thread.CoreCLR.cs), after the MethodTable word: _executionContext,
// _synchronizationContext, _name, more references (.NET 9 and 10: _startHelper; 11: three), the native Thread,
// _priority, _managedThreadId. The native Thread and the id behind it prove for each object read that it is one.
constexpr unsigned kNameSlot = 3, kFirstNativeThreadSlot = 5, kLastNativeThreadSlot = 8;
constexpr unsigned kManagedIdBehind = 4;  // the word of the native Thread: _priority
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

/// A few neighbouring fields, read at once: the process runs, and each read is a system call.
class Fields {
 public:
  Fields(const RuntimeMemory& memory, Address begin, std::size_t size) : word_(memory.pointer_size()) {
    size_ = memory.reader().read_some(begin, std::span(bytes_).first(size)).value_or(0);
  }
  [[nodiscard]] std::optional<Address> pointer(std::size_t offset) const {
    if (word_ == 8) return value<std::uint64_t>(offset);
    const auto narrow = value<std::uint32_t>(offset);
    return narrow ? std::optional<Address>(*narrow) : std::nullopt;
  }
  template <class T>
  [[nodiscard]] std::optional<T> value(std::size_t offset) const {
    const auto bytes = range(offset, sizeof(T));
    if (bytes.empty()) return std::nullopt;
    T out;
    std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }
  [[nodiscard]] std::span<const std::byte> range(std::size_t offset, std::size_t size) const {
    if (offset > size_ || size > size_ - offset) return {};
    return std::span(bytes_).subspan(offset, size);
  }
  static constexpr std::size_t kMost = 256;

 private:
  std::array<std::byte, kMost> bytes_;
  std::size_t size_ = 0;
  unsigned word_;
};

/// The text of a string that is short enough to lie in `fields` whole; nothing otherwise.
std::optional<std::string> short_string(const RuntimeMemory& memory, const Fields& fields) {
  const auto& l = memory.layouts().string;
  if (!l.length || !l.first_char) return std::nullopt;
  const auto length = fields.value<std::uint32_t>(l.length.offset);
  if (!length || *length > Fields::kMost) return std::nullopt;
  const auto bytes = fields.range(l.first_char.offset, *length * sizeof(char16_t));
  if (bytes.size() != *length * sizeof(char16_t)) return std::nullopt;
  std::vector<char16_t> text(*length);
  if (!bytes.empty()) std::memcpy(text.data(), bytes.data(), bytes.size());
  return utf8_of(text);
}

bool is_object_of(const Fields& fields, std::size_t word, const ManagedThread& thread) {
  for (std::size_t slot = kFirstNativeThreadSlot; slot <= kLastNativeThreadSlot; slot++)
    if (fields.pointer(slot * word) == thread.address)
      return fields.value<std::uint32_t>((slot + 1) * word + kManagedIdBehind) == thread.id;
  return false;
}

Result<NameFound> find_name(const RuntimeMemory& memory, const ManagedThread& thread, Address string_table) {
  auto object = memory.pointer_at(thread.thread_object_handle);
  if (!object) return fail(object.error());
  if (*object == 0) return fail(ErrorCode::not_found, thread.thread_object_handle);
  const std::size_t word = memory.pointer_size();
  const Fields fields(memory, *object, (kLastNativeThreadSlot + 2) * word);
  const auto string = fields.pointer(kNameSlot * word);
  if (!string) return fail(ErrorCode::unreadable_memory, *object);
  if (!is_object_of(fields, word, thread)) return fail(ErrorCode::mismatch, *object);
  if (*string == 0) return NameFound{*object, 0, {}};
  // A name is a System.String: checked by its type, since the GC may have moved it meanwhile.
  const auto& g = memory.layouts().globals;
  const auto& at = memory.layouts().object.method_table;
  const Address mark = g.object_to_method_table_unmask.known ? g.object_to_method_table_unmask.value : 7;
  const Fields start(memory, *string, Fields::kMost);
  const auto table = at ? start.pointer(at.offset) : std::nullopt;
  if (!table) return fail(ErrorCode::unreadable_memory, *string);
  if ((*table & ~mark) != string_table) return fail(ErrorCode::mismatch, *string);
  if (auto text = short_string(memory, start)) return NameFound{*object, *string, std::move(*text)};
  auto text = managed_string(memory, *string);
  if (!text) return fail(text.error());
  return NameFound{*object, *string, std::move(*text)};
}

/// A thread may end and the next one reuse its Thread address, its managed id and its handle.
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
  const auto string_table = memory.through(memory.layouts().globals.string_method_table);
  if (!string_table) return fail(string_table.error());
  Error error{ErrorCode::mismatch, 0, thread.address};
  for (unsigned i = 0; i < kTries; i++) {
    auto name = find_name(memory, thread, *string_table);
    if (!name) {
      error = name.error();
      if (error.code != ErrorCode::mismatch) break;
      continue;
    }
    // If a collection moved the object between two reads, the second look finds it elsewhere.
    const auto again = find_name(memory, thread, *string_table);
    if (again && *again == *name && is_still_there(memory, thread)) return std::move(name->text);
    error = {ErrorCode::mismatch, 0, thread.address};
  }
  return fail(error);
}

bool ThreadNames::is_known(const ManagedThread& thread, const NameFound& name) const {
  const auto at = known_.find(thread.address);
  if (at == known_.end()) return false;
  const Known& k = at->second;
  return k.os_id == thread.os_id && k.id == thread.id && k.handle == thread.thread_object_handle && k.name == name;
}

std::vector<Result<std::string>> ThreadNames::read(const RuntimeMemory& first, const RuntimeMemory& second,
                                                   const RuntimeMemory& third, const RuntimeMemory& memory,
                                                   std::span<const ManagedThread> threads,
                                                   const std::function<bool()>& has_moved) {
  const Result<NameFound> unknown = fail(ErrorCode::not_found), differs = fail(ErrorCode::mismatch);
  std::vector<Result<NameFound>> found(threads.size(), unknown);
  std::vector<std::size_t> fresh;  // not as they were
  const auto string_table = first.through(first.layouts().globals.string_method_table);
  for (std::size_t i = 0; string_table && i < threads.size(); i++) {
    if (threads[i].thread_object_handle == 0) continue;
    found[i] = find_name(first, threads[i], *string_table);
    if (found[i] && !is_known(threads[i], *found[i])) fresh.push_back(i);
  }
  const bool is_unsure = !fresh.empty() && has_moved();
  for (std::size_t n = 0; is_unsure && n < fresh.size(); n++) {
    const std::size_t i = fresh[n];
    const auto again = find_name(second, threads[i], *string_table);
    if (!again || *again != *found[i]) found[i] = differs;
  }
  for (const std::size_t i : fresh)
    if (found[i] && !is_still_there(third, threads[i])) found[i] = differs;
  std::vector<Result<std::string>> names;
  names.reserve(threads.size());
  std::unordered_map<Address, Known> known;
  known.reserve(threads.size());
  for (std::size_t i = 0; i < threads.size(); i++) {
    const ManagedThread& thread = threads[i];
    if (found[i]) {
      names.emplace_back(found[i]->text);
      known.insert_or_assign(thread.address,
                             Known{thread.os_id, thread.id, thread.thread_object_handle, std::move(*found[i])});
    } else if (found[i].error().code == ErrorCode::mismatch) {
      names.push_back(thread_name(memory, thread));
    } else {
      names.push_back(fail(found[i].error()));
    }
  }
  known_ = std::move(known);
  return names;
}

}  // namespace mixstack::dotnet
