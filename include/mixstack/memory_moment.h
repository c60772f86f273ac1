// A moment of a process's memory, and what grew from one moment to another, as plain data. Sizes are in bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/memory.h"

namespace mixstack {

/// One runtime, as it was at a moment.
struct MomentRuntime {
  std::string version;  ///< "10.0.12"; empty: not known
  /// Collections since its start by generation (0, 1, 2; those of higher ones included); empty: not known.
  std::vector<std::uint64_t> collections;
};

/// When, where and of what a moment is.
struct MomentMark {
  std::uint64_t taken_unix_ns = 0;  ///< 0: not known
  bool is_time_of_file = false;     ///< a core does not say when it was taken: the last change of its file
  std::uint64_t started = 0;        ///< start of the process, in ticks since the machine's; 0: not known
  std::string host, version;        ///< of the machine; of mixstack
  std::vector<MomentRuntime> runtimes;
};

/// The contents of a file .mxm: nothing of the process's memory itself, but for `DuplicateString::text`.
struct MemoryMoment {
  std::uint32_t pid = 0;
  std::string name, core_path;
  MomentMark mark;
  std::optional<MemoryAccount> account{};  ///< nothing: a core
  std::vector<HeapTypes> heaps{};
};

/// A line of the account, or a type, at two moments.
struct LabelGrowth {
  MemoryKind kind = MemoryKind::unknown;
  std::string detail;
  std::uint64_t before = 0, after = 0;  ///< resident
  [[nodiscard]] std::int64_t grown() const { return static_cast<std::int64_t>(after - before); }
};

struct TypeGrowth {
  std::string type;
  Address method_table = 0;  ///< of the second moment, or the first
  bool is_free = false;      ///< gaps between objects
  std::uint64_t objects_before = 0, objects_after = 0, bytes_before = 0, bytes_after = 0;
  /// Bytes in generation 2, large, pinned and frozen: what has survived, or is large.
  std::uint64_t old_before = 0, old_after = 0;
  /// Bytes in generation 2 that full collections have left: right after the first and the last one that was seen.
  struct Kept {
    std::uint64_t objects_before = 0, objects_after = 0, bytes_before = 0, bytes_after = 0;
  };
  std::optional<Kept> kept{};
  [[nodiscard]] std::int64_t grown() const { return static_cast<std::int64_t>(bytes_after - bytes_before); }
  [[nodiscard]] std::int64_t kept_grown() const {
    return kept ? static_cast<std::int64_t>(kept->bytes_after - kept->bytes_before) : 0;
  }
};

/// The effect of a limit, and when at the present rate.
struct LimitForecast {
  std::uint64_t limit = 0, used = 0;
  double bytes_a_second = 0;                 ///< of what cannot be dropped: resident and swapped, without files
  std::optional<std::chrono::seconds> left;  ///< nothing: it does not grow
  std::optional<bool> kills_all{};           ///< memory.oom.group: all processes of the cgroup; nothing: not known
};

/// A command that tells more, and what of.
struct NextCommand {
  std::string command, why;
};

/// One of the two.
struct GrowthSide {
  std::uint32_t pid = 0;
  std::string name, core_path;
  MomentMark mark;
};

/// Growth from one moment to another.
struct MemoryGrowth {
  GrowthSide before, after;
  std::optional<std::chrono::nanoseconds> between;  ///< nothing: the times are not known
  bool is_same_process = false;                     ///< by pid, machine and start
  bool has_account = false, has_types = false;      ///< both moments have one
  std::uint64_t resident_before = 0, resident_after = 0, swapped_before = 0, swapped_after = 0;
  std::vector<LabelGrowth> labels;  ///< most growth first; their differences add up to that of what is resident
  /// Types that full collections have left more of first, where that is known; else most growth first.
  std::vector<TypeGrowth> types;
  bool is_exact = false;  ///< both moments counted exactly
  std::string why_not;    ///< where not
  /// Collections between the moments by generation (0, 1, 2); empty: not known, or of two processes.
  std::vector<std::uint64_t> collections;
  std::uint32_t kept_seen = 0;  ///< full collections between the two that `kept` is of; 0: it is not known
  std::optional<LimitForecast> forecast{};
  std::vector<NextCommand> next;
};

/// "gc_objects" as `to_string(MemoryKind)` has it; nothing for another word.
[[nodiscard]] std::optional<MemoryKind> memory_kind_called(std::string_view word);

}  // namespace mixstack
