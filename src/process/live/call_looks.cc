#include "process/live/call_looks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>

#include "process/live/kernel_counters.h"
#include "process/live/thread_facts.h"

namespace mixstack::process {
namespace {

constexpr std::uint64_t kNoFile = UINT64_MAX;

/// The descriptor that a call of a disk is about.
std::uint64_t descriptor_of(const BlockedCall& call) {
  switch (call.number) {
    case SYS_sync:
    case SYS_msync:
    case SYS_truncate:
      return kNoFile;
    case SYS_sendfile:  // from a file
      return call.arguments[1];
    default:
      return call.arguments[0];
  }
}

bool is_for_regular_files(DiskCall call) { return call == DiskCall::read || call == DiskCall::write; }

}  // namespace

DiskCall disk_call_of(std::int64_t number) {
  switch (number) {
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync:
    case SYS_syncfs:
    case SYS_msync:
    case SYS_sync_file_range:
      return DiskCall::sync;
    case SYS_ftruncate:
    case SYS_truncate:
    case SYS_fallocate:
      return DiskCall::truncate;
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_sendfile:
      return DiskCall::read;
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
      return DiskCall::write;
    default:
      return DiskCall::none;
  }
}

const CallLooks::File& CallLooks::file_of(std::uint64_t fd) {
  const auto [at, is_new] = files_.try_emplace(fd);
  if (!is_new) return at->second;
  const std::string name = "fd/" + std::to_string(fd);
  if (auto path = proc_.read_link(name)) at->second.path = std::move(*path);
  // O_PATH opens nothing at the other end, and asks no right of the file.
  const auto file = proc_.open_file(name, O_PATH);
  struct stat st {};
  at->second.is_regular = file && ::fstat(file->get(), &st) == 0 && S_ISREG(st.st_mode);
  return at->second;
}

CallLooks::Waiting CallLooks::waiting_in(ThreadId tid, std::string_view syscall) {
  // "-1 sp pc": blocked outside of a call. In state D it waits for a page; a debugger's stop has another state.
  if (syscall.starts_with("-1")) {
    const auto text = proc_.read_of_task(tid, "stat");
    const auto stat = text ? parse_stat_counters(*text) : std::nullopt;
    if (stat && stat->state == 'D') return {DiskCall::page_in, -1, {}};
    return {};
  }
  const auto blocked = parse_blocked_call(syscall);
  Waiting waiting{blocked ? disk_call_of(blocked->number) : DiskCall::none, blocked ? blocked->number : -1, {}};
  if (waiting.call == DiskCall::none) return waiting;
  const std::uint64_t fd = descriptor_of(*blocked);
  if (fd == kNoFile) return waiting;
  const File& file = file_of(fd & 0xffffffff);
  if (is_for_regular_files(waiting.call) && !file.is_regular) return {};
  waiting.file = file.path;
  return waiting;
}

bool CallLooks::look() {
  const auto tids = proc_.tasks();
  if (!tids) return false;
  files_.clear();
  std::size_t seen = 0;
  for (std::size_t i = 0; i < std::min(tids->size(), kMostThreads); i++) {
    const auto text = proc_.read_of_task((*tids)[i], "syscall");
    if (!text && text.error().code == ErrorCode::permission_denied) return false;
    if (!text) continue;  // it has ended
    seen++;
    const Waiting waiting = waiting_in((*tids)[i], *text);
    if (waiting.call == DiskCall::none) continue;
    if (threads_.size() < kMostThreads || threads_.contains((*tids)[i])) threads_[(*tids)[i]]++;
    auto at = calls_.find({waiting.number, waiting.file});
    if (at == calls_.end() && calls_.size() < kMostCalls)
      at = calls_.try_emplace({waiting.number, waiting.file}, WaitedCall{waiting.call, waiting.number, waiting.file, 0})
               .first;
    if (at != calls_.end()) at->second.seen++;
  }
  if (seen != 0) looks_++;
  return seen != 0;
}

CallTally CallLooks::tally() const {
  CallTally tally;
  tally.looks = looks_;
  for (const auto& [key, call] : calls_) tally.calls.push_back(call);
  for (const auto& [tid, seen] : threads_) tally.threads.push_back({tid, seen});
  const auto is_more = [](const auto& a, const auto& b) { return a.seen > b.seen; };
  std::stable_sort(tally.calls.begin(), tally.calls.end(), is_more);
  std::stable_sort(tally.threads.begin(), tally.threads.end(), is_more);
  return tally;
}

}  // namespace mixstack::process
