
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <thread>

#include "base/system/number.h"
#include "base/system/proc_mount.h"
#include "base/system/small_file.h"
#include "dotnet/code/runtime.h"
#include "engine/images/module_map.h"
#include "mixstack/machine.h"
#include "process/live/live_target.h"
#include "process/live/proc_dir.h"
#include "process/live/proc_files.h"
#include "process/live/process_usage.h"
#include "session/native_aot.h"

namespace mixstack {
namespace {

constexpr std::size_t kMostMaps = 16 << 20;  // bytes of one process's list of mappings
constexpr std::size_t kMostCommand = 4 << 10;
constexpr std::size_t kMostThreadsNamed = 64;  // of a process, looked at for the names .NET gives

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::uint32_t> all_pids() {
  std::vector<std::uint32_t> pids;
  process::each_number("/proc", SIZE_MAX, [&pids](std::uint32_t pid) {
    if (pid <= INT32_MAX) pids.push_back(pid);
    return true;
  });
  std::sort(pids.begin(), pids.end());
  return pids;
}

/// By /etc/passwd: what other sources libc would ask cannot be loaded into a static program.
std::string user_name(std::uint32_t uid) {
  const std::string text = base::text_at("/etc/passwd", 1 << 20);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    // name:password:uid:...
    const std::size_t name = line.find(':'), password = line.find(':', name + 1);
    if (password == std::string_view::npos) continue;
    if (base::leading_number<std::uint32_t>(line.substr(password + 1)) == uid) return std::string(line.substr(0, name));
  }
  return {};
}

std::vector<std::string> command_line_of(const process::ProcDir& proc) {
  std::vector<std::string> words;
  const auto fd = proc.open_memory_file("cmdline", O_RDONLY);
  if (!fd) return words;
  std::string text(kMostCommand, '\0');
  const ssize_t size = ::pread(fd->get(), text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// Threads of the runtime name themselves; a single-file or AOT program has no library that would tell.
bool has_dotnet_threads(const process::ProcDir& proc) {
  const auto tasks = proc.tasks();
  if (!tasks) return false;
  std::size_t left = kMostThreadsNamed;
  for (const ThreadId tid : *tasks) {
    if (left-- == 0) break;
    const auto stat = proc.thread_stat(tid);
    if (stat && stat->comm.starts_with(".NET ")) return true;
  }
  return false;
}

enum class Looks : std::uint8_t { dotnet, other, not_readable, gone };

Looks look_at(const process::ProcDir& proc, RunningPrograms& found) {
  const auto maps = proc.read_memory_file("maps", kMostMaps);
  if (!maps) {
    if (maps.error().code == ErrorCode::permission_denied) {
      const auto stat = proc.thread_stat(proc.pid());
      found.not_readable.push_back({proc.pid(), stat ? stat->comm : "", maps.error().os_error});
      return Looks::not_readable;
    }
    return maps.error().code == ErrorCode::limit_exceeded && has_dotnet_threads(proc) ? Looks::dotnet : Looks::other;
  }
  if (maps->empty()) return Looks::gone;  // a kernel thread, or a zombie
  const bool has_library = maps->find("/libcoreclr.so\n") != std::string::npos ||
                           maps->find("/libcoreclr.so (deleted)\n") != std::string::npos;
  return has_library || has_dotnet_threads(proc) ? Looks::dotnet : Looks::other;
}

/// Which runtime it has, by its images. False: none after all.
bool find_runtime(RunningProgram& program) {
  auto target = process::open_live(program.pid);
  if (!target) return program.comm.starts_with(".NET");
  program.executable = (*target)->info().executable;
  const auto regions = (*target)->regions();
  if (!regions) return false;
  const auto modules = images::ModuleMap::build(
      *regions, (*target)->memory(), [&](const Region& region) { return (*target)->open_file(region); }, nullptr,
      images::ModuleMap::FileTrust::is_the_mapped);
  if (const auto aot = session::find_native_aot(modules, program.executable, (*target)->memory())) {
    program.hosting = Hosting::native_aot;
    program.version = aot->summary.version;
    return true;
  }
  const auto runtimes = dotnet::find_runtimes(modules, program.executable);
  if (!runtimes.empty()) {
    const dotnet::RuntimeImage& runtime = runtimes.front();
    program.version = runtime.version_for_people();
    program.hosting = runtime.is_single_file ? Hosting::single_file
                      : runtime.path.find("/shared/Microsoft.NETCore.App/") != std::string::npos
                          ? Hosting::framework_dependent
                          : Hosting::self_contained;
    return true;
  }
  return false;
}

std::optional<RunningProgram> describe(const process::ProcDir& proc) {
  RunningProgram program;
  program.pid = proc.pid();
  if (const auto stat = proc.thread_stat(proc.pid())) program.comm = stat->comm;
  if (!find_runtime(program)) return std::nullopt;
  const auto status = proc.read("status", 64 << 10);
  if (!status) return std::nullopt;
  if (const auto uid = process::status_field(*status, "Uid"))
    program.uid = base::leading_number<std::uint32_t>(*uid).value_or(0);
  program.user = user_name(program.uid);
  if (const auto threads = process::status_field(*status, "Threads"))
    program.threads = process::last_number(*threads).value_or(0);
  if (const auto cgroups = proc.read("cgroup", 64 << 10)) program.container = process::container_in(*cgroups);
  program.command_line = command_line_of(proc);
  const process::ProcessTicks ticks = process::read_ticks(proc);
  program.cpu_seconds = static_cast<double>(ticks.used) / process::ticks_a_second();
  if (const auto uptime = process::uptime_of(ticks)) program.uptime = std::chrono::floor<std::chrono::seconds>(*uptime);
  return program;
}

}  // namespace

std::string_view hosting_name(Hosting hosting) {
  switch (hosting) {
    case Hosting::framework_dependent:
      return "framework";
    case Hosting::self_contained:
      return "self-contained";
    case Hosting::single_file:
      return "single-file";
    case Hosting::native_aot:
      return "native-aot";
    case Hosting::unknown:
      break;
  }
  return "unknown";
}

bool RunningProgram::is_called(std::string_view name) const {
  if (name.empty()) return false;
  if (name == comm || name == file_name(executable)) return true;
  for (const std::string& word : command_line) {
    std::string_view file = file_name(word);
    if (!file.ends_with(".dll")) continue;
    if (name == file || name == file.substr(0, file.size() - 4)) return true;
    break;  // what comes behind is the program's own
  }
  return false;
}

Result<RunningPrograms> running_programs(std::chrono::milliseconds interval) {
  if (base::is_proc_of_other_pid_namespace()) return fail(base::other_pid_namespace_error());
  RunningPrograms found;
  found.as_root = ::geteuid() == 0;
  std::vector<process::ProcDir> dirs;  // held open: a pid that is used again is never taken for the process
  std::vector<std::uint64_t> used;
  const auto own = static_cast<std::uint32_t>(::getpid());
  const std::vector<std::uint32_t> pids = all_pids();
  if (pids.empty()) return fail(ErrorCode::io_error, 0, ENOENT);
  for (const std::uint32_t pid : pids) {
    auto proc = pid == own ? fail(ErrorCode::not_found) : process::ProcDir::open(pid);
    if (!proc) continue;
    if (look_at(*proc, found) != Looks::dotnet) continue;
    auto program = describe(*proc);
    if (!program) continue;
    found.programs.push_back(std::move(*program));
    dirs.push_back(std::move(*proc));
  }
  if (interval.count() == 0 || dirs.empty()) return found;
  for (const process::ProcDir& proc : dirs) used.push_back(process::read_ticks(proc).used);
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(interval);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (std::size_t i = 0; i < dirs.size(); i++) {
    const std::uint64_t later = process::read_ticks(dirs[i]).used;
    if (later > used[i])
      found.programs[i].cpu_percent = 100 * static_cast<double>(later - used[i]) / process::ticks_a_second() / seconds;
  }
  return found;
}

}  // namespace mixstack
