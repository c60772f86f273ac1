// The assembler: opens a target, finds its modules and runtimes, and walks and names its threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mixstack/dump.h"
#include "mixstack/result.h"
#include "mixstack/runtime_options.h"
#include "mixstack/stepper_chain.h"
#include "mixstack/symbol_files.h"
#include "mixstack/target.h"
#include "mixstack/walker.h"

namespace mixstack {

struct DumpOptions {
  std::vector<ThreadId> threads;               ///< empty: all
  std::chrono::milliseconds stop_timeout{20};  ///< for the instant at which all threads stand still
  /// For threads that a busy machine or a quota did not let stop then; as in CaptureRequest.
  std::chrono::milliseconds late_timeout{2000};
  std::size_t stack_byte_budget = 64 << 20;
  /// Frames of all threads together, a quarter of them with `walk.keep_registers` or `walk.explain`. When they do not
  /// suffice, each thread has 256 all the same (fewer where there are thousands), stacks end with `max_frames`, and a
  /// diagnosis says so.
  std::size_t frame_budget = 2 << 20;
  std::size_t together = 0;  ///< as in CaptureRequest; for `capture` alone
  /// Of `together` threads that are all there are: with what the runtimes record at that instant, of which it is then.
  bool together_with_roots = false;
  bool vectors = false;  ///< floating-point and vector registers, too; our own process does not tell them
  /// `ThreadDump::facts` and `ProcessDump::usage` are read: some files of /proc for each thread, some 30 us of it, all
  /// outside the stop.
  bool facts = true;
  bool off_cpu =
      true;  ///< facts say how long threads have not run, and where in the kernel: more than half of that time
  /// `ThreadDump::wait` is read: what each thread waits for and who holds it, from the runtime's records and objects.
  /// Outside the stop; believed as far as threads have not run since.
  bool waits = false;
  bool pending_work = false;  ///< with `waits`: `RuntimeSummary::pending`, too, and who runs what tasks wait for
  /// With `pending_work`: the whole heap of each runtime is searched for async methods (`PendingWork::heap`), in a stop
  /// of its own. Asked before that, with the bytes that are to be read; false: they are not. Null: no search.
  std::function<bool(std::uint64_t bytes)> heap{};
  /// `ThreadDump::arguments` are read, of managed frames. Implies `walk.keep_registers`.
  bool arguments = false;
  /// Contents of the user's own data are told: of strings, paths of requests, text of commands, variables of async
  /// methods. Without it types, numbers and addresses are.
  bool data = false;
  WalkOptions walk;
};

/// A core file, or a pack that holds one (`mixstack pack`), and where the files of its process may be found.
struct CoreOptions {
  std::string path;
  /// Folders that stand for the root of the machine the core comes from: `DIR/usr/lib/libc.so.6`, also `DIR/libc.so.6`.
  std::vector<std::string> sysroots;
  std::string executable;     ///< the program's own file; empty: by the path in the core
  bool use_own_files = true;  ///< look at the same paths on this machine, too; a file must match in any case
  SymbolOptions symbols;      ///< also asked, last, for ELF files that are missing
};

/// A program to start.
struct LaunchOptions {
  std::vector<std::string> arguments;    ///< the first is the program: a path, or a name looked for in PATH
  std::vector<std::string> environment;  ///< NAME=value; empty: ours
};

/// A process opened for walking. Not thread-safe; sessions run in parallel, and so do the walkers of one. All ptrace
/// work happens inside `dump()` and `capture()`; between calls the target runs freely and is not traced.
class Session {
 public:
  /// Errors: no_such_process, permission_denied, unsupported_cpu, already_traced.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open_process(std::uint32_t pid);
  /// Errors: not_found, permission_denied, io_error, unsupported (not a core), unsupported_cpu (value is the ELF
  /// machine), truncated, malformed, limit_exceeded. Whatever else a core lacks is a diagnosis of the dump.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open_core(const CoreOptions& options);
  /// Our own process. Nothing is installed, started or changed by opening it; a child made by fork opens its own. For
  /// walks inside signal handlers there is SelfWalker (mixstack/self_walk.h). Errors: invalid_argument (no usable
  /// signal number), unsupported_cpu, io_error.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open_self(const SelfOptions& options = {});
  /// Starts a program and opens it. It is our child and runs on when the session ends; whoever waits for children may
  /// wait for it (`target().info().pid`). Errors: io_error with the os_error of starting it, those of open_process.
  [[nodiscard]] static Result<std::unique_ptr<Session>> launch(const LaunchOptions& options);
  /// A source of process state of the caller's own.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open(std::unique_ptr<Target> target);
  virtual ~Session() = default;

  [[nodiscard]] virtual Target& target() = 0;
  /// Captures, lets the target run, walks and names. Partial results are in the dump, with what failed.
  [[nodiscard]] virtual Result<ProcessDump> dump(const DumpOptions& options) = 0;

  /// The first half of a dump: what `walker` walks. Threads that stopped late are in it, too (`ThreadCapture::late`).
  [[nodiscard]] virtual Result<Capture> capture(const DumpOptions& options) = 0;
  /// The second half, in the caller's hands; in another thread, if the caller likes. Walkers are gone before the
  /// session.
  [[nodiscard]] virtual Result<Walker> walker(Capture capture, const WalkOptions& options) = 0;
  /// Steppers of the caller's own, for dumps and walkers made from now on.
  [[nodiscard]] virtual StepperChain& steppers() = 0;
  /// Asked before the engine's own providers.
  virtual void add_name_provider(std::shared_ptr<NameProvider> provider) = 0;
  /// Reads the list of modules and runtimes again: after the target has loaded or unloaded some. Ends the use of a
  /// walker made before.
  [[nodiscard]] virtual Result<void> refresh() = 0;
  /// Reads the runtimes again, this way. Ends the use of a walker made before.
  virtual void set_runtime_options(const RuntimeOptions& options) = 0;
  /// For dumps and walkers made from now on. Nothing is fetched in a stop that a capture makes, nor while walking.
  virtual void set_symbol_options(const SymbolOptions& options) = 0;
  /// Where the symbols of the modules come from that stacks of `dump`, the last one, run through; or, with `all`, of
  /// all modules. What is missing may be fetched now.
  [[nodiscard]] virtual std::vector<ModuleSymbols> symbol_files(const ProcessDump& /*dump*/, bool /*all*/) {
    return {};
  }
};

}  // namespace mixstack
