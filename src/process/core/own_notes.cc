#include "process/core/own_notes.h"

#include <type_traits>

#include "base/system/byte_cursor.h"

namespace mixstack::process {
namespace {

constexpr std::size_t kMaxMappings = 250'000;
constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMapping = 3 * 8 + 4 * 4;  // without its path
enum : std::uint32_t { kReadable = 1, kWritable = 2, kExecutable = 4, kShared = 8, kDeleted = 16 };
enum : std::uint32_t { kHasCpu = 1, kHasQueued = 2, kHasArguments = 4, kHasFd = 8, kHasOffCpu = 16 };

class NoteWriter {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(&value, sizeof value);
  }
  void put_text(std::string_view text) {
    text = text.substr(0, kMaxText);
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(text.data(), text.size());
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(out_); }

 private:
  // One by one: GCC 12 at -O3 misreads inserts of a few bytes (its bug 105651).
  void put_bytes(const void* bytes, std::size_t size) {
    for (const std::byte b : std::span(static_cast<const std::byte*>(bytes), size)) out_.push_back(b);
  }

  std::vector<std::byte> out_;
};

[[nodiscard]] std::string read_text(base::ByteCursor& c) {
  const std::uint32_t size = c.u32();
  if (size > kMaxText) c.set_failed();
  const auto bytes = c.bytes(size);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[nodiscard]] std::uint32_t flags_of(const Region& r) {
  return (r.readable ? kReadable : 0U) | (r.writable ? kWritable : 0U) | (r.executable ? kExecutable : 0U) |
         (r.shared ? kShared : 0U) | (r.deleted ? kDeleted : 0U);
}

}  // namespace

std::vector<std::byte> encode_mappings(std::span<const Region> regions) {
  NoteWriter out;
  out.put(static_cast<std::uint64_t>(regions.size()));
  for (const Region& r : regions) {
    out.put(r.range.begin);
    out.put(r.range.end);
    out.put(r.file_offset);
    out.put(r.device_major);
    out.put(r.device_minor);
    out.put(flags_of(r));
    out.put_text(r.path);
  }
  return out.take();
}

std::optional<std::vector<Region>> decode_mappings(std::span<const std::byte> note) {
  base::ByteCursor c(note);
  const std::uint64_t count = c.u64();
  if (!c.ok() || count > kMaxMappings || count > c.remaining() / kMapping) return std::nullopt;
  std::vector<Region> regions(static_cast<std::size_t>(count));
  for (Region& r : regions) {
    r.range.begin = c.u64();
    r.range.end = c.u64();
    r.file_offset = c.u64();
    r.device_major = c.u32();
    r.device_minor = c.u32();
    const std::uint32_t flags = c.u32();
    r.readable = (flags & kReadable) != 0;
    r.writable = (flags & kWritable) != 0;
    r.executable = (flags & kExecutable) != 0;
    r.shared = (flags & kShared) != 0;
    r.deleted = (flags & kDeleted) != 0;
    r.path = read_text(c);
    if (!c.ok() || r.range.begin >= r.range.end) return std::nullopt;
  }
  return regions;
}

std::vector<std::byte> encode_thread(const ThreadNote& thread) {
  const ThreadFacts& f = thread.facts;
  NoteWriter out;
  out.put(thread.ns_tid);
  out.put((f.cpu ? kHasCpu : 0U) | (f.queued ? kHasQueued : 0U) | (f.arguments ? kHasArguments : 0U) |
          (f.fd ? kHasFd : 0U) | (f.off_cpu ? kHasOffCpu : 0U));
  out.put(thread.syscall);
  out.put(static_cast<std::int64_t>(f.cpu.value_or(std::chrono::nanoseconds(0)).count()));
  out.put(static_cast<std::int64_t>(f.queued.value_or(std::chrono::nanoseconds(0)).count()));
  out.put(f.arguments.value_or(std::array<std::uint64_t, 6>{}));
  out.put(f.fd.value_or(0));
  out.put(thread.state);
  out.put_text(thread.comm);
  out.put_text(f.object);
  out.put(static_cast<std::int64_t>(f.off_cpu.value_or(std::chrono::nanoseconds(0)).count()));
  out.put_text(f.wait_channel);
  return out.take();
}

std::optional<ThreadNote> decode_thread(std::span<const std::byte> note) {
  base::ByteCursor c(note);
  ThreadNote out;
  out.ns_tid = c.u32();
  const std::uint32_t has = c.u32();
  out.syscall = c.read<std::int64_t>();
  const auto cpu = std::chrono::nanoseconds(c.read<std::int64_t>());
  const auto queued = std::chrono::nanoseconds(c.read<std::int64_t>());
  const auto arguments = c.read<std::array<std::uint64_t, 6>>();
  const auto fd = c.read<std::int32_t>();
  out.state = c.read<char>();
  out.comm = read_text(c);
  out.facts.object = read_text(c);
  const auto off_cpu = std::chrono::nanoseconds(c.read<std::int64_t>());
  out.facts.wait_channel = read_text(c);
  if (!c.ok()) return std::nullopt;
  if (out.state <= ' ' || out.state >= 127) out.state = '?';
  // A negative time is none.
  if ((has & kHasCpu) != 0 && cpu.count() >= 0) out.facts.cpu = cpu;
  if ((has & kHasQueued) != 0 && queued.count() >= 0) out.facts.queued = queued;
  if ((has & kHasOffCpu) != 0 && off_cpu.count() >= 0) out.facts.off_cpu = off_cpu;
  if ((has & kHasArguments) != 0) out.facts.arguments = arguments;
  if ((has & kHasFd) != 0) out.facts.fd = fd;
  return out;
}

std::vector<std::byte> encode_late(const LateNote& late) {
  NoteWriter out;
  out.put(static_cast<std::int64_t>(late.late.count()));
  out.put(std::uint32_t{late.not_stopped ? 1U : 0U});
  return out.take();
}

std::optional<LateNote> decode_late(std::span<const std::byte> note) {
  base::ByteCursor c(note);
  LateNote out;
  out.late = std::chrono::nanoseconds(c.read<std::int64_t>());
  out.not_stopped = (c.u32() & 1) != 0;
  if (!c.ok() || out.late.count() <= 0) return std::nullopt;
  return out;
}

}  // namespace mixstack::process
