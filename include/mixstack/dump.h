// Everything `mixstack dump` knows about a process at one instant, as plain data: what reports are made from.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/async.h"
#include "mixstack/diagnosis.h"
#include "mixstack/exception.h"
#include "mixstack/frame.h"
#include "mixstack/symbol.h"
#include "mixstack/target.h"
#include "mixstack/values.h"
#include "mixstack/waits.h"

namespace mixstack {

/// A thread of a runtime stops the others, or has stopped them: for a garbage collection, mostly. Thread ids as in the
/// dump. (A server's collector suspends by threads of its own; nothing tells of these.)
struct Suspension {
  ThreadId by = 0;
  std::vector<ThreadId> waits_for;  ///< threads in cooperative mode; empty: all stand still
};

/// A managed runtime found in the target.
struct RuntimeSummary {
  std::string kind = "CoreCLR";
  std::string version;  ///< "10.0.12", or empty when it could not be found
  std::string module_path;
  Address base = 0;
  bool walkable = false;  ///< managed frames can be walked; otherwise `missing` says what lacks
  bool by_dac = false;    ///< by the runtime's DAC in mixstack-helper, not by its descriptor
  std::vector<Diagnosis> missing;
  std::optional<Suspension> suspension{};
  std::optional<PendingWork> pending{};  ///< with `DumpOptions::pending_work`; none: it cannot be told
};

/// Why the runtime is ending the process on this thread.
struct RuntimeAbort {
  enum class Kind : std::uint8_t { fail_fast, stack_overflow, unhandled_exception, runtime_failure };
  Kind kind = Kind::runtime_failure;
  std::string message;            ///< what FailFast was told, printable; empty when not found
  bool message_inferred = false;  ///< found in FailFast's stack frame, a place the runtime does not describe
};

/// What the runtime's own Thread object says of a thread.
struct ManagedThreadFacts {
  std::uint32_t managed_id = 0;               ///< 0: not assigned, or not known
  std::string name;                           ///< Thread.Name, control characters escaped; empty when unset
  bool cooperative = false;                   ///< GC mode: cooperative or preemptive
  std::uint32_t state = 0;                    ///< Thread::ThreadState bits
  std::vector<ExceptionInFlight> exceptions;  ///< newest first; each was thrown while the next one was handled
  bool exceptions_are_cut = false;            ///< more than are kept
  std::optional<RuntimeAbort> abort;
  /// The runtime lists the thread, and that is all that is known (NativeAOT): of the other fields none says anything.
  bool is_only_listed = false;
  /// Bytes of objects that the thread has made since it began, read soon after the capture; from .NET 11 on.
  std::optional<std::uint64_t> allocated_bytes{};

  /// Type of the newest exception in flight, empty when there is none.
  [[nodiscard]] std::string_view exception_type() const {
    return exceptions.empty() || exceptions.front().chain.empty() ? std::string_view()
                                                                  : exceptions.front().chain.front().type;
  }
};

/// An async method that goes on when what a thread runs, or the one before it, has ended.
struct AsyncCaller {
  Frame frame;               ///< `pc`: where it goes on; 0: not known (of methods with a state machine)
  std::uint32_t symbol = 0;  ///< index into ProcessDump::symbols
  Address box = 0;           ///< the object that holds its state: the task that its caller got
  std::int32_t state = -1;   ///< as in AsyncStep
};

/// One thread: what the kernel says, what the runtime says, and the walked, named stack.
struct ThreadDump {
  ThreadId tid = 0;
  ThreadId ns_tid = 0;
  std::string comm;
  char kernel_state = '?';
  std::int64_t syscall = -1;
  bool captured = false;
  bool not_stopped = false;          ///< others were; this one had no processor, and was looked at
  std::chrono::nanoseconds late{0};  ///< how long after the common instant it was captured; 0: at it
  Error capture_error;
  ThreadFacts facts;    ///< read after the capture, while the target ran again
  Registers registers;  ///< as captured: of the innermost frame
  /// Of the thread that crashed, when its registers are those of the handler it waits in: at the fault, from the
  /// signal frame; null: it is no such thread.
  std::shared_ptr<const Registers> fault_registers;
  std::shared_ptr<const VectorRegisters> vectors;  ///< the same; null where the source does not have them
  std::optional<ManagedThreadFacts> managed;
  std::optional<ThreadWait> wait;  ///< with `DumpOptions::waits`; none: nothing is known that it waits for
  Trace trace;
  std::vector<std::uint32_t> symbols;  ///< per frame of `trace`: index into ProcessDump::symbols
  /// With `DumpOptions::waits`: who awaits what it runs, the innermost first. None: nobody, or it cannot be told.
  std::vector<AsyncCaller> async_callers;
  /// With `DumpOptions::arguments`: of managed frames that have variables, ascending by frame.
  std::vector<FrameArguments> arguments;
};

struct ProcessDump {
  TargetInfo target;
  std::vector<RuntimeSummary> runtimes;
  std::chrono::nanoseconds pause{0};
  std::optional<ProcessUsage> usage;  ///< read after the capture, while the target ran again; none of a core
  Consistency consistency = Consistency::all_stopped_together;
  std::uint32_t threads_not_stopped = 0;
  std::vector<ThreadDump> threads;
  std::vector<SymbolInfo> symbols;   ///< interned; index 0 is the unnamed symbol
  std::vector<Diagnosis> diagnoses;  ///< of the process and its modules
};

}  // namespace mixstack
