#include "features/why/kernel_causes.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "features/why/call_causes.h"
#include "features/why/child_causes.h"
#include "features/why/memory_causes.h"
#include "features/why/processor_causes.h"
#include "features/why/sample_places.h"
#include "output/report/wait_words.h"
#include "process/live/call_looks.h"

namespace mixstack::why {
namespace {

using process::DiskCall;

/// The name of a system call, if a function of the kernel is its entry: "write" of __x64_sys_write, ksys_write. Empty:
/// it is another function. (SYSCALL_DEFINE of include/linux/syscalls.h and the wrappers of each CPU.)
std::string_view called(std::string_view function) {
  constexpr std::array<std::string_view, 7> kEntries = {"__x64_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_",
                                                        "ksys_",      "SyS_",         "sys_"};
  for (const std::string_view entry : kEntries)
    if (function.starts_with(entry)) return function.substr(entry.size());
  return {};
}

bool is_any(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Sending, by the entry and by what the kernel calls in its place.
bool sends(std::string_view function) {
  return is_any(called(function), {"sendto", "sendmsg", "sendmmsg"}) ||
         is_any(function, {"__sys_sendto", "__sys_sendmsg", "___sys_sendmsg", "sock_sendmsg", "tcp_sendmsg"});
}

/// The kernel often jumps from an entry to the function that does the work, which then stands in the entry's place.
bool is_function_of(SlowKind kind, std::string_view function) {
  const std::string_view call = called(function);
  switch (kind) {
    case SlowKind::writes:
      return is_any(call, {"write", "writev", "pwrite64", "pwritev", "pwritev2"}) ||
             is_any(function, {"vfs_write", "vfs_writev", "do_writev", "do_pwritev"});
    case SlowKind::disk:
      return is_any(call, {"fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range", "ftruncate", "truncate",
                           "fallocate"}) ||
             is_any(function, {"do_fsync", "vfs_fsync_range", "do_truncate", "vfs_fallocate"});
    case SlowKind::children:
      return is_any(call, {"clone", "clone3", "fork", "vfork", "execve", "execveat"}) || function == "kernel_clone";
    default:
      return false;
  }
}

bool is_sample_in(const Recording& recording, std::span<const std::uint32_t> frames,
                  const std::function<bool(std::string_view function)>& is_it) {
  for (const std::uint32_t number : frames) {
    const RecordedFunction& function = recording.functions()[recording.frames()[number].function];
    if (function.kind != CodeKind::kernel) return false;
    if (is_it(function.name)) return true;
  }
  return false;
}

bool is_call_of(SlowKind kind, std::int64_t number) {
  const DiskCall call = process::disk_call_of(number);
  if (kind == SlowKind::writes) return call == DiskCall::write;
  if (kind == SlowKind::disk) return call != DiskCall::none;
  if (kind != SlowKind::children) return false;
#ifdef SYS_vfork
  if (number == SYS_vfork || number == SYS_fork) return true;
#endif
  return number == SYS_clone || number == SYS_clone3;
}

void append(std::optional<SlowCause> cause, std::vector<SlowCause>& causes) {
  if (cause) causes.push_back(std::move(*cause));
}

}  // namespace

std::vector<SlowCause> kernel_causes(const Counters& before, const Counters& after, const KernelEvidence& evidence) {
  std::vector<SlowCause> causes;
  append(writes_cause(before, after, evidence), causes);
  if (causes.empty()) append(sends_cause(before, after, evidence), causes);
  const bool writes = !causes.empty();
  append(page_faults_cause(before, after, evidence, writes), causes);
  append(disk_cause(before, after, evidence), causes);
  append(children_cause(before, after, evidence), causes);
  append(native_growth_cause(before, after, evidence), causes);
  std::stable_sort(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  // Where threads do not get a processor every other share is of little time.
  std::vector<SlowCause> all;
  append(throttled_cause(evidence), all);
  append(crowded_cause(before, after, evidence), all);
  std::move(causes.begin(), causes.end(), std::back_inserter(all));
  return all;
}

bool is_sample_of(SlowKind kind, const Recording& recording, std::span<const std::uint32_t> frames) {
  return is_sample_in(recording, frames, [kind](std::string_view name) { return is_function_of(kind, name); });
}

double sending_processors(const Recording& samples, const Busyness& busy) {
  if (busy.samples == 0) return 0;
  std::uint64_t sending = 0;
  for (const Sample& sample : samples.samples())
    if (is_sample_in(samples, samples.frames_of(sample.stack), sends)) sending += sample.count;
  return static_cast<double>(std::min(sending, busy.samples)) / static_cast<double>(busy.samples) * busy.processors();
}

void add_places(const Recording& samples, std::vector<SlowCause>& causes) {
  for (SlowCause& cause : causes) {
    if (!cause.place.empty()) continue;
    const auto counts = [&](std::span<const std::uint32_t> frames) {
      return cause.place_of == kSent ? is_sample_in(samples, frames, sends) : is_sample_of(cause.kind, samples, frames);
    };
    SamplePlace found = place_of_samples(samples, counts);
    if (found.place.empty()) continue;
    cause.place = std::move(found.place);
    cause.place_samples = found.samples;
    cause.samples = found.of;
  }
}

void add_places(const ProcessDump& dump, std::vector<SlowCause>& causes) {
  for (SlowCause& cause : causes) {
    if (!cause.place.empty() || cause.place_of == kSent) continue;
    std::map<std::string, std::uint64_t> places;
    std::uint64_t all = 0;
    for (const ThreadDump& thread : dump.threads) {
      if (!is_call_of(cause.kind, thread.syscall)) continue;
      // A read or write of a socket or pipe waits for another end, not for a disk.
      const DiskCall call = process::disk_call_of(thread.syscall);
      const bool is_for_files = call == DiskCall::read || call == DiskCall::write;
      if (cause.kind == SlowKind::disk && is_for_files && !thread.facts.object.starts_with('/')) continue;
      std::string place = report::place_words(dump, thread);
      if (place.empty()) continue;
      all++;
      places[std::move(place)]++;
    }
    const auto is_less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto most = std::max_element(places.begin(), places.end(), is_less);
    if (most == places.end()) continue;
    cause.place = most->first;
    cause.place_samples = most->second;
    cause.samples = all;
  }
}

}  // namespace mixstack::why
