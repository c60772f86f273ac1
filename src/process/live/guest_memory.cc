// Reads the memory of a process without changing it.
// Input: ranges of addresses, the list of mappings, /proc/PID/pagemap. Output: the bytes that the process would see, up
// to the first one that cannot be read.
// Algorithm of read_some, for each mapping of the range: 1. No mapping, or an unreadable one: read only if the page is
// present (read_if_there). 2. Code of an image: from its file, since the library may have been unloaded. 3. All else by
// runs of pages in one state (read_in): present pages from the process, swapped ones within a budget, absent ones
// never, since a read would make the kernel fill them: those are zeros, or come from the file or our own vDSO
// (read_past). In a stop (read_ranges) only pages that answer at once are read.
// Bounds: the caller's buffer; kSwapBudget and kTouchBudget bytes a capture; kMostFiles open files.
#include "process/live/guest_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/memory/page_probe.h"
#include "process/kernel/memory_map.h"
#include "process/live/file_access.h"

namespace mixstack::process {
namespace {

using State = memory::PageMap::State;
// Pages of a file that cannot be opened (deleted, and no right to /proc/PID/map_files).
constexpr std::int64_t kTouchBudget = 1 << 20;
constexpr std::size_t kMostFiles = 1024;
constexpr Address kPage = 4096;

[[nodiscard]] base::ScopedFd open_pagemap(const ProcDir& proc) {
  auto fd = proc.open_memory_file("pagemap", O_RDONLY);
  return fd ? std::move(*fd) : base::ScopedFd();
}

/// Private memory without a file behind it: its pages are zeros until they are written.
[[nodiscard]] bool is_anonymous(const Region& r) {
  return r.readable && !r.shared && r.inode == 0 &&
         (!r.path.starts_with('[') || r.path == "[heap]" || r.path == "[stack]" || r.path.starts_with("[anon"));
}

[[nodiscard]] bool is_code_of_image(const Region& r) {
  return r.executable && r.readable && !r.writable && !r.shared && r.inode != 0;
}

/// The file behind a mapping of shared memory (memfd, /dev/shm), where reading a hole neither fills it nor waits for
/// anybody. Nothing else is opened: what lies at that link is the target's choice.
[[nodiscard]] base::ScopedFd open_shared_memory(const ProcDir& proc, const Region& region) {
  char name[64];
  std::snprintf(name, sizeof name, "map_files/%llx-%llx", static_cast<unsigned long long>(region.range.begin),
                static_cast<unsigned long long>(region.range.end));
  const auto looked_at = proc.open_file(name, O_PATH);
  struct statfs system {};
  struct stat file {};
  if (!looked_at || ::fstatfs(looked_at->get(), &system) != 0 || system.f_type != TMPFS_MAGIC) return {};
  if (::fstat(looked_at->get(), &file) != 0 || !S_ISREG(file.st_mode) || file.st_ino != region.inode) return {};
  const std::string link = "/proc/self/fd/" + std::to_string(looked_at->get());
  return base::ScopedFd(::open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/// Copies whole pages without keeping them in `file`: a caller that reads whole pages keeps its own copy.
[[nodiscard]] std::size_t copy_of(const FileBytes& file, std::uint64_t offset, std::span<std::byte> out) {
  if (out.size() >= kPage) return file.copy(offset, out);
  const auto bytes = file.range(offset, out.size());
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return bytes.size();
}

/// The kernel gives every 64-bit process the same vDSO: reads ours, so that no page is mapped into the target.
[[nodiscard]] Result<std::size_t> read_own_vdso(std::uint64_t offset, std::span<std::byte> out) {
  const Address own = ::getauxval(AT_SYSINFO_EHDR);
  const std::int64_t n = own == 0 ? 0 : memory::copy_own_memory(own + offset, out);
  if (n <= 0) return fail(ErrorCode::unreadable_memory, offset);
  return static_cast<std::size_t>(n);
}

}  // namespace

GuestMemory::GuestMemory(const ProcDir& proc, base::ScopedFd mem, std::function<RegionList()> load)
    : proc_(proc),
      memory_(proc.memory_tid(), std::move(mem)),
      pages_(open_pagemap(proc), static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))),
      load_(std::move(load)) {
  begin_capture();
}

void GuestMemory::begin_capture(bool goes_on) {
  pages_.forget();
  if (!goes_on) {
    swap_budget_ = kSwapBudget;
    touch_budget_ = kTouchBudget;
    is_swap_spent_ = false;
  }
}

void GuestMemory::use(RegionList regions) {
  const std::lock_guard lock(mutex_);
  regions_ = std::move(regions);
}

GuestMemory::RegionList GuestMemory::regions() const {
  const std::lock_guard lock(mutex_);
  if (regions_ == nullptr) regions_ = load_();
  return regions_;
}

bool GuestMemory::take_from_budget(std::atomic<std::int64_t>& budget, std::size_t size) const {
  return budget.fetch_sub(static_cast<std::int64_t>(size)) >= static_cast<std::int64_t>(size);
}

Result<std::size_t> GuestMemory::read_some(Address address, std::span<std::byte> out) const {
  if (out.empty()) return std::size_t{0};
  if (out.size() > ~Address{0} - address) out = out.first(static_cast<std::size_t>(~Address{0} - address));
  if (out.empty()) return fail(ErrorCode::unreadable_memory, address);
  const auto regions = this->regions();
  std::size_t done = 0;
  while (done < out.size()) {
    const Address at = address + done;
    const Region* region = regions ? find_region(*regions, at) : nullptr;
    auto piece = out.subspan(done);
    if (region != nullptr)
      piece = piece.first(static_cast<std::size_t>(std::min<Address>(piece.size(), region->range.end - at)));
    const auto n = region != nullptr ? read_in(*region, at, piece) : read_if_there(at, piece);
    if (!n) return done > 0 ? Result<std::size_t>(done) : n;
    done += *n;
    if (*n < piece.size()) break;
  }
  return done;
}

Result<std::size_t> GuestMemory::read_in(const Region& region, Address address, std::span<std::byte> out) const {
  // A guard page; or memory only reserved when the list was made, that the process has begun to use since.
  if (!region.readable) return read_if_there(address, out);
  if (is_code_of_image(region) && file_of(region) != nullptr)
    if (const auto n = read_file(region, address, out)) return n;
  std::size_t done = 0;
  while (done < out.size()) {
    const auto run = pages_.run({address + done, address + out.size()});
    const auto piece = out.subspan(done, static_cast<std::size_t>(run.end - address) - done);
    const auto n =
        run.state == State::absent ? read_past(region, address + done, piece) : read_page(run, address + done, piece);
    if (!n) return done > 0 ? Result<std::size_t>(done) : n;
    done += *n;
    if (*n < piece.size()) break;
  }
  return done;
}

/// Reads an address that is in no known mapping, or in an unreadable one: only if its page is present.
Result<std::size_t> GuestMemory::read_if_there(Address address, std::span<std::byte> out) const {
  const auto run = pages_.run({address, address + out.size()});
  return read_page(run, address, out.first(static_cast<std::size_t>(run.end - address)));
}

Result<std::size_t> GuestMemory::read_page(const memory::PageMap::Run& run, Address address,
                                           std::span<std::byte> out) const {
  if (run.state == State::absent) return fail(ErrorCode::unreadable_memory, address);
  if (run.state == State::swapped) {
    const Address pages = (address + out.size() - 1) / kPage - address / kPage + 1;
    if (!take_from_budget(swap_budget_, pages * kPage)) {
      is_swap_spent_ = true;
      return fail(ErrorCode::limit_exceeded, address);
    }
  }
  return memory_.read_some(address, out);
}

/// The bytes that the process would see at absent pages.
Result<std::size_t> GuestMemory::read_past(const Region& region, Address address, std::span<std::byte> out) const {
  if (is_anonymous(region)) {
    std::memset(out.data(), 0, out.size());
    return out.size();
  }
  if (region.inode != 0) return read_file(region, address, out);
  if (region.path == "[vdso]") return read_own_vdso(address - region.range.begin, out);
  return fail(ErrorCode::unreadable_memory, address);
}

Result<std::size_t> GuestMemory::read_file(const Region& region, Address address, std::span<std::byte> out) const {
  const std::uint64_t offset = region.file_offset + (address - region.range.begin);
  if (region.shared) {
    if (const base::ScopedFd fd = open_shared_memory(proc_, region)) {
      const ssize_t n = ::pread(fd.get(), out.data(), out.size(), static_cast<off_t>(offset));
      if (n <= 0) return fail(ErrorCode::unreadable_memory, address);
      return static_cast<std::size_t>(n);
    }
    // A read-only mapping is as good as a private one: .NET maps assemblies so. The file copy of a writable one would
    // be of another time than its pages.
    if (region.writable || file_of(region) == nullptr) return fail(ErrorCode::unreadable_memory, address);
  }
  if (const auto file = file_of(region)) {
    const std::uint64_t size = file->size();
    if (offset >= size) return fail(ErrorCode::unreadable_memory, address);
    const auto wanted = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size - offset)));
    const std::size_t n = copy_of(*file, offset, wanted);
    if (n < wanted.size()) return n != 0 ? Result<std::size_t>(n) : fail(ErrorCode::unreadable_memory, address);
    // The rest of the file's last page is zeros.
    const auto rest = std::min<std::size_t>(out.size() - n, static_cast<std::size_t>((0 - size) & 4095));
    std::memset(out.data() + n, 0, rest);
    return n + rest;
  }
  if (!take_from_budget(touch_budget_, out.size())) return fail(ErrorCode::unreadable_memory, address);
  return memory_.read_some(address, out);
}

