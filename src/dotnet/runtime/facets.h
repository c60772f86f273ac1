// Questions to one runtime inside a target, by user: walks, names, threads, waits, counters, the heap.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/system/beside.h"
#include "dotnet/async/async_callers.h"
#include "dotnet/async/heap_reader.h"
#include "dotnet/code/checkpoints.h"
#include "dotnet/code/threads.h"
#include "dotnet/heap/argument_values.h"
#include "dotnet/heap/heap_counter.h"
#include "dotnet/heap/new_objects.h"
#include "dotnet/holders/holder_reader.h"
#include "dotnet/names/pdb_finder.h"
#include "dotnet/runtime/freed_code.h"
#include "dotnet/waits/ends_of_work.h"
#include "dotnet/waits/pending_work.h"
#include "dotnet/waits/thread_waits.h"
#include "engine/unwind/rule_step.h"
#include "engine/walk_core/stepper.h"
#include "mixstack/counters.h"
#include "mixstack/dump.h"
#include "mixstack/memory.h"
#include "mixstack/symbolizer.h"

namespace mixstack::dotnet {

/// Walks of its code, of one capture (`ManagedRuntime::begin_capture`). Not thread-safe.
class RuntimeWalk {
 public:
  RuntimeWalk() = default;
  RuntimeWalk(const RuntimeWalk&) = delete;
  RuntimeWalk& operator=(const RuntimeWalk&) = delete;

  /// Another list of the same process's modules, borrowed in place of the one before.
  virtual void use_modules(const images::ModuleMap& modules) = 0;
  /// The stepper for its code in this capture; null: there is none, and `summary` says why.
  [[nodiscard]] virtual walk::FrameStepper* stepper() = 0;
  /// The unwind rules of its code; null where it has none as such.
  [[nodiscard]] virtual unwind::RuleSource* rules() = 0;
  [[nodiscard]] virtual CheckpointList checkpoints(const ManagedThread& thread, bool methods,
                                                   std::size_t most = kMaxFrames) = 0;
  /// The same as marks, for a thread that stands at `sp` on copied bytes, if its list is simple; else false.
  [[nodiscard]] virtual bool marks(const ManagedThread& /*thread*/, const StackView& /*stack*/, Address /*sp*/,
                                   std::vector<walk::Mark>& /*out*/) {
    return false;
  }
  /// The explicit Frames that lie on a sampled stack, as far as its copied bytes prove them. Empty: none, or not told.
  [[nodiscard]] virtual CheckpointList sampled_checkpoints(const ManagedThread& /*thread*/,
                                                           const MemorySlice& /*stack*/, Address /*sp*/,
                                                           bool /*methods*/) {
    return {};
  }
  /// The return address of the thread that a suspension replaced last, as the running target has it now; a sample of
  /// its stack may be of another time. Nothing: not recorded, or it is no method's code.
  [[nodiscard]] virtual std::optional<LastHijack> last_hijack(const ManagedThread& /*thread*/) { return std::nullopt; }
  /// Whether the method of a frame of its code is never freed while the process lives. False: it may be, or that is not
  /// known.
  [[nodiscard]] virtual bool keeps_code(const Frame& /*frame*/) { return false; }

 protected:
  ~RuntimeWalk() = default;
};

/// Names, lines and variables of its frames, of one capture (`ManagedRuntime::begin_capture`). Not thread-safe.
class RuntimeNames {
 public:
  RuntimeNames() = default;
  RuntimeNames(const RuntimeNames&) = delete;
  RuntimeNames& operator=(const RuntimeNames&) = delete;

  [[nodiscard]] virtual NameProvider* names() = 0;
  /// Methods that were inlined at a frame of its code: innermost first. `callee`: the managed frame that it has called;
  /// null: it has called none. To be asked for when managed frames have names.
  [[nodiscard]] virtual std::vector<SymbolInfo> inlined_at(const Frame& /*frame*/, const Frame* /*callee*/) {
    return {};
  }
  /// Small methods that the method at `pc` calls, which may be a part of its code: `InlinedMethods::may_contain`.
  [[nodiscard]] virtual std::vector<SymbolInfo> may_contain(CodeAddress /*pc*/) { return {}; }
  /// `this` and arguments of managed frames of this capture, one answer for each; empty: they cannot be told. `data`:
  /// contents of strings, too.
  [[nodiscard]] virtual std::vector<std::optional<std::vector<ProgramValue>>> arguments(
      std::span<const objects::ArgumentFrame> /*frames*/, bool /*data*/) {
    return {};
  }
  /// Takes back the generic contexts of frames of a walk that were told by objects, unless these have lain where they
  /// lay since the stack was copied (of a sample at `taken_ns`).
  virtual void confirm_generic_contexts(std::span<Frame> /*frames*/, std::uint64_t /*taken_ns*/) {}
  /// Frames whose code may have been freed since the stop, to be asked for when managed frames have names. `now` reads
  /// the target as it is.
  [[nodiscard]] virtual std::vector<FreedFrame> freed_code(const ProcessDump& dump, const Capture& capture,
                                                           const MemoryReader& now) = 0;
  /// Paths of assemblies that could not be named for want of metadata, and of those named from their files.
  [[nodiscard]] virtual std::vector<std::string> files_missing() const = 0;
  [[nodiscard]] virtual std::vector<std::string> files_used() const = 0;
  /// PDBs of assemblies that lines were wanted of, as far as they were looked for.
  [[nodiscard]] virtual std::vector<names::PdbLookup> pdbs() const { return {}; }

