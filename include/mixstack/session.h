// The assembler: opens a target, finds its modules and runtimes, and walks and names its threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mixstack/allocations.h"
#include "mixstack/counters.h"
#include "mixstack/dump.h"
#include "mixstack/holders.h"
#include "mixstack/memory.h"
#include "mixstack/result.h"
#include "mixstack/runtime_options.h"
#include "mixstack/stepper_chain.h"
#include "mixstack/symbol_files.h"
#include "mixstack/target.h"
#include "mixstack/walker.h"

namespace mixstack {

struct DumpOptions {
  std::vector<ThreadId> threads;               ///< empty: all
  std::chrono::milliseconds stop_timeout{20};  ///< for the one instant at which all threads are stopped
  /// For threads that a busy machine or a CPU quota did not let stop in time; as in CaptureRequest.
  std::chrono::milliseconds late_timeout{2000};
  std::size_t stack_byte_budget = 64 << 20;
  /// Frames of all threads together; a quarter of that with `walk.keep_registers` or `walk.explain`. If they are used
  /// up, each thread still gets 256 (fewer if there are thousands), stacks end with `max_frames`, and a diagnosis says
  /// so.
  std::size_t frame_budget = 2 << 20;
  std::size_t together = 0;  ///< as in CaptureRequest; for `capture` alone
  /// With `together` at least as large as the number of threads: also capture the runtimes' records; the capture is
  /// then of one instant.
  bool together_with_roots = false;
  bool vectors = false;  ///< also floating-point and vector registers; not available from our own process
  /// Read `ThreadDump::facts` and `ProcessDump::usage`: some /proc files and some 30 us per thread, outside the stop.
  bool facts = true;
  bool off_cpu =
      true;  ///< facts include how long threads have not run, and where in the kernel: more than half of that time
  /// Read `ThreadDump::wait`: the object that each thread waits for and its owner, from the runtime's records and
  /// objects. Outside the stop; believed only for threads that have not run since.
  bool waits = false;
  bool pending_work = false;  ///< with `waits`: also `RuntimeSummary::pending`, and which threads run awaited tasks
  /// With `pending_work`: search the whole heap of each runtime for async methods (`PendingWork::heap`), in a stop of
  /// its own. Called before that with the number of bytes to read; false: do not search. Null: no search.
  std::function<bool(std::uint64_t bytes)> heap{};
  /// Read `ThreadDump::arguments` of managed frames. Implies `walk.keep_registers`.
  bool arguments = false;
  /// Include the user's own data: contents of strings, paths of requests, text of commands, variables of async methods.
  /// Otherwise only types, numbers and addresses.
  bool data = false;
  WalkOptions walk;
};

/// A core file, or a pack that holds one (`mixstack pack`), and where to look for the files of its process.
struct CoreOptions {
  std::string path;
  /// Folders that replace the root of the machine that wrote the core: `DIR/usr/lib/libc.so.6`, also `DIR/libc.so.6`.
  std::vector<std::string> sysroots;
  std::string executable;     ///< the program's own file; empty: at the path in the core
  bool use_own_files = true;  ///< look at the same paths on this machine, too; a file must match in any case
  SymbolOptions symbols;      ///< also used, last, for missing ELF files
};

/// A program to start.
struct LaunchOptions {
  std::vector<std::string> arguments;    ///< the first is the program: a path, or a name searched in PATH
  std::vector<std::string> environment;  ///< NAME=value; empty: ours
};

/// A process opened for walking. Not thread-safe and not signal-safe; different sessions run in parallel, and so do the
/// walkers of one. All ptrace work happens inside `dump()` and `capture()`; between calls the target runs freely and is
/// not traced. Functions that return a Session give its ownership to the caller.
class Session {
 public:
  /// Errors: no_such_process, permission_denied, unsupported_cpu, already_traced.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open_process(std::uint32_t pid);
  /// Errors: not_found, permission_denied, io_error, unsupported (not a core), unsupported_cpu (value: the ELF
  /// machine), truncated, malformed, limit_exceeded. Anything else that a core lacks is a diagnosis of the dump.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open_core(const CoreOptions& options);
  /// Our own process. Opening it installs, starts and changes nothing; a forked child opens its own. For walks inside
  /// signal handlers use SelfWalker (mixstack/self_walk.h). Errors: invalid_argument (no usable signal number),
  /// unsupported_cpu, io_error.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open_self(const SelfOptions& options = {});
  /// Starts a program and opens it. It is our child and runs on when the session ends; the caller may wait for it
  /// (`target().info().pid`). Errors: io_error with the os_error of starting it, those of open_process.
  [[nodiscard]] static Result<std::unique_ptr<Session>> launch(const LaunchOptions& options);
  /// A target implemented by the caller; the session owns it.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open(std::unique_ptr<Target> target);
  virtual ~Session() = default;

