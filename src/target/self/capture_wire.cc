#include "target/self/capture_wire.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/byte_cursor.h"

namespace mixstack::target {
namespace {

struct WireHead {
  bool has_capture = false;
  Error error;
  Arch arch = Arch::unknown;
  Consistency consistency = Consistency::all_stopped_together;
  std::uint64_t pac_mask = 0;
  std::int64_t pause = 0;
  std::uint32_t threads_not_stopped = 0;
  std::uint64_t threads = 0, roots = 0;
};
struct WireThread {
  ThreadId tid = 0, ns_tid = 0;
  std::array<char, 16> comm{};  ///< Linux: TASK_COMM_LEN
  char kernel_state = '?';
  bool captured = false, stack_truncated = false;
  std::int32_t pending_signal = 0;
  std::int64_t syscall = -1;
  Error error;
  Registers registers;
  Address stack_base = 0;
  std::uint64_t stack_size = 0;
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
  WireThread w{
      t.tid,     t.ns_tid, {},          t.kernel_state, t.captured,          t.stack_truncated, t.pending_signal,
      t.syscall, t.error,  t.registers, t.stack.base,   t.stack.bytes.size()};
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
  t.error = w.error;
  t.registers = w.registers;
  t.stack = {w.stack_base, stack};
  return t;
}

}  // namespace

std::vector<std::byte> to_wire(const Result<Capture>& capture) {
  std::vector<std::byte> out;
  WireHead head;
  head.has_capture = capture.has_value();
  if (!capture) {
    head.error = capture.error();
    put(out, head);
    return out;
  }
  head.arch = capture->arch;
  head.consistency = capture->consistency;
  head.pac_mask = capture->pac_mask;
  head.pause = capture->pause.count();
  head.threads_not_stopped = capture->threads_not_stopped;
  head.threads = capture->threads.size();
  head.roots = capture->roots.size();
  put(out, head);
  for (const ThreadCapture& t : capture->threads) {
    put(out, wire(t));
    put_bytes(out, t.stack.bytes);
  }
  for (const MemorySlice& r : capture->roots) {
    put(out, WireRoot{r.base, r.bytes.size()});
    put_bytes(out, r.bytes);
  }
  return out;
}

Result<Capture> from_wire(std::unique_ptr<std::byte[]> bytes, std::size_t size) {
  base::ByteCursor cursor(std::span(bytes.get(), size));
  const auto head = cursor.read<WireHead>();
  if (!cursor.ok()) return fail(ErrorCode::malformed);
  if (!head.has_capture) return fail(head.error);
  Capture capture;
  capture.arch = head.arch;
  capture.consistency = head.consistency;
  capture.pac_mask = head.pac_mask;
  capture.pause = std::chrono::nanoseconds(head.pause);
  capture.threads_not_stopped = head.threads_not_stopped;
  for (std::uint64_t i = 0; i < head.threads && cursor.ok(); i++) {
    const auto thread = cursor.read<WireThread>();
    capture.threads.push_back(unwire(thread, cursor.bytes(thread.stack_size)));
  }
  for (std::uint64_t i = 0; i < head.roots && cursor.ok(); i++) {
    const auto root = cursor.read<WireRoot>();
    capture.roots.push_back({root.base, cursor.bytes(root.size)});
  }
  if (!cursor.ok()) return fail(ErrorCode::malformed);
  capture.storage.push_back(std::move(bytes));
  return capture;
}

}  // namespace mixstack::target