 protected:
  ~RuntimeNames() = default;
};

/// Its threads, of one capture (`ManagedRuntime::begin_capture`). Not thread-safe.
class RuntimeThreads {
 public:
  RuntimeThreads() = default;
  RuntimeThreads(const RuntimeThreads&) = delete;
  RuntimeThreads& operator=(const RuntimeThreads&) = delete;

  [[nodiscard]] virtual const std::vector<ManagedThread>& threads() const = 0;
  /// Why that list is not whole.
  [[nodiscard]] virtual Error thread_list_error() const = 0;
  /// The runtime's thread of an OS thread (its id in the target's own pid namespace), or null.
  [[nodiscard]] virtual const ManagedThread* thread(std::uint64_t os_id) const = 0;
  [[nodiscard]] virtual ManagedThreadFacts facts(const ManagedThread& thread) = 0;
  /// Where there are many, the names of the captured threads are read `beside`; `facts` leaves them out until
  /// `name_threads` has waited for them and put them.
  virtual void begin_names(base::Beside& /*beside*/) {}
  virtual void name_threads(std::span<ThreadDump> /*threads*/) {}
  /// Why the runtime is ending the process on this thread, if it is: told by its named stack.
  virtual void explain_abort(std::span<const SymbolInfo> symbols, ThreadDump& thread) = 0;

 protected:
  ~RuntimeThreads() = default;
};

/// The waits of its threads and async methods, of one capture (`ManagedRuntime::begin_capture`). Not thread-safe.
class RuntimeWaits {
 public:
  RuntimeWaits() = default;
  RuntimeWaits(const RuntimeWaits&) = delete;
  RuntimeWaits& operator=(const RuntimeWaits&) = delete;

  /// Empty: `wait_of` can be asked. Else why not.
  [[nodiscard]] virtual std::string why_no_waits() {
    return "the runtime does not keep the records of it, or not as is known";
  }
  /// The memory where the runtime keeps the waits of threads, for callers that read all of it at once.
  [[nodiscard]] virtual std::vector<AddressRange> places_of_waits() { return {}; }
  /// The wait of a thread of this capture, as objects of the runtime record it. `owners` are ids as the runtime has
  /// them.
  [[nodiscard]] virtual ThreadWait wait_of(const objects::WaitingThread& /*at*/) { return {}; }
  /// Threads of this capture that waited for an object which `wait_of` did not find: of a core it may lack the object.
  [[nodiscard]] virtual std::size_t waits_without_objects() const { return 0; }
  /// Threads whose work ends the waits of others.
  [[nodiscard]] virtual objects::EndsOfWork ends_of_work(std::span<const objects::WaitingThread> /*threads*/) {
    return {};
  }
  /// Async methods, thread pool and timers; nothing where they cannot be read. `waits` are the tasks that threads of
  /// this capture wait for. Ids of threads are as the runtime has them. `data`: the user's own data, too.
  [[nodiscard]] virtual std::optional<PendingWork> pending_work(std::span<const objects::WaitedTask> /*waits*/,
                                                                std::span<const objects::WaitingThread> /*threads*/,
                                                                bool /*data*/) {
    return std::nullopt;
  }
  /// Async methods that await the work of a thread of this capture. Nothing: it cannot be read, or it runs none.
  [[nodiscard]] virtual std::optional<std::vector<objects::LogicalCaller>> async_callers(
      const objects::WaitingThread& /*at*/) {
    return std::nullopt;
  }

 protected:
  ~RuntimeWaits() = default;
};

/// Its own counters. Not thread-safe.
class RuntimeCounting {
 public:
  RuntimeCounting() = default;
  RuntimeCounting(const RuntimeCounting&) = delete;
  RuntimeCounting& operator=(const RuntimeCounting&) = delete;

  /// As the target has them now. The first call finds the places. Each one that is not known is left out.
  [[nodiscard]] virtual RuntimeCounters counters(const images::ModuleMap& /*modules*/) { return {}; }
  /// The number of the collection that began last; nothing: not known, or `counters` was not called before.
  [[nodiscard]] virtual std::optional<std::uint64_t> collections() const { return std::nullopt; }

 protected:
  ~RuntimeCounting() = default;
};

/// Its managed heap, of one capture (`ManagedRuntime::begin_capture`). Not thread-safe.
class RuntimeHeap {
 public:
  RuntimeHeap() = default;
  RuntimeHeap(const RuntimeHeap&) = delete;
  RuntimeHeap& operator=(const RuntimeHeap&) = delete;

  /// The reader that searches its heap for async methods, for this capture; null: none.
  [[nodiscard]] virtual objects::HeapReader* heap() { return nullptr; }
  /// Which memory it uses for what, now.
  [[nodiscard]] virtual ManagedMemory managed_memory() {
    ManagedMemory none;
    none.missing.push_back({{ErrorCode::unsupported, 0, 0}, "GC", "this runtime does not describe its heap"});
    return none;
  }
  /// A counter of its objects by type; null: none.
  [[nodiscard]] virtual std::unique_ptr<objects::HeapCounter> heap_counter() { return nullptr; }
  /// For objects that are just being made; null: none.
  [[nodiscard]] virtual std::unique_ptr<objects::NewObjects> new_objects() { return nullptr; }
  /// A search for who holds its objects; null: none.
  [[nodiscard]] virtual std::unique_ptr<holders::HolderReader> holder_reader() { return nullptr; }

 protected:
  ~RuntimeHeap() = default;
};

}  // namespace mixstack::dotnet
