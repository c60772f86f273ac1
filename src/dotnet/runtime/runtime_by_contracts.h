// A runtime read by its contracts: descriptor, threads, code, names.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/memory/cached_memory.h"
#include "dotnet/code/code_manager.h"
#include "dotnet/code/managed_stepper.h"
#include "dotnet/names/inlined_methods.h"
#include "dotnet/names/managed_symbols.h"
#include "dotnet/runtime/found_counters.h"
#include "dotnet/runtime/managed_runtime.h"
#include "dotnet/runtime/thread_index.h"
#include "dotnet/waits/task_methods.h"

namespace mixstack::dotnet {

/// Facts that workers share (KnownRuntime) stay as long as the process lives. Not movable: its parts point at each
/// other.
class RuntimeByContracts final : public ManagedRuntime {
 public:
  struct Uses {
    bool walks = true;            ///< false: another reader walks its code
    bool lines = true;            ///< source lines of managed frames
    names::PdbFetcher fetch_pdb;  ///< null: PDBs inside and beside assemblies only
  };
  /// `live` is the target's memory through a cache, borrowed as the target is. A runtime that cannot be walked is an
  /// answer too: its summary says what is missing.
  RuntimeByContracts(std::shared_ptr<const KnownRuntime> known, const Target& target, const MemoryReader& live,
                     const names::FileOpener& opener, Uses uses);

  [[nodiscard]] const RuntimeSummary& summary() const override { return summary_; }
  void use_modules(const images::ModuleMap&) override {
    if (code_) code_->forget_images();
    if (stepper_) stepper_->forget_images();
  }
  [[nodiscard]] RootSource* prepare_roots() override { return roots_.get(); }
  void begin_capture(const Capture& capture, const MemoryReader& overlay, unwind::RuleStepper& engine) override;
  [[nodiscard]] walk::FrameStepper* stepper() override { return stepper_.get(); }
  [[nodiscard]] NameProvider* names() override { return symbols_.get(); }
  [[nodiscard]] unwind::RuleSource* rules() override { return code_.get(); }
  [[nodiscard]] const std::vector<ManagedThread>& threads() const override { return threads_.list().threads; }
  [[nodiscard]] Error thread_list_error() const override { return threads_.list().error; }
  [[nodiscard]] const ManagedThread* thread(std::uint64_t os_id) const override { return threads_.find(os_id); }
  [[nodiscard]] CheckpointList checkpoints(const ManagedThread& thread, bool methods, std::size_t most) override;
  [[nodiscard]] bool marks(const ManagedThread& thread, const StackView& stack, Address sp,
                           std::vector<walk::Mark>& out) override;
  [[nodiscard]] CheckpointList sampled_checkpoints(const ManagedThread& thread, const MemorySlice& stack, Address sp,
                                                   bool methods) override;
  [[nodiscard]] std::optional<LastHijack> last_hijack(const ManagedThread& thread) override;
  void confirm_generic_contexts(std::span<Frame> frames, std::uint64_t taken_ns) override;
  [[nodiscard]] ManagedThreadFacts facts(const ManagedThread& thread) override;
  void begin_names(base::Beside& beside) override;
  void name_threads(std::span<ThreadDump> threads) override;
  [[nodiscard]] bool keeps_code(const Frame& frame) override {
    const bool is_exact_kept = frame.generic_handle == 0 || frame.generic_is_kept;
    return frame.kind == FrameKind::managed && is_exact_kept && code_ && CodeManager::is_kept(code_->find(frame.pc));
  }
  [[nodiscard]] std::vector<SymbolInfo> inlined_at(const Frame& frame, const Frame* callee) override {
    return inlined_ ? inlined_->at(frame, callee) : std::vector<SymbolInfo>{};
  }
  [[nodiscard]] std::vector<SymbolInfo> may_contain(CodeAddress pc) override {
    return inlined_ ? inlined_->may_contain(pc) : std::vector<SymbolInfo>{};
  }
  [[nodiscard]] std::vector<objects::WaitFrame> frames_with_inlined_call(const objects::WaitingThread& at);
  [[nodiscard]] std::string why_no_waits() override;
  [[nodiscard]] std::vector<AddressRange> places_of_waits() override;
  [[nodiscard]] ThreadWait wait_of(const objects::WaitingThread& at) override;
  [[nodiscard]] std::size_t waits_without_objects() const override { return waits_without_objects_; }
  [[nodiscard]] objects::EndsOfWork ends_of_work(std::span<const objects::WaitingThread> threads) override;
  [[nodiscard]] std::optional<std::vector<objects::LogicalCaller>> async_callers(
      const objects::WaitingThread& at) override;
  [[nodiscard]] std::optional<PendingWork> pending_work(std::span<const objects::WaitedTask> waits,
                                                        std::span<const objects::WaitingThread> threads,
                                                        bool data) override;
  [[nodiscard]] std::vector<std::optional<std::vector<ProgramValue>>> arguments(
      std::span<const objects::ArgumentFrame> frames, bool data) override;
  [[nodiscard]] objects::HeapReader* heap() override;
  [[nodiscard]] ManagedMemory managed_memory() override;
  [[nodiscard]] std::unique_ptr<objects::HeapCounter> heap_counter() override;
  [[nodiscard]] std::unique_ptr<objects::NewObjects> new_objects() override;
  [[nodiscard]] std::unique_ptr<holders::HolderReader> holder_reader() override;
  [[nodiscard]] RuntimeCounters counters(const images::ModuleMap& modules) override;
  [[nodiscard]] std::optional<std::uint64_t> collections() const override {
    return counters_ ? counters_->collections() : std::nullopt;
  }
  void explain_abort(std::span<const SymbolInfo> symbols, ThreadDump& thread) override;
  [[nodiscard]] std::vector<FreedFrame> freed_code(const ProcessDump& dump, const Capture& capture,
                                                   const MemoryReader& now) override;
  [[nodiscard]] std::vector<std::string> files_missing() const override;
  [[nodiscard]] std::vector<std::string> files_used() const override;
  [[nodiscard]] std::vector<names::PdbLookup> pdbs() const override {
    return lines_ ? lines_->lookups() : std::vector<names::PdbLookup>{};
  }
  [[nodiscard]] std::vector<mixstack::Diagnosis> take_diagnoses() override { return {}; }
  [[nodiscard]] RuntimeByContracts* contracts() override { return is_described() ? this : nullptr; }

