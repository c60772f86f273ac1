// Counters of the runtime and the kernel for one process, as data. All of them are read while the process runs: nothing
// is stopped, and nothing is lost between two looks.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mixstack {

/// Why a collection began (gc_reason, coreclr/gc/gcinterface.h).
enum class GcReason : std::uint8_t {
  small_objects,  ///< the budget for small objects is used up
  large_objects,  ///< that for large ones
  induced,        ///< somebody asked: GC.Collect, memory pressure
  low_memory,     ///< the machine, or the limit of the container
  out_of_space,   ///< no room for an allocation
  other,
};

/// A generation, all heaps together. Numbers are those of its last collection, except `collections`.
struct GcGeneration {
  std::uint64_t collections = 0;   ///< of this generation, those of higher ones included; since the start
  std::optional<double> survived;  ///< share of its bytes that survived, 0 to 1
  std::uint64_t size_before = 0, size_after = 0;  ///< bytes
  std::uint64_t fragmentation = 0;                ///< bytes
  std::uint64_t budget = 0;                       ///< bytes that may be allocated until it is collected
};

struct GcLast {
  std::uint64_t number = 0;  ///< 1 is the first
  std::uint32_t generation = 0;
  GcReason reason = GcReason::other;
};

/// Bytes of objects that a thread has made since it began.
struct AllocatedBytes {
  std::uint32_t os_id = 0;   ///< in the target's pid namespace
  std::uint64_t thread = 0;  ///< address of the runtime's Thread
  std::uint64_t small = 0, large = 0;
  /// Addresses of the words that the runtime writes when the thread gets new room for small objects, and when it makes
  /// a large one; 0: not known.
  std::uint64_t limit_at = 0, large_at = 0;
};

/// The counters of one runtime. Nothing: not known of this release (the pattern in its code did not match).
struct RuntimeCounters {
  std::optional<std::uint64_t> exceptions;            ///< thrown
  std::optional<std::uint64_t> methods, il_bytes;     ///< compiled
  std::optional<std::chrono::nanoseconds> compiling;  ///< by all threads
  std::optional<std::uint64_t> contentions;           ///< waits for monitors and Locks that had to sleep
  std::optional<std::chrono::microseconds> pauses;    ///< sum of all pauses for collections
  std::optional<GcLast> last;                         ///< nothing before the first collection, too
  std::optional<std::uint64_t> committed;  ///< bytes the collector has from the system, when it last collected
  bool is_server = false;
  std::vector<GcGeneration> generations;  ///< 0, 1, 2, large, pinned; empty: not known
  std::vector<AllocatedBytes> threads;    ///< of living threads; empty: not known
  std::vector<std::string> thrown;        ///< types of exceptions that threads handle at this moment, one a thread
};

/// Counters of the kernel for one thread, since it began. Nothing: the kernel does not tell, or not us.
struct ThreadCounters {
  std::uint32_t tid = 0;
  std::string name;                                         ///< comm
  std::optional<std::chrono::nanoseconds> cpu, waiting;     ///< ran; was ready and had no processor (schedstat)
  std::optional<std::uint64_t> minor_faults, major_faults;  ///< page faults (stat)
  std::optional<std::uint64_t> reads, read_bytes;           ///< calls of the read family (io: syscr, rchar)
  std::optional<std::uint64_t> writes, written_bytes;       ///< those of the write family (syscw, wchar)
};

/// Counters of the kernel for a process and the machine.
struct KernelCounters {
  std::vector<ThreadCounters> threads;  ///< at most 4096
  std::optional<std::uint64_t> minor_faults, major_faults;
  std::optional<std::chrono::nanoseconds> user, system;  ///< to ticks of 10 ms
  std::optional<std::chrono::nanoseconds> children;      ///< processor time of children that were waited for
  std::optional<std::uint64_t> children_faults;
  std::optional<std::uint64_t> reads, read_bytes, writes, written_bytes;  ///< of the whole process
  std::optional<std::uint64_t> rss, rss_anon, swap;                       ///< bytes
  std::optional<std::uint64_t> memory_limit, memory_used;                 ///< the tightest limit of its cgroups, bytes
  std::uint32_t processors = 0;                                           ///< that it may run on
  std::optional<std::chrono::nanoseconds> machine_busy;                   ///< all processors, all processes (stat)
  std::optional<std::chrono::nanoseconds> busy_there;  ///< the same, of the processors that it may run on
};

/// One look. Two of them give rates.
struct Counters {
  std::chrono::steady_clock::time_point at{};
  KernelCounters kernel;
  std::vector<RuntimeCounters> runtimes;  ///< as `ProcessDump::runtimes`
};

}  // namespace mixstack
