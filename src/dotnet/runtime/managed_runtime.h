// A runtime inside a target, as those who walk and name its frames see it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/beside.h"
#include "dotnet/async/async_callers.h"
#include "dotnet/async/heap_reader.h"
#include "dotnet/code/checkpoints.h"
#include "dotnet/code/runtime.h"
#include "dotnet/code/threads.h"
#include "dotnet/heap/arguments.h"
#include "dotnet/names/pdb_finder.h"
#include "dotnet/runtime/freed_code.h"
#include "dotnet/waits/ends_of_work.h"
#include "dotnet/waits/pending_work.h"
#include "dotnet/waits/thread_waits.h"
#include "mixstack/dump.h"
#include "mixstack/symbolizer.h"
#include "mixstack/target.h"
#include "unwind/rule_step.h"
#include "walk_core/stepper.h"

namespace mixstack::dotnet {

/// A CoreCLR among the images, and what it says of itself; a refusal is an answer, too.
struct KnownRuntime {
  RuntimeImage image;
  Diagnosed<std::shared_ptr<const RuntimeFacts>> facts;
};

class RuntimeByContracts;

/// What one worker knows of a runtime: names of ordinary code, which stay, and the facts of one capture, made by
/// `begin_capture`. Two implementations: by the runtime's contracts, and by its DAC. Not thread-safe.
class ManagedRuntime {
 public:
  ManagedRuntime() = default;
  ManagedRuntime(const ManagedRuntime&) = delete;
  ManagedRuntime& operator=(const ManagedRuntime&) = delete;
  virtual ~ManagedRuntime() = default;

  /// Which runtime, and what of it cannot be told.
  [[nodiscard]] virtual const RuntimeSummary& summary() const = 0;
  /// Another list of the same process's modules, borrowed in place of the one before.
  virtual void use_modules(const object::ModuleMap& modules) = 0;

  /// What is to be read in the stop; null when nothing can be told before it.
  [[nodiscard]] virtual RootSource* prepare_roots() = 0;
  /// Forgets the facts of the last capture and reads the threads of this one. `overlay`, and the engine that is to
  /// execute rules, are borrowed until the next call.
  virtual void begin_capture(const Capture& capture, const MemoryReader& overlay, unwind::RuleStepper& engine) = 0;

  /// Whoever knows its code in this capture; null: nobody does, and `summary` says why.
  [[nodiscard]] virtual walk::FrameStepper* stepper() = 0;
  [[nodiscard]] virtual NameProvider* names() = 0;
  /// The rules of its code, where they are told as such.
  [[nodiscard]] virtual unwind::RuleSource* rules() = 0;

  [[nodiscard]] virtual const std::vector<ManagedThread>& threads() const = 0;
  /// Why that list is not whole.
  [[nodiscard]] virtual Error thread_list_error() const = 0;
  /// The runtime's thread of an OS thread (its id in the target's own pid namespace), or null.
  [[nodiscard]] virtual const ManagedThread* thread(std::uint64_t os_id) const = 0;
  [[nodiscard]] virtual CheckpointList checkpoints(const ManagedThread& thread, bool methods,
                                                   std::size_t most = kMaxFrames) = 0;
  /// The same as marks, of a thread that stands at `sp` on copied bytes, where they are simple; else false.
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
  /// Which return address of the thread a suspension replaced last, as the running target tells now, which may be of
  /// another time than a sample of its stack. Nothing: not told, or it is no method's code.
  [[nodiscard]] virtual std::optional<LastHijack> last_hijack(const ManagedThread& /*thread*/) { return std::nullopt; }
  /// Takes back the generic contexts of frames of a walk that were told by objects, unless these have lain where they
  /// lay since the stack was copied (of a sample at `taken_ns`).
  virtual void confirm_generic_contexts(std::span<Frame> /*frames*/, std::uint64_t /*taken_ns*/) {}
  [[nodiscard]] virtual ManagedThreadFacts facts(const ManagedThread& thread) = 0;
  /// Where there are many, the names of the captured threads are read `beside`; `facts` leaves them out until
  /// `name_threads` has waited for them and put them.
  virtual void begin_names(base::Beside& /*beside*/) {}
  virtual void name_threads(std::span<ThreadDump> /*threads*/) {}

