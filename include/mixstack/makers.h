// The makers of the objects of a process: bytes by thread, type and place in the program over a time, as plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mixstack {

/// Bytes that a thread allocated, as the runtime counts them: exact.
struct MakerThread {
  std::uint32_t tid = 0;
  std::string name{};       ///< Thread.Name, else the kernel's; empty: not known
  std::uint64_t small = 0;  ///< bytes
  std::uint64_t large = 0;  ///< of objects in the large object heap
};

/// Bytes by samples.
struct MakerShare {
  std::string name{};           ///< a C# type, or a method
  std::string type_or_place{};  ///< of a type, the place that makes most of it; of a place, the type it makes most of
  std::uint64_t bytes = 0;
};

struct MemoryMakers {
  std::uint32_t pid = 0;
  std::string name{};                  ///< the kernel's short name; empty: not known
  std::chrono::nanoseconds time{0};    ///< that was looked at
  bool has_bytes = false;              ///< the runtime tells the bytes of its threads
  std::vector<MakerThread> threads{};  ///< those that allocated and live, most first
  bool has_samples = false;
  std::string why_no_samples{};  ///< in words
  std::uint64_t samples = 0;
  std::uint64_t sampled = 0;        ///< bytes that samples stand for; types and places are shares of it
  std::vector<MakerShare> types{};  ///< most first
  std::uint64_t without_type = 0;   ///< bytes of `sampled`
  /// Innermost methods of the program's own code, most first; where there is none, of .NET's.
  std::vector<MakerShare> places{};
  std::string source{};  ///< of the samples, in words
  [[nodiscard]] std::uint64_t small() const;
  [[nodiscard]] std::uint64_t large() const;
};

}  // namespace mixstack
