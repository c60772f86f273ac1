// The part of CoreCLR's profiling interface that the agent uses, without its SDK: COM objects called by vtable slot.
// Source of interface ids, slots and structures: dotnet/runtime src/coreclr/inc/corprof.idl, cor.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstack/address.h"

namespace mixstack::agent::clr {

using Status = std::int32_t;  ///< HRESULT: negative is a failure
using Id = std::uintptr_t;    ///< FunctionID, ModuleID, ReJITID, ThreadID: pointers of the runtime's

inline constexpr Status kOk = 0, kNoInterface = static_cast<Status>(0x80004002),
                        kFailed = static_cast<Status>(0x80004005);

struct Guid {
  std::uint32_t a;
  std::uint16_t b, c;
  std::uint8_t d[8];
  friend bool operator==(const Guid&, const Guid&) = default;
};

/// Event flags of SetEventMask2 (COR_PRF_MONITOR, COR_PRF_HIGH_MONITOR).
namespace events {
inline constexpr std::uint32_t kModuleLoads = 0x4, kJitCompilation = 0x20, kThreads = 0x200;
inline constexpr std::uint32_t kHighDynamicFunctionUnloads = 0x10;
}  // namespace events

/// Calls a method of an object by its vtable slot.
template <class R = Status, class... A>
R call(void* object, unsigned slot, A... arguments) {
  return reinterpret_cast<R (*)(void*, A...)>((*static_cast<void***>(object))[slot])(object, arguments...);
}

/// A function and its ReJIT version (0: none).
struct Function {
  Id id = 0, rejit = 0;
};

/// A thread of the runtime, and its TID.
struct Thread {
  Id id = 0;  ///< the address of its object (Thread in src/coreclr/vm/threads.h)
  std::uint32_t tid = 0;
};

struct Module {
  static constexpr std::uint32_t kCollectible = 0x8;  ///< of COR_PRF_MODULE_FLAGS

  Address base = 0;
  std::string path;
  std::uint32_t flags = 0;
};

/// ICorProfilerInfo in the newest version this runtime has. Borrowed: the runtime owns it.
class ProfilerInfo {
 public:
  /// `unknown` is the argument of Initialize and InitializeForAttach. Nothing before .NET 5 (ICorProfilerInfo12).
  [[nodiscard]] static std::optional<ProfilerInfo> of(void* unknown);

  [[nodiscard]] Status set_events(std::uint32_t low, std::uint32_t high) const;
  /// Start addresses of all present native versions (tiers) of a function.
  [[nodiscard]] std::vector<Address> code_starts(const Function& function) const;
  /// The ranges of one version: hot part first.
  [[nodiscard]] std::vector<AddressRange> code_ranges(Address start) const;
  /// All functions that have been compiled so far.
  [[nodiscard]] std::vector<Function> compiled() const;
  [[nodiscard]] std::vector<Id> modules() const;
  [[nodiscard]] std::optional<Module> module(Id id) const;
  /// The module of a function; 0: not known (dynamic methods).
  [[nodiscard]] Id module_of(Id function) const;
  /// The function with metadata whose code is at the address, precompiled or not; 0: none.
  [[nodiscard]] Id function_at(Address address) const;
  /// The same, including methods without metadata.
  [[nodiscard]] Function any_function_at(Address address) const;
  /// "Namespace.Type.Method"; empty for dynamic methods. Not for signal handlers.
  [[nodiscard]] std::string name(Id function) const;
  /// For a method without metadata "DynamicClass.Method", as in the runtime's own stack traces; for an interop stub
  /// "ILStubClass.Kind"; "[dynamic]" without a name. Call it only while the method cannot be freed: inside the callback
  /// that reports it.
  [[nodiscard]] std::string dynamic_name(Id function) const;
  /// Threads that have managed frames or may get them.
  [[nodiscard]] std::vector<Thread> threads() const;
  /// Stops managed threads at safe points, as for a collection, but collects nothing. Threads in native code go on
  /// there. Not from callbacks; the calling thread must not be managed. Retries for kStopTries milliseconds while
  /// another suspension is in progress. False: it was not stopped.
  [[nodiscard]] bool stop() const;
  /// After `stop`, by the same thread.
  void go_on() const;
  /// "10.0.12"
  [[nodiscard]] std::string version() const;

 private:
  explicit ProfilerInfo(void* object) : object_(object) {}
  void* object_;
};

/// UTF-16 to UTF-8, up to the first NUL; lone surrogates become U+FFFD.
[[nodiscard]] std::string utf8(const char16_t* text, std::size_t size);

}  // namespace mixstack::agent::clr
