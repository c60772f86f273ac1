// What the threads of a process ran for a while, as data: what `mixstack why` says of one in which nothing is stuck.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mixstack {

/// In whose code a thread ran, and what for.
enum class BusyKind : std::uint8_t {
  program,        ///< managed methods of the program
  framework,      ///< methods and native code of .NET's libraries
  gc,             ///< garbage collections
  jit,            ///< methods are compiled
  lock_spinning,  ///< for a lock or another thread, without sleeping
  runtime,        ///< the runtime's own code otherwise: allocations, casts, loading of types
  native,         ///< native code of the program and of libraries
  kernel,         ///< system calls and faults, where frames of the kernel are to be had
};
inline constexpr std::size_t kBusyKinds = 8;

struct BusyThread {
  std::uint32_t tid = 0;
  std::string name{};  ///< of the managed thread, else the kernel's; may be empty
  std::uint64_t samples = 0;
  friend bool operator==(const BusyThread&, const BusyThread&) = default;
};

struct BusyFunction {
  std::string name{};   ///< "[libcoreclr.so]" stands for all code of it without names
  std::string place{};  ///< "Orders.cs:31", where it was seen most; empty: not known
  BusyKind kind = BusyKind::native;
  std::uint64_t self = 0, total = 0;  ///< samples: in itself; with all that it called
  std::vector<BusyThread> threads{};  ///< with it on their stacks, most samples first
};

struct Busyness {
  std::uint64_t duration_ns = 0;
  std::uint64_t cpu_ns = 0;  ///< processor time that all its threads used meanwhile
  std::uint64_t samples = 0;
  std::array<std::uint64_t, kBusyKinds> kinds{};  ///< of the samples, by `BusyKind`
  std::vector<BusyFunction> functions{};          ///< those with most in themselves or on whose behalf others ran
  std::vector<BusyThread> threads{};              ///< most samples first
  std::uint64_t lost = 0;                         ///< samples that could not be taken
  std::string source{};                           ///< how they were taken: "perf events (cycles)"
  std::vector<std::string> notes{};               ///< what was not allowed, and what would help

  [[nodiscard]] std::uint64_t of(BusyKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] double processors() const {
    return duration_ns == 0 ? 0 : static_cast<double>(cpu_ns) / static_cast<double>(duration_ns);
  }
  /// Less is what every program uses that waits.
  [[nodiscard]] bool is_busy() const { return samples != 0 && processors() >= 0.02; }
};

}  // namespace mixstack
