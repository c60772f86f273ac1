// Managed code in the mixed walk, unwound by a DAC.
#pragma once

#include <unordered_map>

#include "dotnet/dac/dac_provider.h"
#include "dotnet/dac/managed_unwind.h"
#include "engine/walk_core/stepper.h"

namespace mixstack::dotnet::dac {

/// Claims methods and stubs that the DAC knows. The caller of a managed frame is what the DAC's walk, set to exactly
/// the registers of that frame, arrives at next; one question serves a whole run of managed frames. Where the DAC ends
/// its walk at a managed frame (the outermost one of the main thread has no record above it), the runtime's unwind
/// codes are read instead (`managed_unwind.h`). Borrows the provider and the module map. Not thread-safe.
class DacStepper final : public walk::FrameStepper {
 public:
  explicit DacStepper(DacProvider& provider, const images::ModuleMap& modules)
      : provider_(provider), modules_(&modules) {}

  void use_modules(const images::ModuleMap& modules) { modules_ = &modules; }
  /// `memory` is what the provider is bound to; borrowed until the next call. `threads`: the ids of the target's own
  /// pid namespace by ours, of the threads whose Thread object belongs to the capture. Others are unwound by the
  /// runtime's unwind codes alone.
  void begin_capture(const MemoryReader& memory, std::unordered_map<std::uint32_t, std::uint32_t> threads);

  [[nodiscard]] std::string_view name() const override { return "dac"; }
  [[nodiscard]] bool claim(Frame& frame) override;
  [[nodiscard]] walk::StepOutcome step(walk::Cursor& cursor, const walk::ThreadInput& thread) override;

  /// Why questions were not answered, each reason once.
  [[nodiscard]] std::vector<mixstack::Diagnosis> take_diagnoses() { return std::move(diagnoses_); }

 private:
  struct Place {
    Address pc = 0, sp = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& p) const { return std::hash<Address>()(p.pc * 31 + p.sp); }
  };

  [[nodiscard]] const Result<ManagedRow>& row(CodeAddress pc);
  /// Asks for the run of managed frames that starts here.
  void ask(const walk::Cursor& cursor, std::uint32_t os_id);
  [[nodiscard]] walk::StepOutcome by_unwind_codes(walk::Cursor& cursor, const walk::ThreadInput& thread);

  DacProvider& provider_;
  const images::ModuleMap* modules_;
  const MemoryReader* memory_ = nullptr;
  std::unordered_map<std::uint32_t, std::uint32_t> os_ids_;
  std::uint32_t thread_ = 0;  ///< whose callers are kept
  std::unordered_map<Place, Registers, PlaceHash> callers_;
  std::unordered_map<Address, Result<ManagedRow>> rows_;  ///< by looked-up address
  std::vector<mixstack::Diagnosis> diagnoses_;
};

}  // namespace mixstack::dotnet::dac
