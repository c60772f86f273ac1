// Reads /proc/PID by descriptors that stay open.
// Input: the id of any thread of a process. Output: its threads, their stat lines, and small files of that process
// alone.
// Algorithm of open: 1. refuse a /proc of another pid namespace, whose numbers mean other processes. 2. open /proc/PID
// and read its Tgid; if that is another number, open that directory instead. 3. open task/. 4. if the main thread is a
// zombie, find a thread that still has memory (find_memory_tid): maps, mem and auxv are read there. All later paths are
// relative to these descriptors, so they fail once the process has gone, even if its number is used again. A name in a
// stat line may hold parentheses, so the last one ends it.
// Bounds: `limit` bytes in read(); one read into at most 1,024 bytes for small files; kMaxTasks threads.
#include "process/live/proc_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "base/system/byte_cursor.h"
#include "base/system/proc_mount.h"
#include "base/words/words.h"

namespace mixstack::process {
namespace {

constexpr std::size_t kMaxTasks = 1 << 22;  // Linux: PID_MAX_LIMIT

[[nodiscard]] Result<std::string> read_all(int fd, std::size_t limit) {
  std::string text;
  std::size_t used = 0;
  for (;;) {
    if (text.size() - used < 4096) text.resize(std::max<std::size_t>(text.size() * 2, 8192));
    const ssize_t n = ::read(fd, text.data() + used, text.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno == ESRCH ? ErrorCode::no_such_process : ErrorCode::io_error, 0, errno);
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
    if (used > limit) return fail(ErrorCode::limit_exceeded, limit);
  }
  text.resize(used);
  return text;
}

/// A file so small that one read gives all of it. Nothing when it cannot be read.
template <std::size_t N>
[[nodiscard]] std::string_view read_small(int dir, const char* name, std::array<char, N>& buffer) {
  const base::ScopedFd fd(::openat(dir, name, O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
  return n > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(n)) : std::string_view{};
}

[[nodiscard]] std::string task_file(ThreadId tid, const char* name) { return std::to_string(tid) + name; }

}  // namespace

std::optional<ThreadStat> parse_thread_stat(std::string_view line) {
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  if (close + 2 >= line.size()) return std::nullopt;
  ThreadStat stat{std::string(line.substr(open + 1, close - open - 1)), line[close + 2]};
  // The state is the third field, the flags are the ninth, the processor is the 39th (proc(5)).
  constexpr std::uint64_t kKernelThread = 0x00200000;                  // PF_KTHREAD, include/linux/sched.h
  constexpr std::uint64_t kIoWorkerFlag = 0x10, kUserWorker = 0x4000;  // PF_IO_WORKER, PF_USER_WORKER
  std::uint64_t flags = 0;
  std::size_t at = close + 2;
  for (int field = 4; field <= 39; field++) {
    at = line.find(' ', at + 1);
    if (at == std::string_view::npos) break;
    if (field == 9) (void)std::from_chars(line.data() + at + 1, line.data() + line.size(), flags);
    if (field == 39) (void)std::from_chars(line.data() + at + 1, line.data() + line.size(), stat.cpu);
  }
  stat.is_kernel_thread = (flags & kKernelThread) != 0;
  stat.is_io_worker = (flags & kIoWorkerFlag) != 0;
  stat.is_user_worker = (flags & kUserWorker) != 0;
  return stat;
}

std::uint64_t ProcDir::kernel_task(ThreadId tid, const ThreadStat& stat) const {
  if (stat.is_io_worker) return words::kIoWorker;
  // A program's thread has a user stack, which is told while it waits.
  const bool is_worker = stat.is_user_worker && thread_stack_pointer(tid) == 0;
  return stat.is_kernel_thread || is_worker ? words::kKernelTask : 0;
}

std::optional<std::uint32_t> last_number(std::string_view text) {
  const std::size_t last = text.find_last_of("0123456789");
  if (last == std::string_view::npos) return std::nullopt;
  const std::size_t before = text.find_last_not_of("0123456789", last);
  const char* begin = text.data() + (before == std::string_view::npos ? 0 : before + 1);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + last + 1, value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

Result<ProcDir> ProcDir::open(std::uint32_t pid) {
  if (base::is_proc_of_other_pid_namespace()) return fail(base::other_pid_namespace_error());
  ProcDir p;
  p.pid_ = pid;
  const auto open_dir = [&] {
    const std::string path = "/proc/" + std::to_string(p.pid_);
    p.dir_ = base::ScopedFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  };
  open_dir();
  if (!p.dir_) return fail(p.failure(errno));
  auto status = p.read("status");
  if (!status) return fail(status.error());
  if (const auto group = status_field(*status, "Tgid"); group && last_number(*group) && *last_number(*group) != pid) {
    p.pid_ = *last_number(*group);
    open_dir();
    if (!p.dir_) return fail(p.failure(errno));
  }
  p.tasks_ = base::ScopedFd(::openat(p.dir_.get(), "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!p.tasks_) return fail(p.failure(errno));
  struct stat theirs {
  }, ours{};
  p.other_namespace_ = ::fstatat(p.dir_.get(), "ns/pid", &theirs, 0) == 0 && ::stat("/proc/self/ns/pid", &ours) == 0 &&
                       theirs.st_ino != ours.st_ino;
  p.find_memory_tid();
  return p;
}

void ProcDir::find_memory_tid() {
  memory_tid_ = pid_;
  const auto has_memory = [&](ThreadId tid) {
    std::array<char, 1> byte{};
    return !read_small(tasks_.get(), task_file(tid, "/cmdline").c_str(), byte).empty() ||
           !read_small(tasks_.get(), task_file(tid, "/maps").c_str(), byte).empty();
  };
  const auto leader = thread_stat(pid_);
  if (!leader || leader->state != 'Z') return;
  auto all = tasks();
  if (!all) return;
  for (const ThreadId tid : *all) {
    if (!has_memory(tid)) continue;
    memory_tid_ = tid;
    memory_prefix_ = "task/" + std::to_string(tid) + "/";
    return;
  }
}

Error ProcDir::failure(int error) const {
  ErrorCode code = ErrorCode::io_error;
  if (error == ESRCH) code = ErrorCode::no_such_process;
  if (error == EACCES || error == EPERM) code = ErrorCode::permission_denied;
  // A file that is missing in a live process, or a process that is missing in /proc (hidepid hides it the same way).
  if (error == ENOENT || error == ENOTDIR) code = dir_ ? ErrorCode::not_found : ErrorCode::no_such_process;
  return {code, error, pid_};
}

Result<base::ScopedFd> ProcDir::open_file(const std::string& name, int flags) const {
  base::ScopedFd fd(::openat(dir_.get(), name.c_str(), flags | O_CLOEXEC));
  if (!fd) return fail(failure(errno));
  return fd;
}

Result<base::ScopedFd> ProcDir::open_memory_file(const std::string& name, int flags) const {
  return open_file(memory_prefix_ + name, flags);
}

Result<std::string> ProcDir::read(const std::string& name, std::size_t limit) const {
  auto fd = open_file(name, O_RDONLY);
  if (!fd) return fail(fd.error());
  return read_all(fd->get(), limit);
}

Result<std::string> ProcDir::read_of_task(ThreadId tid, const char* name) const {
  std::array<char, 64> path{};
  (void)std::snprintf(path.data(), path.size(), "%u/%s", tid, name);
  const base::ScopedFd fd(::openat(tasks_.get(), path.data(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(failure(errno));
  std::array<char, 512> text;
  const ssize_t n = ::read(fd.get(), text.data(), text.size());
  if (n < 0) return fail(failure(errno));
  return std::string(text.data(), static_cast<std::size_t>(n));
}

Result<std::string> ProcDir::read_memory_file(const std::string& name, std::size_t limit) const {
  return read(memory_prefix_ + name, limit);
}

Result<std::string> ProcDir::read_link(const std::string& name) const {
  std::string text(4096, '\0');
  const ssize_t n = ::readlinkat(dir_.get(), (memory_prefix_ + name).c_str(), text.data(), text.size());
  if (n < 0) return fail(failure(errno));
  text.resize(static_cast<std::size_t>(n));
  return text;
}

Result<std::vector<ThreadId>> ProcDir::tasks() const {
  std::vector<ThreadId> tids;
  alignas(8) std::array<std::byte, 32 << 10> buffer;
  if (::lseek(tasks_.get(), 0, SEEK_SET) != 0) return fail(failure(errno));
  for (;;) {
    const long n = ::syscall(SYS_getdents64, tasks_.get(), buffer.data(), buffer.size());
    if (n == 0) return tids;
    // The directory answers ENOENT once its process has gone.
    if (n < 0) return fail(errno == ENOENT ? Error{ErrorCode::no_such_process, errno, pid_} : failure(errno));
    const std::span<const std::byte> entries = std::span(buffer).first(static_cast<std::size_t>(n));
    // struct linux_dirent64: u64 inode, s64 offset, u16 size of the entry, u8 type, name.
    for (std::size_t at = 0; at + 19 < entries.size();) {
      const auto size = base::load_at<std::uint16_t>(entries, at + 16).value_or(0);
      if (size < 20 || size > entries.size() - at) break;
      const char* name = reinterpret_cast<const char*>(entries.data() + at + 19);
      ThreadId tid = 0;
      const auto [end, error] = std::from_chars(name, name + (size - 19), tid);
      if (error == std::errc{} && tid != 0) tids.push_back(tid);
      at += size;
    }
    if (tids.size() > kMaxTasks) return fail(ErrorCode::limit_exceeded, tids.size());
  }
}

std::size_t ProcDir::task_count() const {
  struct stat st {};
  if (::fstat(tasks_.get(), &st) != 0 || st.st_nlink <= 2) return 0;
  return st.st_nlink - 2;
}

MappedSizes ProcDir::mapped_sizes() const {
  std::array<char, 256> buffer;
  const auto text = read_small(dir_.get(), (memory_prefix_ + "statm").c_str(), buffer);
  MappedSizes sizes;
  const char *at = text.data(), *const end = text.data() + text.size();
  for (int field = 1; field <= 6 && at < end; field++) {
    std::uint64_t pages = 0;
    at = std::from_chars(at, end, pages).ptr + 1;
    if (field == 1) sizes.all = pages;
    if (field == 6) sizes.data = pages;
  }
  return sizes;
}

bool ProcDir::has_task(ThreadId tid) const {
  return ::faccessat(tasks_.get(), std::to_string(tid).c_str(), F_OK, 0) == 0;
}

std::optional<ThreadStat> ProcDir::thread_stat(ThreadId tid) const {
  std::array<char, 1024> buffer;
  return parse_thread_stat(read_small(tasks_.get(), task_file(tid, "/stat").c_str(), buffer));
}

base::ScopedFd ProcDir::open_thread_stat(ThreadId tid) const {
  return base::ScopedFd(::openat(tasks_.get(), task_file(tid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
}

base::ScopedFd ProcDir::open_thread_name(ThreadId tid) const {
  return base::ScopedFd(::openat(tasks_.get(), task_file(tid, "/comm").c_str(), O_RDONLY | O_CLOEXEC));
}

std::int64_t ProcDir::thread_syscall(ThreadId tid) const {
  // "running", or "number arguments sp pc" with number -1 when it is blocked outside a system call (proc(5)).
  std::array<char, 512> buffer;
  const auto text = read_small(tasks_.get(), task_file(tid, "/syscall").c_str(), buffer);
  std::int64_t number = -1;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number < 0 ? -1 : number;
}

Address ProcDir::thread_stack_pointer(ThreadId tid) const {
  std::array<char, 512> buffer;
  std::string_view text = read_small(tasks_.get(), task_file(tid, "/syscall").c_str(), buffer);
  text = text.substr(0, text.rfind(" 0x"));  // the last field is the pc
  const std::size_t at = text.rfind(" 0x");
  Address sp = 0;
  if (at != std::string_view::npos) (void)std::from_chars(text.data() + at + 3, text.data() + text.size(), sp, 16);
  return sp;
}

ThreadId ProcDir::namespace_tid(ThreadId tid) const {
  auto status = read("task/" + task_file(tid, "/status"));
  if (!status) return tid;
  const auto ids = status_field(*status, "NSpid");
  return ids ? last_number(*ids).value_or(tid) : tid;
}

}  // namespace mixstack::process
