// One CoreCLR of a target, with the parts of walking and naming that depend on it.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>

#include "dotnet/backend_dac/dac_runtime.h"
#include "dotnet/code/checkpoints.h"
#include "dotnet/code/code_manager.h"
#include "dotnet/code/managed_stepper.h"
#include "dotnet/code/runtime.h"
#include "dotnet/code/threads.h"
#include "dotnet/names/managed_symbols.h"
#include "memory/cached_memory.h"
#include "mixstack/dump.h"
#include "mixstack/session.h"
#include "session/process_facts.h"

namespace mixstack::session {

/// What one worker knows of a runtime: names of ordinary code, which stay, and the facts of one capture, made by
/// `begin_capture`. What is known of it as long as the process lives it shares with other workers. Not movable: its
/// parts point at each other. Not thread-safe.
class ClrRuntime {
 public:
  /// `live` is the target's memory through a cache, borrowed as the target and the modules are. A runtime that cannot
  /// be walked is an answer too: its summary says what is missing.
  ClrRuntime(std::shared_ptr<const KnownRuntime> known, const Target& target, const MemoryReader& live,
             dotnet::names::FileOpener opener, const object::ModuleMap& modules,
             const RuntimeOptions& options = {.provider = ManagedProvider::descriptor});
  ClrRuntime(const ClrRuntime&) = delete;
  ClrRuntime& operator=(const ClrRuntime&) = delete;

  [[nodiscard]] const std::shared_ptr<const KnownRuntime>& known() const { return known_; }
  /// Another list of the same process's modules, borrowed in place of the one before.
  void use_modules(const object::ModuleMap& modules) {
    if (dac_) dac_->use_modules(modules);
  }
  [[nodiscard]] const RuntimeSummary& summary() const { return summary_; }
  [[nodiscard]] bool is_walkable() const { return summary_.walkable; }

  /// The Thread objects, to be read in the stop. Null when the contract is missing.
  [[nodiscard]] RootSource* prepare_roots();
  /// Forgets the facts of the last capture and reads the threads of this one. `overlay`, and the engine that is to
  /// execute rules where one walks, are borrowed until the next call.
  void begin_capture(const Capture& capture, const MemoryReader& overlay, unwind::RuleStepper* engine = nullptr);

  /// The runtime's thread of an OS thread (its id in the target's own pid namespace), or null.
  [[nodiscard]] const dotnet::ManagedThread* thread(std::uint64_t os_id) const;
  [[nodiscard]] const Error& thread_list_error() const { return threads_.error; }
  [[nodiscard]] dotnet::CheckpointList checkpoints(const dotnet::ManagedThread& thread, bool methods,
                                                   std::size_t most = dotnet::kMaxFrames);
  /// Thread.Name; empty when it has none or it cannot be told. Only with a descriptor.
  [[nodiscard]] std::string thread_name(const dotnet::ManagedThread& thread);
  [[nodiscard]] ManagedThreadFacts facts(const dotnet::ManagedThread& thread);
  /// Paths of assemblies that could not be named for want of metadata.
  [[nodiscard]] std::vector<std::string> files_missing() const {
    return names_ ? names_->files_missing() : std::vector<std::string>{};
  }
  /// Paths of assemblies that were named from their files.
  [[nodiscard]] std::vector<std::string> files_used() const {
    return names_ ? names_->files_used() : std::vector<std::string>{};
  }

  /// What went wrong with the DAC since the last call.
  [[nodiscard]] std::vector<Diagnosis> take_diagnoses();

  /// Why the runtime is ending the process on this thread, if it is: told by its named stack.
  void explain_abort(std::span<const SymbolInfo> symbols, ThreadDump& thread) const;

  /// All threads of this capture.
  [[nodiscard]] const std::vector<dotnet::ManagedThread>& threads() const { return threads_.threads; }
  /// Only with a descriptor.
  [[nodiscard]] dotnet::RuntimeMemory captured_memory() const;
  [[nodiscard]] bool has_descriptor() const { return runtime_ != nullptr; }
  /// Null when the runtime's descriptor was refused.
  [[nodiscard]] dotnet::names::MethodNames* names() { return names_.get(); }

  // Only when walkable:
  [[nodiscard]] walk::FrameStepper& stepper() {
    return summary_.by_dac ? static_cast<walk::FrameStepper&>(dac_->stepper()) : *stepper_;
  }
  [[nodiscard]] NameProvider& symbols() {
    return summary_.by_dac ? static_cast<NameProvider&>(dac_->names()) : *symbols_;
  }
  /// Code is read by the descriptor; otherwise nothing below is to be asked.
  [[nodiscard]] bool has_code() const { return code_ != nullptr; }
  /// Bound to the current capture.
  [[nodiscard]] dotnet::CodeManager& code() { return *code_; }
  /// OS thread (in the target's own pid namespace) that runs finalizers, 0 when not known.
  [[nodiscard]] std::uint64_t finalizer_os_id() const;
  /// Whether the code at a managed frame is still what it was when the frame was found.
  [[nodiscard]] bool is_same_code(const Frame& frame, const MemoryReader& now);

 private:
  void read_thread_names();
  void lacks_of_descriptor(Diagnosis why);
  void use_descriptor(const dotnet::names::FileOpener& opener);
  void open_dac(const dotnet::RuntimeImage& image, const object::ModuleMap& modules,
                const dotnet::names::FileOpener& opener, const RuntimeOptions& options);

  std::shared_ptr<const KnownRuntime> known_;
  const Target& target_;
  const MemoryReader& live_;
  memory::CachedMemory first_look_, second_look_, third_look_;  ///< of the running target since the capture
  RuntimeSummary summary_;
  std::unique_ptr<dotnet::dac::DacRuntime> dac_;  ///< null unless the DAC is wanted; used when summary_.by_dac
  bool is_descriptor_damaged_ = false;
  std::size_t missing_of_descriptor_ = 0;                ///< what is behind them in summary_.missing, the DAC lacks
  std::shared_ptr<const dotnet::RuntimeFacts> runtime_;  ///< null when its descriptor was refused
  std::unique_ptr<dotnet::ThreadRoots> roots_;
  std::unique_ptr<dotnet::CodeManager> code_;
  std::unique_ptr<dotnet::ManagedStepper> stepper_;
  std::unique_ptr<dotnet::names::MethodNames> names_;
  std::unique_ptr<dotnet::names::ManagedSymbols> symbols_;
  dotnet::ThreadList threads_;
  dotnet::ThreadNames names_of_threads_;
  std::vector<ThreadId> captured_;  ///< ids of the captured threads, as the runtime knows them
  std::optional<std::unordered_map<Address, std::string>>
      thread_names_;  ///< of these, by Thread; read when first asked
  std::unordered_map<std::uint64_t, std::size_t> by_os_id_;
};

}  // namespace mixstack::session
