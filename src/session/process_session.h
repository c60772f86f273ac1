// A session over any Target: modules, runtimes, capture, walk, names.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "memory/cached_memory.h"
#include "mixstack/session.h"
#include "object/file_budget.h"
#include "object/module_map.h"
#include "session/clr_runtime.h"
#include "session/walker_implementation.h"
#include "symbolize/elf_symbols.h"
#include "target/debuginfod.h"

namespace mixstack::session {

class ProcessSession final : public Session {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Session>> open(std::unique_ptr<Target> target);

  [[nodiscard]] Target& target() override { return *target_; }
  [[nodiscard]] Result<ProcessDump> dump(const DumpOptions& options) override;
  [[nodiscard]] Result<Capture> capture(const DumpOptions& options) override;
  [[nodiscard]] Result<Walker> walker(Capture capture, const WalkOptions& options) override;
  [[nodiscard]] StepperChain& steppers() override { return steppers_; }
  void add_name_provider(std::shared_ptr<NameProvider> provider) override;
  [[nodiscard]] Result<void> refresh() override;
  void set_runtime_options(const RuntimeOptions& options) override;
  void set_symbol_options(const SymbolOptions& options) override;

  /// For those who walk with the session's parts themselves: what a walker borrows. Ends with the next capture or
  /// `refresh`, and when the runtimes or the list of modules are read again.
  [[nodiscard]] Walker::Implementation::Parts parts();

 private:
  explicit ProcessSession(std::unique_ptr<Target> target);
  [[nodiscard]] Result<void> load_modules();
  void build_modules(const std::vector<Region>& regions);
  void find_runtimes();
  void follow_modules(const std::vector<Region>& regions);
  [[nodiscard]] RootSource* prepare_roots();
  [[nodiscard]] Result<Capture> take(const DumpOptions& options);
  void walk_late(Capture& capture, const DumpOptions& options, symbolize::ElfSymbols& elf, ProcessDump& dump);
  [[nodiscard]] bool complete_cut_stacks(Capture& capture, const DumpOptions& options, symbolize::ElfSymbols& elf,
                                         ProcessDump& dump);
  [[nodiscard]] bool complete_cut_stack(Capture& capture, const DumpOptions& options, symbolize::ElfSymbols& elf,
                                        ThreadDump& thread, std::size_t stack_bytes);
  void name_frames(ProcessDump& dump, Symbolizer& symbolizer);
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> budgeted(Result<std::shared_ptr<const FileBytes>> file) const;
  [[nodiscard]] object::PathOpener path_opener() const;
  void add_target_diagnoses(ProcessDump& dump, const std::vector<Region>& regions) const;

  std::unique_ptr<Target> target_;
  std::shared_ptr<object::FileBudget> file_budget_ = object::FileBudget::of_this_machine();
  memory::CachedMemory memory_;  ///< of the running target; cleared at every capture
  std::shared_ptr<object::ImageCache> images_ = std::make_shared<object::ImageCache>();
  std::shared_ptr<target::Debuginfod> debuginfod_;  ///< null: not wanted
  std::shared_ptr<symbolize::SymbolTables> symbol_tables_ = std::make_shared<symbolize::SymbolTables>();
  walk::Tables unwind_tables_ = std::make_shared<unwind::UnwindTables>();
  object::ModuleMap modules_;
  std::optional<walk::NativeStepper> native_;  ///< of modules_, for all captures that are walked here
  std::vector<Region> image_mappings_;         ///< of which modules_ was built
  std::chrono::steady_clock::time_point captured_at_;
  RuntimeOptions runtime_options_;
  std::vector<std::unique_ptr<ClrRuntime>> runtimes_;
  StepperChain steppers_;
  std::vector<std::shared_ptr<NameProvider>> providers_;
};

}  // namespace mixstack::session