  /// Whether the method of a frame of its code is never freed while the process lives. False: it may be, or that is not
  /// told.
  [[nodiscard]] virtual bool keeps_code(const Frame& /*frame*/) { return false; }

  /// Empty: `wait_of` tells what there is. Else why it cannot.
  [[nodiscard]] virtual std::string why_no_waits() {
    return "the runtime does not keep the records of it, or not as is known";
  }
  /// Where the runtime keeps what each thread waits for, for who wants to read all of it at once.
  [[nodiscard]] virtual std::vector<AddressRange> places_of_waits() { return {}; }
  /// What a thread of this capture waits for, as objects of the runtime tell. `owners` are ids as the runtime has them.
  [[nodiscard]] virtual ThreadWait wait_of(const objects::WaitingThread& /*at*/) { return {}; }
  /// Threads whose work ends what others wait for.
  [[nodiscard]] virtual objects::EndsOfWork ends_of_work(std::span<const objects::WaitingThread> /*threads*/) {
    return {};
  }
  /// Async methods, thread pool and timers; nothing where they cannot be told. `waits` are the tasks that threads of
  /// this capture wait for. Ids of threads are as the runtime has them. `data`: the user's own data, too.
  [[nodiscard]] virtual std::optional<PendingWork> pending_work(std::span<const objects::WaitedTask> /*waits*/,
                                                                std::span<const objects::WaitingThread> /*threads*/,
                                                                bool /*data*/) {
    return std::nullopt;
  }

  /// Async methods that await what a thread of this capture runs.
  [[nodiscard]] virtual std::vector<objects::LogicalCaller> async_callers(const objects::WaitingThread& /*at*/) {
    return {};
  }

  /// Who searches its heap for async methods, for this capture; null: nobody can.
  [[nodiscard]] virtual objects::HeapReader* heap() { return nullptr; }

  /// `this` and arguments of managed frames of this capture, one answer for each; empty: they cannot be told. `data`:
  /// contents of strings, too.
  [[nodiscard]] virtual std::vector<std::optional<std::vector<ProgramValue>>> arguments(
      std::span<const objects::ArgumentFrame> /*frames*/, bool /*data*/) {
    return {};
  }

  /// Methods that were inlined at a frame of its code: innermost first. `callee`: the managed frame that it has called;
  /// null: it has called none. To be asked for when managed frames have names.
  [[nodiscard]] virtual std::vector<SymbolInfo> inlined_at(const Frame& /*frame*/, const Frame* /*callee*/) {
    return {};
  }

  /// Why the runtime is ending the process on this thread, if it is: told by its named stack.
  virtual void explain_abort(std::span<const SymbolInfo> symbols, ThreadDump& thread) = 0;
  /// Frames whose code may have been freed since the stop, to be asked for when managed frames have names. `now` reads
  /// the target as it is.
  [[nodiscard]] virtual std::vector<FreedFrame> freed_code(const ProcessDump& dump, const Capture& capture,
                                                           const MemoryReader& now) = 0;

  /// Paths of assemblies that could not be named for want of metadata, and of those named from their files.
  [[nodiscard]] virtual std::vector<std::string> files_missing() const = 0;
  [[nodiscard]] virtual std::vector<std::string> files_used() const = 0;
  /// PDBs of assemblies that lines were wanted of, as far as they were looked for.
  [[nodiscard]] virtual std::vector<names::PdbLookup> pdbs() const { return {}; }
  /// What went wrong since the last call.
  [[nodiscard]] virtual std::vector<mixstack::Diagnosis> take_diagnoses() = 0;

  /// What its contracts tell of it, for questions about single methods, types and Frames; null where no descriptor is.
  [[nodiscard]] virtual RuntimeByContracts* contracts() = 0;
};

}  // namespace mixstack::dotnet
