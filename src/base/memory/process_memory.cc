#include "base/memory/process_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace mixstack::memory {
namespace {

// Linux: UIO_MAXIOV in include/uapi/linux/uio.h, the most pieces process_vm_readv takes.
constexpr std::size_t kMaxPieces = 1024;
// Linux: MAX_RW_COUNT, the most bytes one call moves.
constexpr std::size_t kMaxBytes = 0x7ffff000;
constexpr Address kFileOffsetLimit = Address{1} << 63;  // pread takes a signed offset

[[nodiscard]] void* remote(Address a) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(a)); }

[[nodiscard]] bool is_refusal(int error) { return error == EPERM || error == ENOSYS; }

[[nodiscard]] tl::unexpected<Error> read_failure(int error, Address address) {
  if (error == ESRCH) return fail(ErrorCode::no_such_process, address, error);
  if (is_refusal(error) || error == EACCES) return fail(ErrorCode::permission_denied, address, error);
  return fail(ErrorCode::unreadable_memory, address, error);
}

}  // namespace

Result<std::size_t> ProcessMemory::read_some(Address address, std::span<std::byte> out) const {
  if (out.empty()) return std::size_t{0};
  if (use_file_.load(std::memory_order_relaxed)) return read_file(address, out);
  const iovec local{out.data(), std::min(out.size(), kMaxBytes)};
  const iovec there{remote(address), local.iov_len};
  const ssize_t n = ::process_vm_readv(static_cast<pid_t>(tid_), &local, 1, &there, 1, 0);
  if (n > 0) return static_cast<std::size_t>(n);
  const int error = n == 0 ? EFAULT : errno;
  if (!is_refusal(error) || !mem_) return read_failure(error, address);
  auto second = read_file(address, out);
  if (second) use_file_.store(true, std::memory_order_relaxed);
  return second;
}

Result<std::size_t> ProcessMemory::read_file(Address address, std::span<std::byte> out) const {
  if (address >= kFileOffsetLimit) return fail(ErrorCode::unreadable_memory, address);
  for (;;) {
    const ssize_t n = ::pread(mem_.get(), out.data(), std::min(out.size(), kMaxBytes), static_cast<off_t>(address));
    if (n > 0) return static_cast<std::size_t>(n);
    // Linux answers 0, not an error, once the address space is gone (mem_rw in fs/proc/base.c).
    if (n == 0) return fail(ErrorCode::no_such_process, address);
    if (errno != EINTR) return read_failure(errno, address);
  }
}

std::size_t ProcessMemory::read_batch(std::span<RangeRead> ranges) const {
  std::array<iovec, kMaxPieces> local{};
  std::array<iovec, kMaxPieces> there{};
  std::size_t count = 0, budget = kMaxBytes;
  while (count < std::min(ranges.size(), kMaxPieces) && budget > 0) {
    const auto& r = ranges[count];
    const std::size_t size = std::min(r.wanted(), budget);
    local[count] = {r.out.data(), size};
    there[count] = {remote(r.address), size};
    budget -= size;
    count++;
  }
  const ssize_t n = ::process_vm_readv(static_cast<pid_t>(tid_), local.data(), count, there.data(), count, 0);
  if (n < 0 && is_refusal(errno)) return 0;
  std::size_t left = n > 0 ? static_cast<std::size_t>(n) : 0;
  for (std::size_t i = 0; i < count; i++) {
    ranges[i].done = std::min(left, ranges[i].wanted());
    left -= ranges[i].done;
    if (ranges[i].done < ranges[i].wanted()) return i + 1;
  }
  return count;
}

void ProcessMemory::read_ranges(std::span<RangeRead> ranges) const {
  for (std::size_t i = 0; i < ranges.size();) {
    if (!use_file_.load(std::memory_order_relaxed)) {
      const std::size_t n = read_batch(ranges.subspan(i));
      i += n;
      if (n > 0) continue;
      if (!mem_) break;
      use_file_.store(true, std::memory_order_relaxed);
    }
    auto n = read_file(ranges[i].address, ranges[i].out.first(ranges[i].wanted()));
    ranges[i++].done = n ? *n : 0;
  }
}

}  // namespace mixstack::memory
