#include "agent/client/target_place.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/system/proc_mount.h"
#include "base/system/small_file.h"

namespace mixstack::agent_client {
namespace {

constexpr std::size_t kMostEnvironment = 4u << 20, kMostMaps = 16u << 20, kMostEntries = 1u << 16, kMostSockets = 16;

/// Number `index` of the line "Key:\t1\t2\t3", or the last number if there are fewer.
[[nodiscard]] std::optional<std::uint32_t> field(std::string_view text, std::string_view key, std::size_t index) {
  const std::size_t at = text.find("\n" + std::string(key) + ":");
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + key.size() + 2);
  text = text.substr(0, text.find('\n'));
  std::optional<std::uint32_t> last;
  for (std::size_t i = 0; i <= index; i++) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) break;
    last = value;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return last;
}

[[nodiscard]] char state_of(std::uint32_t pid) {
  const std::string stat = base::text_at("/proc/" + std::to_string(pid) + "/stat", 4096);
  const std::size_t end = stat.rfind(") ");
  return end == stat.npos || end + 2 >= stat.size() ? '?' : stat[end + 2];
}

/// user_namespaces(7): lines of "inside outside count".
[[nodiscard]] uid_t outer_root(std::uint32_t pid) {
  const std::string map = "\nmap: " + base::text_at("/proc/" + std::to_string(pid) + "/uid_map", 4096);
  const auto inside = field(map, "map", 0), outside = field(map, "map", 1);
  return inside == 0u && outside ? *outside : 0;
}

[[nodiscard]] base::ScopedFd open_inside(int root, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return base::ScopedFd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

struct Found {
  std::string name;
  timespec time{};
};

/// Newest first: killed processes leave their sockets behind, and PIDs are reused.
[[nodiscard]] std::vector<Found> sockets_in(int folder, const TargetPlace& place, const SocketName& name) {
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  std::vector<Found> found;
  for (std::size_t n = 0; entries != nullptr && n < kMostEntries; n++) {
    const dirent* entry = ::readdir(entries.get());  // NOLINT(concurrency-mt-unsafe): the folder is ours alone
    if (entry == nullptr) break;
    struct stat st {};
    if (!is_name_of(entry->d_name, name, place.inner_pid) ||
        ::fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(st.st_mode) ||
        st.st_uid != place.user)
      continue;
    found.push_back({entry->d_name, st.st_mtim});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::pair(a.time.tv_sec, a.time.tv_nsec) > std::pair(b.time.tv_sec, b.time.tv_nsec);
  });
  found.resize(std::min(found.size(), kMostSockets));
  return found;
}

}  // namespace

tl::unexpected<Failure> refuse(ErrorCode code, std::string_view reason, std::string text, int os_error) {
  return tl::unexpected(Failure{{code, os_error, 0}, reason, std::move(text)});
}

std::string variable_of(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::size_t end = std::min(environment.find('\0'), environment.size());
    const std::string_view entry = environment.substr(0, end);
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return {};
}

bool names_musl(std::string_view maps) {
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const std::size_t path = std::min(line.find('/'), line.size());
    const std::size_t file = line.rfind('/');
    if (file == line.npos) continue;
    if (line.substr(file).starts_with("/ld-musl-")) return true;
    if (line.substr(path, file - path).ends_with("-linux-musl") && line.substr(file) == "/libc.so") return true;
  }
  return false;
}

bool is_name_of(std::string_view file, const SocketName& name, std::uint32_t inner_pid) {
  if (file.size() <= name.prefix.size() + name.suffix.size() || !file.starts_with(name.prefix) ||
      !file.ends_with(name.suffix))
    return false;
  file.remove_prefix(name.prefix.size());
  file.remove_suffix(name.suffix.size());
  return file.starts_with(std::to_string(inner_pid) + "-");
}

Outcome<TargetPlace> place_of(std::uint32_t pid) {
  if (base::is_proc_of_other_pid_namespace()) {
    return tl::unexpected(
        Failure{base::other_pid_namespace_error(), "foreign_proc",
                "/proc is that of another pid namespace than ours: its process " + std::to_string(pid) +
                    " is another one (nsenter -t PID -p -m ..., or mount a /proc of this namespace)"});
  }
  const std::string process = "/proc/" + std::to_string(pid);
  const std::string status = base::text_at(process + "/status", 64 * 1024);
  if (status.empty())
    return refuse(ErrorCode::no_such_process, "no_such_process",
                  "there is no process " + std::to_string(pid) + " (or /proc hides it)");
  TargetPlace place;
  place.pid = pid;
  if (const auto group = field(status, "Tgid", 0); group && *group != pid)
    return refuse(ErrorCode::no_such_process, "is_thread",
                  std::to_string(pid) + " is a thread of process " + std::to_string(*group) + ": give that number");
  place.inner_pid = field(status, "NSpid", 64).value_or(pid);
  place.user = field(status, "Uid", 1).value_or(0);
  place.root_user = outer_root(pid);
  place.state = state_of(pid);
  place.root = base::ScopedFd(::open((process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const base::ScopedFd ours(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat a {
  }, b{};
  if (!place.root) {
    // Without permission for /proc/PID/root, assume our own root: SO_PEERCRED verifies the socket's owner later.
    place.root = base::ScopedFd(::openat(ours.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  } else {
    place.has_own_root = ::fstat(place.root.get(), &a) == 0 && ::fstat(ours.get(), &b) == 0 &&
                         (a.st_dev != b.st_dev || a.st_ino != b.st_ino);
  }
  const std::string chosen = variable_of(base::text_at(process + "/environ", kMostEnvironment), "TMPDIR");
  if (chosen.starts_with('/')) place.folders.push_back(chosen);
  place.folders.emplace_back("/tmp");
  place.has_musl = names_musl(base::text_at(process + "/maps", kMostMaps));
  return place;
}

Outcome<base::ScopedFd> connect_to_process(const TargetPlace& place, const SocketName& name,
                                           agent_link::Clock::time_point deadline) {
  Error worst{ErrorCode::not_found, 0, 0};
  for (const std::string& path : place.folders) {
    const base::ScopedFd folder = open_inside(place.root.get(), path, O_PATH | O_DIRECTORY);
    if (!folder) continue;
    for (const Found& found : sockets_in(folder.get(), place, name)) {
      // Through the folder's descriptor: the path may be longer than sun_path, and belongs to another root.
      auto link = agent_link::connect_to("/proc/self/fd/" + std::to_string(folder.get()) + "/" + found.name, deadline);
      if (!link) {
        if (link.error().code != ErrorCode::not_found) worst = link.error();
        continue;
      }
      const auto peer = agent_link::peer_of(link->get());
      if (peer && peer->pid == place.pid) return std::move(*link);
    }
  }
  return refuse(worst.code, {}, {}, worst.os_error);
}

}  // namespace mixstack::agent_client
