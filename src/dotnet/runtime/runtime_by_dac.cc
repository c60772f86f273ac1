#include "dotnet/runtime/runtime_by_dac.h"

#include "dotnet/runtime/crash_facts.h"

namespace mixstack::dotnet {

RuntimeByDac::RuntimeByDac(std::unique_ptr<RuntimeByContracts> described,
                           dac::Outcome<std::unique_ptr<dac::DacProvider>> dac, const Target& target,
                           const images::ModuleMap& modules)
    : described_(std::move(described)), target_(target), summary_(described_->summary()) {
  summary_.walkable = false;
  missing_of_descriptor_ = summary_.missing.size();
  if (dac) {
    dac_ = std::make_unique<dac::DacRuntime>(std::move(*dac), modules);
  } else {
    summary_.missing.push_back(dac.error());
  }
}

void RuntimeByDac::use_modules(const images::ModuleMap& modules) {
  if (dac_) dac_->use_modules(modules);
}

RootSource* RuntimeByDac::prepare_roots() {
  if (!dac_) return described_->prepare_roots();
  summary_.missing.resize(missing_of_descriptor_);
  auto roots = dac_->prepare_roots(target_.memory());
  summary_.walkable = summary_.by_dac = roots.has_value();
  if (roots) return *roots;
  summary_.missing.push_back(roots.error());
  return described_->prepare_roots();
}

void RuntimeByDac::begin_capture(const Capture& capture, const MemoryReader& overlay, unwind::RuleStepper& engine) {
  ThreadList list;
  if (summary_.by_dac) {
    dac_->begin_capture(capture, overlay);
    list.threads = dac_->threads();
  }
  threads_.set(std::move(list));
  described_->begin_capture(capture, overlay, engine);
}

const std::vector<ManagedThread>& RuntimeByDac::threads() const {
  return described_->has_threads() ? described_->threads() : threads_.list().threads;
}

const ManagedThread* RuntimeByDac::thread(std::uint64_t os_id) const {
  return described_->has_threads() ? described_->thread(os_id) : threads_.find(os_id);
}

CheckpointList RuntimeByDac::checkpoints(const ManagedThread& thread, bool, std::size_t) {
  return summary_.by_dac ? dac_->checkpoints(thread) : CheckpointList{};
}

void RuntimeByDac::explain_abort(std::span<const SymbolInfo> symbols, ThreadDump& thread) {
  if (described_->is_described() && this->thread(thread.ns_tid) != nullptr)
    dotnet::explain_abort(described_->captured_memory(), summary_, symbols, thread);
}

std::vector<mixstack::Diagnosis> RuntimeByDac::take_diagnoses() {
  std::vector<mixstack::Diagnosis> list = dac_ ? dac_->take_diagnoses() : std::vector<mixstack::Diagnosis>{};
  // Where it is not walkable, the summary says why. Where the DAC has helped out, it would go unsaid.
  if (!summary_.by_dac) return list;
  for (std::size_t i = 0; i < missing_of_descriptor_; i++)
    if (const mixstack::Diagnosis& d = summary_.missing[i]; is_damage(d.error.code) && !d.text.empty())
      list.push_back({d.error, summary_.module_path + ": " + d.subject, d.text + "; its DAC was asked instead"});
  return list;
}

}  // namespace mixstack::dotnet