std::shared_ptr<const FileBytes> GuestMemory::file_of(const Region& region) const {
  const FileKey key{region.device_major, region.device_minor, region.inode};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = files_.find(key); known != files_.end()) return known->second;
  }
  // Opened without the lock: a slow file system must not block other threads.
  auto opened = open_mapped_file(proc_, region);
  const std::lock_guard lock(mutex_);
  if (files_.size() >= kMostFiles) files_.clear();
  return files_.emplace(key, opened ? *opened : nullptr).first->second;
}

bool GuestMemory::answers_at_once(State state, const Region* region) {
  if (state == State::present || state == State::unknown) return true;
  if (state != State::shared || region == nullptr) return false;
  const std::string& path = region->path;
  return region->inode == 0 || path.starts_with("/memfd:") || path.starts_with("/dev/shm/") ||
         path.starts_with("/dev/zero") || path.starts_with("/SYSV");
}

void GuestMemory::read_ranges(std::span<memory::RangeRead> ranges) const {
  const auto regions = this->regions();
  // Each range is limited to its present part, so that one system call reads all of them.
  for (auto& r : ranges) {
    r.done = 0;
    r.limit = 0;
    while (r.limit < r.out.size()) {
      const auto run = pages_.run({r.address + r.limit, r.address + r.out.size()});
      const bool is_shared = run.state == State::shared && regions != nullptr;
      if (!answers_at_once(run.state, is_shared ? find_region(*regions, r.address + r.limit) : nullptr)) break;
      r.limit = static_cast<std::size_t>(run.end - r.address);
    }
  }
  memory_.read_ranges(ranges);
}

void GuestMemory::bring_back(AddressRange range) const {
  std::byte byte{};
  while (!range.empty()) {
    const auto run = pages_.run(range);
    if (run.state == State::swapped)
      for (Address at = range.begin; at < run.end; at = (at | 4095) + 1)
        if (!read_page({State::swapped, at + 1}, at, {&byte, 1})) return;
    range.begin = run.end;
  }
}

Result<std::size_t> GuestMemory::InStop::read_some(Address address, std::span<std::byte> out) const {
  memory::RangeRead read{address, out};
  guest_.read_ranges({&read, 1});
  if (read.done == 0 && !out.empty()) return fail(ErrorCode::unreadable_memory, address);
  return read.done;
}

}  // namespace mixstack::process
