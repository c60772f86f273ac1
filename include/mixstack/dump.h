// All facts of `mixstack dump` about a process at one instant, as plain data: the source of reports.
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

/// One thread of a runtime stops the others, or has stopped them, mostly for a garbage collection. Thread ids are those
/// of the dump. Not reported if a server GC's own threads suspend: the runtime does not record these.
struct Suspension {
  ThreadId by = 0;
  std::vector<ThreadId> waits_for;  ///< threads still in cooperative mode; empty: all are stopped
};

/// A managed runtime found in the target.
struct RuntimeSummary {
  std::string kind = "CoreCLR";
  std::string version;  ///< "10.0.12"; empty: not found
  std::string module_path;
  Address base = 0;
  bool walkable = false;  ///< managed frames can be walked; otherwise `missing` says why not
  bool by_dac = false;    ///< read by the runtime's DAC in mixstack-helper, not by its descriptor
  std::vector<Diagnosis> missing;
  std::optional<Suspension> suspension{};
  std::optional<PendingWork> pending{};  ///< with `DumpOptions::pending_work`; none: not readable
};

/// Why the runtime is ending the process on this thread.
struct RuntimeAbort {
  enum class Kind : std::uint8_t { fail_fast, stack_overflow, unhandled_exception, runtime_failure };
  Kind kind = Kind::runtime_failure;
  std::string message;            ///< the message given to FailFast, printable; empty: not found
  bool message_inferred = false;  ///< inferred from FailFast's stack frame, whose layout the runtime does not describe
};

/// The state in the runtime's own Thread object.
struct ManagedThreadFacts {
  std::uint32_t managed_id = 0;               ///< 0: not assigned, or not known
  std::string name;                           ///< Thread.Name, control characters escaped; empty: unset
  bool cooperative = false;                   ///< GC mode: cooperative or preemptive
  std::uint32_t state = 0;                    ///< Thread::ThreadState bits (coreclr/vm/threads.h)
  std::vector<ExceptionInFlight> exceptions;  ///< newest first; each was thrown while the next one was being handled
  bool exceptions_are_cut = false;            ///< more than are kept
  std::optional<RuntimeAbort> abort;
  /// The runtime lists the thread but tells no more of it (NativeAOT): ignore the other fields.
  bool is_only_listed = false;
  /// Bytes of objects that the thread has allocated since it began, read soon after the capture; from .NET 11 on.
  std::optional<std::uint64_t> allocated_bytes{};
  std::string last_exception{};  ///< type of the one that it threw last, handled or not; empty: none, or not known

  /// Type of the newest exception in flight; empty: none.
  [[nodiscard]] std::string_view exception_type() const {
    return exceptions.empty() || exceptions.front().chain.empty() ? std::string_view()
                                                                  : exceptions.front().chain.front().type;
  }
};

/// An async method that continues when the code that a thread runs, or the async caller before it, has ended.
struct AsyncCaller {
  Frame frame;               ///< `pc`: where it continues; 0: not known (methods with a state machine)
  std::uint32_t symbol = 0;  ///< index into ProcessDump::symbols
  Address box = 0;           ///< the object that holds its state: the task that its caller received
  std::int32_t state = -1;   ///< as in AsyncStep
};

/// One thread: its state in the kernel and in the runtime, and the walked, named stack.
struct ThreadDump {
  ThreadId tid = 0;
  ThreadId ns_tid = 0;
  std::string comm;
  char kernel_state = '?';
  std::int64_t syscall = -1;
  bool captured = false;
  bool not_stopped = false;          ///< others were stopped; this one got no CPU, and was only looked at
  std::chrono::nanoseconds late{0};  ///< time from the common instant to its capture; 0: at that instant
  Error capture_error;
  ThreadFacts facts;    ///< read after the capture, while the target ran again
  Registers registers;  ///< of the innermost frame, as captured
  /// For a thread that crashed and is captured in its signal handler: the registers at the fault, from the signal
  /// frame. Null: it is no such thread.
  std::shared_ptr<const Registers> fault_registers;
  std::shared_ptr<const VectorRegisters> vectors;  ///< as captured; null: not available
  std::optional<ManagedThreadFacts> managed;
  std::optional<ThreadWait> wait;  ///< with `DumpOptions::waits`; none: no wait is known
  Trace trace;
  std::vector<std::uint32_t> symbols;  ///< per frame of `trace`: index into ProcessDump::symbols
  /// With `DumpOptions::waits`: the async methods that await the running one, innermost first. Empty: none, or not
  /// known.
  std::vector<AsyncCaller> async_callers;
  /// With `DumpOptions::arguments`: for managed frames that have variables, ascending by frame.
  std::vector<FrameArguments> arguments;
};

struct ProcessDump {
  TargetInfo target;
  std::vector<RuntimeSummary> runtimes;
  std::chrono::nanoseconds pause{0};
  std::optional<ProcessUsage> usage;  ///< read after the capture, while the target runs again; none for a core
  Consistency consistency = Consistency::all_stopped_together;
  std::uint32_t threads_not_stopped = 0;
  std::vector<ThreadDump> threads;
  std::vector<SymbolInfo> symbols;   ///< interned; index 0 is the unnamed symbol
  std::vector<Diagnosis> diagnoses;  ///< of the process and its modules
};

}  // namespace mixstack
