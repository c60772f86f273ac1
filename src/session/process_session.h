// A session over any Target: modules, runtimes, capture, walk, names.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/dwarf/dwarf_symbols.h"
#include "mixstack/session.h"
#include "session/generated_code.h"
#include "session/image_facts.h"
#include "session/process_generation.h"
#include "session/symbol_sources.h"
#include "session/walker_implementation.h"

namespace mixstack::session {

class ProcessSession final : public Session {
 public:
  /// `finder` may be null: no symbols from elsewhere. `images`: shared with other sessions, or our own.
  [[nodiscard]] static Result<std::unique_ptr<ProcessSession>> open(std::unique_ptr<Target> target,
                                                                    SharedFinder finder = nullptr,
                                                                    NativeLines lines = NativeLines::at_hand,
                                                                    ImageFacts images = {});

  [[nodiscard]] Target& target() override { return *target_; }
  [[nodiscard]] Result<ProcessDump> dump(const DumpOptions& options) override;
  [[nodiscard]] Result<Capture> capture(const DumpOptions& options) override;
  [[nodiscard]] Result<Walker> walker(Capture capture, const WalkOptions& options) override;
  [[nodiscard]] Result<Walker> walker_of(WalkContext context, const WalkOptions& options) override;
  [[nodiscard]] StepperChain& steppers() override { return steppers_; }
  void add_name_provider(std::shared_ptr<NameProvider> provider) override;
  [[nodiscard]] Result<std::vector<RuntimeCounters>> counters() override;
  [[nodiscard]] std::vector<std::optional<std::uint64_t>> collections() override;
  [[nodiscard]] Result<std::vector<ManagedMemory>> managed_memory() override;
  [[nodiscard]] Result<std::vector<HeapTypes>> heap_types(const HeapTypesOptions& options) override;
  [[nodiscard]] Result<std::vector<std::string>> new_object_types(std::span<const NewObject> objects) override;
  [[nodiscard]] Result<std::vector<HeapHolders>> holders(const HoldersOptions& options) override;
  [[nodiscard]] Result<void> refresh() override;
  void set_runtime_options(const RuntimeOptions& options) override;
  void set_symbol_options(const SymbolOptions& options) override;
  [[nodiscard]] std::vector<ModuleSymbols> symbol_files(const ProcessDump& dump, bool all) override;
  /// Later dumps also read the types that a search of the heap needs, so that a copy of the process can be searched.
  void read_types_of_heaps() { reads_types_of_heaps_ = true; }
  /// For packs: a copy of the process does not have the files that the process wrote.
  void leave_out_perf_map() { generated_->leave_out_perf_map(); }

  /// The parts of a walker, for callers that walk with them themselves.
  [[nodiscard]] Walker::Implementation::Parts parts();
  /// The latest generation.
  [[nodiscard]] const std::shared_ptr<const ProcessGeneration>& facts() const { return facts_; }
  [[nodiscard]] symbols::SymbolTables& symbol_tables() { return *images_.symbols; }

 private:
  ProcessSession(std::unique_ptr<Target> target, ImageFacts images);
  void use(SharedFinder finder);
  [[nodiscard]] Result<void> read_facts();
  void read_facts(const std::vector<Region>& regions, const ProcessGeneration* before);
  void follow_mappings(const std::shared_ptr<const std::vector<Region>>& regions);
  [[nodiscard]] Result<std::shared_ptr<const std::vector<Region>>> mappings_now();
  [[nodiscard]] WorkerPool::Lease worker();
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> budgeted(Result<std::shared_ptr<const FileBytes>> file) const;
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_mapped(const Region& region) const;
  [[nodiscard]] images::PathOpener path_opener() const;

  std::unique_ptr<Target> target_;
  std::shared_ptr<GeneratedCode> generated_;
  mutable std::mutex files_mutex_;  ///< workers open files, the target opens one at a time
  ImageFacts images_;
  SharedFinder finder_;  ///< null: no symbols from elsewhere
  bool reads_types_of_heaps_ = false;
  std::shared_ptr<symbols::LineTables> line_tables_;  ///< null: not wanted
  bool native_names_ = true;
  RuntimeOptions runtime_options_;
  std::shared_ptr<const ProcessGeneration> facts_;            ///< the latest generation
  std::shared_ptr<const std::vector<Region>> followed_;       ///< the list that it was last compared with
  std::unordered_map<std::uint64_t, std::string> new_types_;  ///< names by MethodTable, since `new_types_at_`
  std::chrono::steady_clock::time_point new_types_at_{};
  std::shared_ptr<WorkerPool> workers_ = std::make_shared<WorkerPool>();
  StepperChain steppers_;
  std::vector<std::shared_ptr<NameProvider>> providers_;
};

}  // namespace mixstack::session
