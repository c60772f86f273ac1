#include "process/peers/shared_locks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "base/arch/call_arguments.h"
#include "base/system/number.h"
#include "base/system/small_file.h"
#include "process/live/proc_dir.h"
#include "process/live/proc_files.h"

namespace mixstack::peers {
namespace {

// pthread_mutex_t, as in native_waits.cc.
constexpr std::uint64_t kOwner = 8, kKind = 16;
constexpr std::uint32_t kIdBits = 0x3fffffff, kIdInLock = 0x30, kKindBits = 0xff, kOwnerDied = 0x40000000;
constexpr std::chrono::milliseconds kMostTime{100};
constexpr std::size_t kMostProcesses = 1 << 16, kMostTasks = 1 << 12, kMostText = 16 << 20, kMostStatus = 1 << 16;

std::string status_of(const std::string& folder) { return base::text_at(folder + "/status", kMostStatus); }

/// A process with the file mapped has its device and inode in a line of its list.
bool maps_file(std::uint32_t pid, const Region& region) {
  const std::string maps = base::text_at(fmt::format("/proc/{}/maps", pid), kMostText);
  return maps.find(fmt::format(" {:02x}:{:02x} {} ", region.device_major, region.device_minor, region.inode)) !=
         std::string::npos;
}

struct Holder {
  std::uint32_t pid = 0, tid = 0;  ///< of our pid namespace
};

/// The process whose thread has this id in the innermost namespace it is in, of those that have the file mapped.
std::optional<Holder> holder_of(std::uint32_t id, const Region& region) {
  const std::string of_thread = status_of(fmt::format("/proc/{}", id));
  const auto group = base::number<std::uint32_t>(process::status_field(of_thread, "Tgid").value_or(""));
  if (group && maps_file(*group, region)) return Holder{*group, id};
  std::optional<Holder> found;
  const auto deadline = std::chrono::steady_clock::now() + kMostTime;
  process::each_number("/proc", kMostProcesses, [&](std::uint32_t pid) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    if (!maps_file(pid, region)) return true;
    process::each_number(fmt::format("/proc/{}/task", pid), kMostTasks, [&](std::uint32_t tid) {
      const std::string status = status_of(fmt::format("/proc/{}/task/{}", pid, tid));
      const auto ids = process::status_field(status, "NSpid");
      if (ids && process::last_number(*ids) == id) found = Holder{pid, tid};
      return !found;
    });
    return !found;
  });
  return found;
}

}  // namespace

std::optional<SharedMutex> shared_mutex_at(const MemoryReader& memory, Address at) {
  const auto lock = memory.read<std::uint32_t>(at), owner = memory.read<std::uint32_t>(at + kOwner),
             kind = memory.read<std::uint32_t>(at + kKind);
  if (!lock || !owner || !kind) return std::nullopt;
  if ((*kind & kKindBits & kIdInLock) != 0) {  // robust, or one that passes on priorities: the kernel's word
    if ((*lock & kIdBits) == 0) return std::nullopt;
    return SharedMutex{*lock & kIdBits, (*lock & kOwnerDied) != 0};
  }
  constexpr std::uint32_t kLocked = 1, kWaitedFor = 2;
  if ((*lock != kLocked && *lock != kWaitedFor) || *owner == 0) return std::nullopt;
  return SharedMutex{*owner, false};
}

namespace {

std::string words_of(const SharedMutex& mutex, const Region& region, std::uint32_t own, ThreadWait& wait) {
  std::string words = "in shared memory, " + region.path;
  const auto holder = holder_of(mutex.owner, region);
  if (!holder)
    return words + fmt::format("; held by thread {} of a process that is not to be seen from here", mutex.owner);
  if (holder->pid == own) {
    wait.owners = {holder->tid};
    return words;
  }
  wait.processes = {{.pid = holder->pid, .thread = holder->tid, .name = process::comm_of(holder->pid), .holds = true}};
  return words +
         fmt::format("; held by process {} \"{}\", thread {}", holder->pid, process::comm_of(holder->pid), holder->tid);
}

}  // namespace

void name_shared_locks(ProcessDump& dump, const std::vector<Region>& regions, const MemoryReader& memory) {
  for (ThreadDump& t : dump.threads) {
    if (!t.captured || t.syscall < 0 || (t.wait && !t.wait->owners.empty())) continue;
    if (t.wait && t.wait->kind != WaitKind::wait_handle && t.wait->kind != WaitKind::native_mutex) continue;
    const auto call = t.facts.arguments ? t.facts.arguments : arch::arguments_in(t.registers);
    if (!call || !t.facts.object.starts_with("futex")) continue;
    const Address word = (*call)[0];
    const auto is_it = [word](const Region& r) { return r.range.contains(word); };
    const auto region = std::find_if(regions.begin(), regions.end(), is_it);
    if (region == regions.end() || region->inode == 0 || !region->shared) continue;
    const auto mutex = shared_mutex_at(memory, word);
    if (!mutex || mutex->owner == t.ns_tid) continue;
    ThreadWait wait = t.wait.value_or(ThreadWait{});
    if (wait.kind == WaitKind::none) wait.kind = WaitKind::native_mutex;
    wait.proof = Proof::proved;
    if (wait.object.address == 0) wait.object.address = word;
    wait.object.detail = words_of(*mutex, *region, dump.target.pid, wait);
    t.wait = std::move(wait);
  }
}

}  // namespace mixstack::peers
