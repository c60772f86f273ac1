#include "process/perf/perf_ring.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "process/perf/perf_record.h"

namespace mixstack::perf {
namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

void PerfRing::Unmap::operator()(void* mapping) const { ::munmap(mapping, bytes); }

PerfRing::PerfRing(std::unique_ptr<void, Unmap> mapping, std::span<const std::byte> records)
    : mapping_(std::move(mapping)), bytes_(records.size()), window_(records) {}

Result<PerfRing> PerfRing::map(int event, std::size_t bytes, std::size_t least) {
  const std::size_t page = page_bytes();
  least = least < page ? page : least;
  for (; bytes >= least; bytes /= 2) {
    const std::size_t all = bytes + page;
    // The page before the records is written by both sides: we store the tail there.
    void* mapping = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (mapping != MAP_FAILED) {
      const std::span records(static_cast<const std::byte*>(mapping) + page, bytes);
      return PerfRing(std::unique_ptr<void, Unmap>(mapping, Unmap{all}), records);
    }
    // EPERM: beyond perf_event_mlock_kb and RLIMIT_MEMLOCK.
    if (errno != EPERM && errno != ENOMEM) return fail(ErrorCode::io_error, bytes, errno);
  }
  return fail(ErrorCode::permission_denied, least, errno);
}

void PerfRing::look() {
  auto* page = static_cast<perf_event_mmap_page*>(mapping_.get());
  // Records before the head are visible once the head is (perf_event.h, data_head).
  const std::uint64_t head = std::atomic_ref(page->data_head).load(std::memory_order_acquire);
  if (!window_.extend(head)) damages_++;
}

std::uint64_t PerfRing::first_time() {
  const auto record = window_.first();
  return record ? time_of(*record).value_or(0) : 0;
}

std::span<const std::byte> PerfRing::first() {
  if (const auto record = window_.first()) return *record;
  damages_++;
  window_.drop_all();
  publish_tail();
  return {};
}

void PerfRing::drop_first(std::size_t bytes) {
  window_.drop_first(bytes);
  publish_tail();
}

void PerfRing::publish_tail() {
  auto* page = static_cast<perf_event_mmap_page*>(mapping_.get());
  std::atomic_ref(page->data_tail).store(window_.tail(), std::memory_order_release);
}

}  // namespace mixstack::perf
