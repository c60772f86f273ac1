#include "features/memory/moment_mark.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <chrono>

#include "process/live/process_usage.h"

namespace mixstack::memory_use {
namespace {

constexpr std::size_t kCollected = 3;  // generations 0, 1, 2

std::uint64_t changed_at(const std::string& path) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0 || file.st_mtim.tv_sec < 0) return 0;
  return static_cast<std::uint64_t>(file.st_mtim.tv_sec) * kSecond + static_cast<std::uint64_t>(file.st_mtim.tv_nsec);
}

}  // namespace

MomentMark mark_of(Session& session, const std::vector<ManagedMemory>& managed) {
  using std::chrono::system_clock;
  const TargetInfo& target = session.target().info();
  MomentMark mark;
  mark.version = MIXSTACK_VERSION;
  if (target.core_path.empty()) {
    mark.taken_unix_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(system_clock::now().time_since_epoch()).count());
    struct utsname host {};
    if (::uname(&host) == 0) mark.host = host.nodename;
    if (const auto proc = process::ProcDir::open(target.pid)) mark.started = process::read_ticks(*proc).started;
  } else {
    mark.taken_unix_ns = changed_at(target.core_path);
    mark.is_time_of_file = true;
  }
  for (const ManagedMemory& m : managed) mark.runtimes.push_back({m.version, {}});
  const auto counters = session.counters();
  for (std::size_t i = 0; counters && i < std::min(counters->size(), mark.runtimes.size()); i++) {
    const auto& generations = (*counters)[i].generations;
    for (std::size_t g = 0; g < std::min(kCollected, generations.size()); g++)
      mark.runtimes[i].collections.push_back(generations[g].collections);
  }
  return mark;
}

}  // namespace mixstack::memory_use
