#include "process/live/perf_map_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>
#include <utility>

#include "base/system/number.h"
#include "base/system/regular_file.h"
#include "process/kernel/rooted_open.h"
#include "process/live/process_usage.h"

namespace mixstack::process {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t ns_of(const timespec& t) { return t.tv_sec * kSecond + t.tv_nsec; }

/// Real, effective, saved and file system user (proc(5), Uid).
std::optional<uid_t> effective_user(const ProcDir& proc) {
  const auto status = proc.read("status", 64 << 10);
  const auto users = status ? status_field(*status, "Uid") : std::nullopt;
  if (!users) return std::nullopt;
  std::string_view second = *users;
  second.remove_prefix(std::min(second.find('\t'), second.size()));
  return base::leading_number<uid_t>(second);
}

/// Whether the file was last written before the process began. Clocks of files and processes differ by some
/// milliseconds, so one second of doubt counts for the file.
bool is_older(const struct stat& file, const ProcDir& proc) {
  const auto uptime = uptime_of(read_ticks(proc));
  timespec now{};
  if (!uptime || ::clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
  return ns_of(file.st_mtim) < ns_of(now) - uptime->count() - kSecond;
}

std::uint64_t version_of(const struct stat& st) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a over words
  for (const std::uint64_t part :
       {std::uint64_t{st.st_dev}, std::uint64_t{st.st_ino}, static_cast<std::uint64_t>(st.st_size),
        static_cast<std::uint64_t>(ns_of(st.st_mtim))})
    hash = (hash ^ part) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

Result<base::ScopedFd> open_map(const ProcDir& proc) {
  const auto root = proc.open_memory_file("root", O_PATH | O_DIRECTORY);
  if (!root) return fail(root.error());
  const auto folder = open_folder_below(root->get(), "/tmp");
  if (!folder) return fail(folder.error());
  const std::string path = perf_map_path(proc);
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto open_it = [&](int flags) { return base::ScopedFd(::openat(folder->get(), name.c_str(), flags)); };
  const base::ScopedFd place = open_it(O_PATH | O_CLOEXEC | O_NOFOLLOW);
  if (!place) return fail(base::open_failure(errno));
  return base::reopen_regular(place.get(), [&] { return open_it(base::kReadFlags | O_NOFOLLOW); });
}

/// Reads the end of the file, from its first whole line on.
Result<std::string> read_end(int fd, std::uint64_t size, std::size_t most) {
  const std::uint64_t begin = size > most ? size - most : 0;
  std::string text(static_cast<std::size_t>(size - begin), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::pread(fd, text.data() + done, text.size() - done, static_cast<off_t>(begin + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(ErrorCode::io_error, 0, errno);
    if (n == 0) break;  // it was cut meanwhile
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  if (begin != 0) text.erase(0, std::min(text.find('\n'), text.size()));
  return text;
}

}  // namespace

std::string perf_map_path(const ProcDir& proc) {
  return "/tmp/perf-" + std::to_string(proc.namespace_tid(proc.pid())) + ".map";
}

Result<PerfMapText> read_perf_map(const ProcDir& proc, std::uint64_t known, std::size_t most) {
  const auto user = effective_user(proc);
  if (!user) return fail(ErrorCode::no_such_process, proc.pid());
  const auto fd = open_map(proc);
  if (!fd) return fail(fd.error());
  struct stat st {};
  if (::fstat(fd->get(), &st) != 0) return fail(ErrorCode::io_error, 0, errno);
  const bool is_trusted = (st.st_uid == *user || st.st_uid == 0) && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!is_trusted) return fail(ErrorCode::permission_denied, st.st_uid);
  if (is_older(st, proc)) return fail(ErrorCode::mismatch);
  PerfMapText map{version_of(st), {}};
  if (map.version == known) return map;
  auto text = read_end(fd->get(), static_cast<std::uint64_t>(std::max<off_t>(st.st_size, 0)), most);
  if (!text) return fail(text.error());
  map.text = std::move(*text);
  return map;
}

}  // namespace mixstack::process
