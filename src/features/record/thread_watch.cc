#include "features/record/thread_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <string>

#include "base/system/file_limit.h"

namespace mixstack::record {
namespace {

/// The next number of a line, in the base its prefix says; `text` goes on behind it.
std::optional<std::uint64_t> next_number(std::string_view& text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string_view read_again(int fd, std::array<char, 256>& room) {
  const ssize_t size = ::pread(fd, room.data(), room.size(), 0);
  return size <= 0 ? std::string_view() : std::string_view(room.data(), static_cast<std::size_t>(size));
}

/// Whether an errno from /proc means that the process or thread is gone. All others are about us: too many open files,
/// say.
bool has_gone(int error) { return error == ENOENT || error == ESRCH; }

Error error_of(int error) { return {has_gone(error) ? ErrorCode::no_such_process : ErrorCode::io_error, error, 0}; }

struct CloseDir {
  void operator()(DIR* dir) const { (void)::closedir(dir); }
};

}  // namespace

std::optional<RunCount> parse_schedstat(std::string_view text) {
  const auto cpu = next_number(text), queued = next_number(text), runs = next_number(text);
  if (!cpu || !queued || !runs) return std::nullopt;
  return RunCount{*cpu, *queued, *runs};
}

std::optional<WaitingCall> parse_waiting_call(std::string_view text) {
  if (text.empty() || text.front() == '-') return std::nullopt;
  WaitingCall call;
  const auto number = next_number(text);
  if (!number || *number > 0xffff) return std::nullopt;
  call.number = static_cast<std::int64_t>(*number);
  for (int i = 0; i < 6; i++)
    if (!next_number(text)) return std::nullopt;
  const auto sp = next_number(text), pc = next_number(text);
  if (!sp || !pc) return std::nullopt;
  call.sp = *sp;
  call.pc = *pc;
  return call;
}

ThreadWatch::ThreadWatch(std::uint32_t pid)
    : tasks_(::open(("/proc/" + std::to_string(pid) + "/task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      tasks_error_(tasks_ ? 0 : errno) {}

bool ThreadWatch::leaves_enough(const base::ScopedFd& file) const {
  return static_cast<std::uint64_t>(file.get()) < end_of_files_;
}

ThreadWatch::Opened ThreadWatch::open(ThreadId tid, Thread& thread) const {
  const std::string folder = std::to_string(tid);
  base::ScopedFd counts(::openat(tasks_.get(), (folder + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!counts) return has_gone(errno) ? Opened::gone : Opened::refused;
  if (!leaves_enough(counts)) return Opened::refused;
  thread.counts = std::move(counts);
  base::ScopedFd call(::openat(tasks_.get(), (folder + "/syscall").c_str(), O_RDONLY | O_CLOEXEC));
  if (call && leaves_enough(call)) thread.call = std::move(call);
  return Opened::yes;
}

bool ThreadWatch::is_unchanged(Thread& thread) {
  if (!thread.waits || !thread.call) return false;
  const std::uint64_t since = thread.now.runs - thread.runs_then;
  if (thread.is_settled) return since == 0;
  if (since > kRunsOfAStop) return false;
  std::array<char, 256> room{};
  if (parse_waiting_call(read_again(thread.call.get(), room)) != thread.waits) return false;
  thread.is_settled = true;
  thread.runs_then = thread.now.runs;
  return true;
}

Result<ThreadWatch::Round> ThreadWatch::look() {
  // A new descriptor, so that the list is read from its start.
  if (!tasks_) return fail(error_of(tasks_error_));
  const int again = ::openat(tasks_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDir> list(again < 0 ? nullptr : ::fdopendir(again));
  if (!list) {
    const int error = errno;
    if (again >= 0) (void)::close(again);
    return fail(error_of(error));
  }
  end_of_files_ = base::end_of_thread_files();
  Round found;
  round_++;
  std::array<char, 256> room{};
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    ThreadId tid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), tid).ec != std::errc()) continue;
    Thread& thread = threads_[tid];
    const Opened opened = thread.counts ? Opened::yes : open(tid, thread);
    if (opened == Opened::gone) {
      threads_.erase(tid);
      continue;
    }
    thread.round = round_;
    if (opened == Opened::refused) {
      found.changed.push_back(tid);
      continue;
    }
    const auto counts = parse_schedstat(read_again(thread.counts.get(), room));
    if (!counts) {
      // The thread that had this id has ended; the next round finds the new one.
      found.ended.push_back(tid);
      threads_.erase(tid);
      continue;
    }
    thread.before = thread.now;
    thread.now = *counts;
    thread.has_balance = thread.balance.round(now, counts->cpu_ns);
    thread.counts_as_running.reset();
    if (is_unchanged(thread)) {
      found.unchanged.push_back(tid);
      continue;
    }
    found.changed.push_back(tid);
    if (is_running(thread)) found.running.push_back(tid);
  }
  for (auto at = threads_.begin(); at != threads_.end();) {
    const bool is_here = at->second.round == round_;
    if (!is_here) found.ended.push_back(at->first);
    at = is_here ? std::next(at) : threads_.erase(at);
  }
  if (found.changed.empty() && found.unchanged.empty()) return fail(ErrorCode::no_such_process);
  for (auto* tids : {&found.changed, &found.running, &found.unchanged, &found.ended})
    std::sort(tids->begin(), tids->end());
  return found;
}

void ThreadWatch::captured(const ThreadCapture& thread) {
  const auto at = threads_.find(thread.tid);
  if (at == threads_.end()) return;
  at->second.runs_then = at->second.now.runs;
  at->second.is_settled = false;
  at->second.waits.reset();
  if (!thread.captured || thread.syscall < 0 || thread.kernel_state == 'R') return;
  at->second.waits = WaitingCall{thread.syscall, thread.registers.sp(), thread.registers.pc()};
}

bool ThreadWatch::is_running(Thread& thread) {
  std::array<char, 256> room{};
  return thread.call && read_again(thread.call.get(), room).starts_with("running") && counts_as_running(thread);
}

bool ThreadWatch::counts_as_running(Thread& thread) {
  if (!thread.counts_as_running)
    thread.counts_as_running =
        thread.has_balance ? thread.balance.owes_running()
                           : thread.now.queued_ns - thread.before.queued_ns <= thread.now.cpu_ns - thread.before.cpu_ns;
  return *thread.counts_as_running;
}

bool ThreadWatch::was_queued(ThreadId tid) {
  const auto at = threads_.find(tid);
  return at != threads_.end() && !counts_as_running(at->second);
}

}  // namespace mixstack::record
