#include "agent/in_process/tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/system/scoped_fd.h"

namespace mixstack::agent {
namespace {

constexpr std::size_t kMostTasks = 1 << 16;

/// The first bytes of a thread's file in /proc; empty: unreadable.
template <std::size_t N>
[[nodiscard]] std::string_view read_of(std::uint32_t tid, const char* file, std::array<char, N>& out) {
  std::array<char, 64> path;
  (void)std::snprintf(path.data(), path.size(), "/proc/self/task/%u/%s", tid, file);
  const base::ScopedFd fd(::open(path.data(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = fd ? ::read(fd.get(), out.data(), out.size()) : -1;
  return {out.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

}  // namespace

std::vector<std::uint32_t> own_tasks() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/task"), ::closedir);
  std::vector<std::uint32_t> tids;
  while (folder != nullptr && tids.size() < kMostTasks) {
    const dirent* entry = ::readdir(folder.get());  // NOLINT(concurrency-mt-unsafe): the folder is ours alone
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    std::uint32_t tid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), tid).ec == std::errc{}) tids.push_back(tid);
  }
  return tids;
}

char task_state(std::uint32_t tid) {
  std::array<char, 128> bytes;
  const std::string_view text = read_of(tid, "stat", bytes);
  const std::size_t end = text.rfind(") ");  // the comm before it is short and may hold any bytes
  return end == text.npos || end + 2 >= text.size() ? '\0' : text[end + 2];
}

std::uint64_t task_runs(std::uint32_t tid) {
  std::array<char, 80> bytes;
  std::string_view text = read_of(tid, "schedstat", bytes);  // ns on a processor, ns waiting for one, run count
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const std::string_view last = text.substr(text.rfind(' ') + 1);
  std::uint64_t runs = 0;
  (void)std::from_chars(last.data(), last.data() + last.size(), runs);
  return runs;
}

std::optional<WaitPlace> task_wait(std::uint32_t tid) {
  std::array<char, 256> bytes;
  const std::string_view text = read_of(tid, "syscall", bytes);  // number, six arguments, sp, pc; or "running"
  // "-1", sp, pc: not in a system call.
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const std::size_t pc = text.rfind(" 0x"), sp = pc == text.npos || pc == 0 ? text.npos : text.rfind(" 0x", pc - 1);
  if (sp == text.npos) return std::nullopt;
  WaitPlace place;
  (void)std::from_chars(text.data(), text.data() + text.size(), place.number);
  (void)std::from_chars(text.data() + sp + 3, text.data() + pc, place.sp, 16);
  (void)std::from_chars(text.data() + pc + 3, text.data() + text.size(), place.pc, 16);
  return place;
}

std::string task_name(std::uint32_t tid) {
  std::array<char, 64> bytes;
  const std::string_view text = read_of(tid, "comm", bytes);
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace mixstack::agent
