#include "process/self/capture_wire.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/system/byte_cursor.h"

namespace mixstack::process {
namespace {

struct WireHead {
  bool has_capture = false;
  Error error;
  std::uint64_t late = 0;  ///< captures that follow the first
};
struct WireCapture {
  Arch arch = Arch::unknown;
  Consistency consistency = Consistency::all_stopped_together;
  std::uint64_t pac_mask = 0;
  std::int64_t pause = 0, held = 0;
  std::uint32_t threads_not_stopped = 0;
  std::uint64_t threads = 0, roots = 0, regions = 0;
  bool has_regions = false;
};
struct WireThread {
  ThreadId tid = 0, ns_tid = 0;
  std::array<char, 16> comm{};  ///< Linux: TASK_COMM_LEN
  char kernel_state = '?';
  bool captured = false, stack_truncated = false;
  std::int32_t pending_signal = 0;
  std::int64_t syscall = -1, late = 0;
  std::uint32_t instant = 0;
  std::uint64_t taken_ns = 0;
  Error error;
  Registers registers;
  Address stack_base = 0;
  std::uint64_t stack_size = 0, vectors = 0;
  std::uint8_t vector_size = 0;
  bool has_vectors = false;
};
struct WireRegion {
  AddressRange range;
  std::uint64_t file_offset = 0, inode = 0;
  std::uint32_t device_major = 0, device_minor = 0;
  bool readable = false, writable = false, executable = false, shared = false, deleted = false;
  std::uint64_t path_size = 0;
};
struct WireRoot {
  Address base = 0;
  std::uint64_t size = 0;
};

void put_bytes(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}
template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  put_bytes(out, std::as_bytes(std::span<const T, 1>(&value, 1)));
}

[[nodiscard]] WireThread wire(const ThreadCapture& t) {
  WireThread w{.tid = t.tid,
               .ns_tid = t.ns_tid,
               .kernel_state = t.kernel_state,
               .captured = t.captured,
               .stack_truncated = t.stack_truncated,
               .pending_signal = t.pending_signal,
               .syscall = t.syscall,
               .late = t.late.count(),
               .instant = t.instant,
               .taken_ns = t.taken_ns,
               .error = t.error,
               .registers = t.registers,
               .stack_base = t.stack.base,
               .stack_size = t.stack.bytes.size(),
               .has_vectors = t.vectors != nullptr};
  if (t.vectors) {
    w.vectors = t.vectors->values.size();
    w.vector_size = t.vectors->size;
  }
  std::copy_n(t.comm.begin(), std::min(t.comm.size(), w.comm.size()), w.comm.begin());
  return w;
}

[[nodiscard]] ThreadCapture unwire(const WireThread& w, std::span<const std::byte> stack) {
  ThreadCapture t;
  t.tid = w.tid;
  t.ns_tid = w.ns_tid;
  t.comm.assign(w.comm.begin(), std::find(w.comm.begin(), w.comm.end(), '\0'));
  t.kernel_state = w.kernel_state;
  t.syscall = w.syscall;
  t.captured = w.captured;
  t.stack_truncated = w.stack_truncated;
  t.pending_signal = w.pending_signal;
  t.late = std::chrono::nanoseconds(w.late);
  t.instant = w.instant;
  t.taken_ns = w.taken_ns;
  t.error = w.error;
  t.registers = w.registers;
  t.stack = {w.stack_base, stack};
  return t;
}

void put_regions(std::vector<std::byte>& out, std::span<const Region> regions) {
  for (const Region& r : regions) {
    put(out, WireRegion{r.range, r.file_offset, r.inode, r.device_major, r.device_minor, r.readable, r.writable,
                        r.executable, r.shared, r.deleted, r.path.size()});
    put_bytes(out, std::as_bytes(std::span(r.path)));
  }
}

void put_capture(std::vector<std::byte>& out, const Capture& capture) {
  put(out, WireCapture{.arch = capture.arch,
                       .consistency = capture.consistency,
                       .pac_mask = capture.pac_mask,
                       .pause = capture.pause.count(),
                       .held = capture.held.count(),
                       .threads_not_stopped = capture.threads_not_stopped,
                       .threads = capture.threads.size(),
                       .roots = capture.roots.size(),
                       .regions = capture.regions ? capture.regions->size() : 0,
                       .has_regions = capture.regions != nullptr});
  for (const ThreadCapture& t : capture.threads) {
    put(out, wire(t));
    put_bytes(out, t.stack.bytes);
    if (t.vectors) put_bytes(out, std::as_bytes(std::span(t.vectors->values)));
  }
  for (const MemorySlice& r : capture.roots) {
    put(out, WireRoot{r.base, r.bytes.size()});
    put_bytes(out, r.bytes);
  }
  if (capture.regions) put_regions(out, *capture.regions);
}

[[nodiscard]] std::shared_ptr<const VectorRegisters> take_vectors(base::ByteCursor& cursor, const WireThread& w) {
  if (!w.has_vectors) return nullptr;
  VectorRegisters vectors{.size = w.vector_size, .values = {}};
  for (std::uint64_t i = 0; i < w.vectors && cursor.ok(); i++)
    vectors.values.push_back(cursor.read<std::array<std::byte, 32>>());
  return std::make_shared<const VectorRegisters>(std::move(vectors));
}

[[nodiscard]] std::vector<Region> take_regions(base::ByteCursor& cursor, std::uint64_t count) {
  std::vector<Region> regions;
  for (std::uint64_t i = 0; i < count && cursor.ok(); i++) {
    const auto w = cursor.read<WireRegion>();
    const auto path = cursor.bytes(w.path_size);
    regions.push_back({w.range, w.file_offset, w.inode, w.device_major, w.device_minor, w.readable, w.writable,
                       w.executable, w.shared, w.deleted,
                       std::string(reinterpret_cast<const char*>(path.data()), path.size())});
  }
  return regions;
}

[[nodiscard]] Capture take_capture(base::ByteCursor& cursor) {
  const auto head = cursor.read<WireCapture>();
  Capture capture;
  capture.arch = head.arch;
  capture.consistency = head.consistency;
  capture.pac_mask = head.pac_mask;
  capture.pause = std::chrono::nanoseconds(head.pause);
  capture.held = std::chrono::nanoseconds(head.held);
  capture.threads_not_stopped = head.threads_not_stopped;
  for (std::uint64_t i = 0; i < head.threads && cursor.ok(); i++) {
    const auto thread = cursor.read<WireThread>();
    ThreadCapture& t = capture.threads.emplace_back(unwire(thread, cursor.bytes(thread.stack_size)));
    t.vectors = take_vectors(cursor, thread);
  }
  for (std::uint64_t i = 0; i < head.roots && cursor.ok(); i++) {
    const auto root = cursor.read<WireRoot>();
    capture.roots.push_back({root.base, cursor.bytes(root.size)});
  }
  if (head.has_regions)
    capture.regions = std::make_shared<const std::vector<Region>>(take_regions(cursor, head.regions));
  return capture;
}

}  // namespace

std::vector<std::byte> to_wire(const Result<Capture>& capture) {
  std::vector<std::byte> out;
  put(out, capture ? WireHead{true, {}, capture->late.size()} : WireHead{false, capture.error(), 0});
  if (!capture) return out;
  put_capture(out, *capture);
  for (const Capture& late : capture->late) put_capture(out, late);
  return out;
}

Result<Capture> from_wire(std::unique_ptr<std::byte[]> bytes, std::size_t size) {
  const std::shared_ptr<std::byte[]> all(std::move(bytes));
  base::ByteCursor cursor(std::span(all.get(), size));
  const auto head = cursor.read<WireHead>();
  if (!cursor.ok()) return fail(ErrorCode::malformed);
  if (!head.has_capture) return fail(head.error);
  // Each capture keeps all bytes, since it may outlive the others.
  const auto take = [&] {
    Capture capture = take_capture(cursor);
    capture.storage.emplace_back(all.get(), BytesOwner(std::shared_ptr<void>(all)));
    return capture;
  };
  Capture capture = take();
  for (std::uint64_t i = 0; i < head.late && cursor.ok(); i++) capture.late.push_back(take());
  if (!cursor.ok()) return fail(ErrorCode::malformed);
  return capture;
}

}  // namespace mixstack::process