  /// Its descriptor is understood; `code` tells whether its code is, too.
  [[nodiscard]] bool is_described() const { return runtime_ != nullptr; }
  /// Threads are described (contract Thread).
  [[nodiscard]] bool has_threads() const { return roots_ != nullptr; }
  /// Names the part whose version (of a later .NET) is not known, in words. Empty: none.
  [[nodiscard]] std::string why_not_known() const;
  /// Its descriptor is there, but holds impossible values.
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }

  // Where it is described:
  /// Bound to the current capture; null where its code is not described.
  [[nodiscard]] CodeManager* code() { return code_.get(); }
  [[nodiscard]] names::MethodNames& method_names() { return *names_; }
  [[nodiscard]] RuntimeMemory captured_memory() const;
  /// Thread.Name; empty when it has none or it cannot be read.
  [[nodiscard]] std::string thread_name(const ManagedThread& thread);

 private:
  void lacks(mixstack::Diagnosis why);
  [[nodiscard]] std::string why_no_objects() const;
  void use_descriptor(const names::FileOpener& opener, Uses uses);
  using NamesByThread = std::unordered_map<Address, std::string>;
  [[nodiscard]] std::vector<ManagedThread> captured_threads() const;
  [[nodiscard]] NamesByThread read_thread_names(std::vector<ManagedThread> asked,
                                                const std::optional<std::vector<std::uint64_t>>& gc_counts);
  [[nodiscard]] objects::ThreadWaits* thread_waits();
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> captured_gc_counts() const;
  [[nodiscard]] bool objects_stand_at_capture() const;
  [[nodiscard]] bool objects_stand_still() const;
  /// Notes since when (`unmoved_since_ns_`) the running target's collector has counted no move of objects.
  void note_gc_counts();
  void note_suspension(const MemoryReader& overlay);
  [[nodiscard]] bool is_same_code(const Frame& frame, const MemoryReader& now);
  [[nodiscard]] std::uint64_t finalizer_os_id() const;

  std::shared_ptr<const KnownRuntime> known_;
  const Target& target_;
  const MemoryReader& live_;
  memory::CachedMemory first_look_, second_look_, third_look_;  ///< of the running target since the capture
  RuntimeSummary summary_;
  bool is_damaged_ = false;
  std::shared_ptr<const RuntimeFacts> runtime_;  ///< null when its descriptor was refused
  std::unique_ptr<ThreadRoots> roots_;
  std::optional<GcCounts> gc_counts_;
  std::unique_ptr<CodeManager> code_;
  std::unique_ptr<ManagedStepper> stepper_;
  std::unique_ptr<names::MethodNames> names_;
  std::unique_ptr<names::SourceLines> lines_;
  std::unique_ptr<names::InlinedMethods> inlined_;
  std::unique_ptr<names::ManagedSymbols> symbols_;
  std::unique_ptr<FoundCounters> counters_;  ///< null: not asked for yet
  ThreadIndex threads_;
  bool is_frozen_ = false;                                    ///< the capture is of a core
  bool is_sampled_ = false;                                   ///< the capture is of samples: no roots are of its time
  std::optional<std::vector<std::uint64_t>> last_gc_counts_;  ///< of the running target, when it was sampled
  std::uint64_t unmoved_since_ns_ = 0;                        ///< CLOCK_MONOTONIC
  // For the current capture only; made when first asked for.
  std::unique_ptr<objects::LoadedTypes> types_;
  std::unique_ptr<objects::ManagedObjects> objects_;
  std::unique_ptr<objects::ThreadWaits> waits_;
  std::size_t waits_without_objects_ = 0;
  std::unique_ptr<objects::TaskMethods> task_methods_;
  std::unique_ptr<objects::AsyncCallers> callers_;
  std::unique_ptr<objects::HeapReader> heap_;
  ThreadNames names_of_threads_;
  std::vector<ThreadId> captured_;  ///< ids of the captured threads, as the runtime knows them
  /// Names of these threads, by Thread; read when first asked for.
  std::optional<NamesByThread> thread_names_;
  std::vector<ThreadId> unnamed_;             ///< their facts were asked for while names were being read
  std::future<NamesByThread> names_to_come_;  ///< read beside the walk, from `begin_names` to `name_threads`
};

/// Bytes that cannot be right, in contrast to versions that are not known and memory that cannot be read.
[[nodiscard]] bool is_damage(ErrorCode code);
/// A descriptor, or a contract in it, of a later version than those that are known.
[[nodiscard]] bool is_of_unknown_version(const mixstack::Diagnosis& refusal);

}  // namespace mixstack::dotnet