  [[nodiscard]] virtual Target& target() = 0;
  /// Captures, lets the target run, walks and names. The dump holds partial results, with the failures.
  [[nodiscard]] virtual Result<ProcessDump> dump(const DumpOptions& options) = 0;

  /// The first half of a dump: the input of `walker`. Includes threads that stopped late (`ThreadCapture::late`).
  [[nodiscard]] virtual Result<Capture> capture(const DumpOptions& options) = 0;
  /// The second half, under the caller's control and in any thread. Walkers must be destroyed before the session.
  [[nodiscard]] virtual Result<Walker> walker(Capture capture, const WalkOptions& options) = 0;
  /// A walker of threads that the caller keeps: any `ThreadCapture`, its bytes included. Nothing is stopped.
  [[nodiscard]] virtual Result<Walker> walker_of(WalkContext /*context*/, const WalkOptions& /*options*/) {
    return fail(ErrorCode::unsupported);
  }
  /// The caller's steppers, for dumps and walkers made from now on.
  [[nodiscard]] virtual StepperChain& steppers() = 0;
  /// Adds a provider, asked before the engine's own.
  virtual void add_name_provider(std::shared_ptr<NameProvider> provider) = 0;
  /// The runtimes' own counters as they are now, one for each of `ProcessDump::runtimes`. Nothing is stopped: numbers
  /// of one runtime may be of moments some microseconds apart. The first call finds the places, later ones take
  /// microseconds. Errors: `unsupported`, those of reading mappings.
  [[nodiscard]] virtual Result<std::vector<RuntimeCounters>> counters() { return fail(ErrorCode::unsupported); }
  /// The number of the collection that began last (0: none did), one for each of `ProcessDump::runtimes`; nothing: not
  /// known. After `counters` it takes a microsecond.
  [[nodiscard]] virtual std::vector<std::optional<std::uint64_t>> collections() { return {}; }
  /// The memory that the runtimes know the use of, one for each of `ProcessDump::runtimes`. Nothing is stopped.
  [[nodiscard]] virtual Result<std::vector<ManagedMemory>> managed_memory() { return fail(ErrorCode::unsupported); }
  /// Counts the objects of the heaps by type, one for each of `ProcessDump::runtimes`. A process is stopped for it.
  [[nodiscard]] virtual Result<std::vector<HeapTypes>> heap_types(const HeapTypesOptions& /*options*/) {
    return fail(ErrorCode::unsupported);
  }
  /// The types of objects that were just being made, in the order of `objects`; empty: the heap does not prove it.
  /// Nothing is stopped. True if no collection has begun since (`collections`).
  [[nodiscard]] virtual Result<std::vector<std::string>> new_object_types(std::span<const NewObject> /*objects*/) {
    return fail(ErrorCode::unsupported);
  }
  /// The holders of the objects of the heaps, one for each of `ProcessDump::runtimes`. A process is stopped for it
  /// once.
  [[nodiscard]] virtual Result<std::vector<HeapHolders>> holders(const HoldersOptions& /*options*/) {
    return fail(ErrorCode::unsupported);
  }
  /// Reads the list of modules and runtimes again, after the target has loaded or unloaded some. Walkers made before
  /// must not be used after it.
  [[nodiscard]] virtual Result<void> refresh() = 0;
  /// Reads the runtimes again with these options. Walkers made before must not be used after it.
  virtual void set_runtime_options(const RuntimeOptions& options) = 0;
  /// Sets options for dumps and walkers made from now on. Nothing is fetched during a stop or a walk.
  virtual void set_symbol_options(const SymbolOptions& options) = 0;
  /// Symbol sources of the modules on the stacks of `dump`, which must be the last one, or with `all` of all modules.
  /// May fetch missing ones now.
  [[nodiscard]] virtual std::vector<ModuleSymbols> symbol_files(const ProcessDump& /*dump*/, bool /*all*/) {
    return {};
  }
};

}  // namespace mixstack
