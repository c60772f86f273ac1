// The work of a process's threads over a short time, as data: shown by `mixstack why` when nothing is stuck.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mixstack {

/// The owner of the code in which a thread ran, and its purpose.
enum class BusyKind : std::uint8_t {
  program,        ///< managed methods of the program
  framework,      ///< methods and native code of .NET's libraries
  gc,             ///< garbage collections
  jit,            ///< compiling methods
  lock_spinning,  ///< spinning for a lock or another thread, without sleeping
  runtime,        ///< the runtime's other code: allocations, casts, loading of types
  native,         ///< native code of the program and of libraries
  kernel,         ///< system calls and faults, where kernel frames are available
};
inline constexpr std::size_t kBusyKinds = 8;

struct BusyThread {
  std::uint32_t tid = 0;
  std::string name{};  ///< the managed thread's, else the kernel's; may be empty
  std::uint64_t samples = 0;
  friend bool operator==(const BusyThread&, const BusyThread&) = default;
};

struct BusyFunction {
  std::string name{};   ///< "[libcoreclr.so]" stands for all unnamed code of it
  std::string place{};  ///< "Orders.cs:31", where most samples were; empty: not known
  BusyKind kind = BusyKind::native;
  std::uint64_t self = 0, total = 0;  ///< samples: in itself; including all that it called
  std::vector<BusyThread> threads{};  ///< threads with it on their stacks, most samples first
  /// Methods that it calls and that were on no stack: the JIT may have compiled them into it. Only of the busiest
  /// method.
  std::vector<std::string> may_contain{};
};

struct Busyness {
  std::uint64_t duration_ns = 0;
  std::uint64_t cpu_ns = 0;  ///< CPU time of all threads in `duration_ns`
  std::uint64_t samples = 0;
  std::array<std::uint64_t, kBusyKinds> kinds{};  ///< of the samples, by `BusyKind`
  std::vector<BusyFunction> functions{};          ///< most samples of their own, or ran others most
  std::vector<BusyThread> threads{};              ///< most samples first
  std::uint64_t lost = 0;                         ///< samples that could not be taken
  std::string source{};                           ///< how samples were taken: "perf events (cycles)"
  std::vector<std::string> notes{};               ///< what was not allowed, and the remedy
  /// For native code: the library of most samples. For the kind with most samples, if that is not the program itself:
  /// the method of the program that called it most. Empty: not known.
  std::string library{}, caller{};

  [[nodiscard]] std::uint64_t of(BusyKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] double processors() const {
    return duration_ns == 0 ? 0 : static_cast<double>(cpu_ns) / static_cast<double>(duration_ns);
  }
  /// A program that only waits uses less than this.
  [[nodiscard]] bool is_busy() const { return samples != 0 && processors() >= 0.02; }
};

}  // namespace mixstack
