// A runtime read by the debugger library that it ships (DAC): for releases without contracts, or on request.
#pragma once

#include <memory>

#include "dotnet/dac/dac_runtime.h"
#include "dotnet/runtime/runtime_by_contracts.h"

namespace mixstack::dotnet {

/// Threads, their names and exceptions come from the contracts where the runtime has them, frames and their names
/// always from the DAC. If there is no DAC for a capture, the runtime's code is not walked there.
class RuntimeByDac final : public ManagedRuntime {
 public:
  /// `described` is the same runtime by its contracts, which does not walk. `dac` may be why there is none.
  RuntimeByDac(std::unique_ptr<RuntimeByContracts> described, dac::Outcome<std::unique_ptr<dac::DacProvider>> dac,
               const Target& target, const images::ModuleMap& modules);

  [[nodiscard]] const RuntimeSummary& summary() const override { return summary_; }
  void use_modules(const images::ModuleMap& modules) override;
  /// The DAC is started here, not when the session is opened: what it then says of the process is fresh, and a process
  /// that was too young for it the last time may be old enough now.
  [[nodiscard]] RootSource* prepare_roots() override;
  void begin_capture(const Capture& capture, const MemoryReader& overlay, unwind::RuleStepper& engine) override;
  [[nodiscard]] walk::FrameStepper* stepper() override { return summary_.by_dac ? &dac_->stepper() : nullptr; }
  [[nodiscard]] NameProvider* names() override { return summary_.by_dac ? &dac_->names() : nullptr; }
  [[nodiscard]] unwind::RuleSource* rules() override { return nullptr; }
  [[nodiscard]] const std::vector<ManagedThread>& threads() const override;
  [[nodiscard]] Error thread_list_error() const override { return described_->thread_list_error(); }
  [[nodiscard]] const ManagedThread* thread(std::uint64_t os_id) const override;
  [[nodiscard]] CheckpointList checkpoints(const ManagedThread& thread, bool methods, std::size_t most) override;
  [[nodiscard]] ManagedThreadFacts facts(const ManagedThread& thread) override { return described_->facts(thread); }
  void begin_names(base::Beside& beside) override { described_->begin_names(beside); }
  void name_threads(std::span<ThreadDump> threads) override { described_->name_threads(threads); }
  [[nodiscard]] RuntimeCounters counters(const images::ModuleMap& modules) override {
    return described_->counters(modules);
  }
  [[nodiscard]] std::string why_no_waits() override {
    std::string why = described_->why_not_known();
    return why.empty() ? ManagedRuntime::why_no_waits() : why;
  }
  void explain_abort(std::span<const SymbolInfo> symbols, ThreadDump& thread) override;
  [[nodiscard]] std::vector<FreedFrame> freed_code(const ProcessDump&, const Capture&, const MemoryReader&) override {
    return {};
  }
  [[nodiscard]] std::vector<std::string> files_missing() const override { return described_->files_missing(); }
  [[nodiscard]] std::vector<std::string> files_used() const override { return described_->files_used(); }
  [[nodiscard]] std::vector<mixstack::Diagnosis> take_diagnoses() override;
  [[nodiscard]] RuntimeByContracts* contracts() override { return described_->contracts(); }

 private:
  std::unique_ptr<RuntimeByContracts> described_;
  const Target& target_;
  RuntimeSummary summary_;
  std::size_t missing_of_descriptor_;     ///< what is behind them in summary_.missing, the DAC lacks
  std::unique_ptr<dac::DacRuntime> dac_;  ///< null: not to be had
  ThreadIndex threads_;                   ///< as the DAC knows them
};

}  // namespace mixstack::dotnet
