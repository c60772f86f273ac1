// One runtime of a target as the session wants it, all of it from the DAC.
#pragma once

#include <memory>

#include "dotnet/code/checkpoints.h"
#include "dotnet/code/threads.h"
#include "dotnet/dac/dac_names.h"
#include "dotnet/dac/dac_stepper.h"
#include "mixstack/target.h"

namespace mixstack::dotnet::dac {

/// Thread objects as roots of a capture: which they are was asked of the running process, their bytes are copied in the
/// stop, so that a thread's newest Frame belongs to the copied stack.
class DacRoots final : public RootSource {
 public:
  explicit DacRoots(std::vector<Address> threads) : threads_(std::move(threads)) {}
  void collect(const MemoryReader& memory, std::vector<AddressRange>& out) override;
  [[nodiscard]] bool holds(Address thread) const;

 private:
  /// More than any release's Thread object has (2 to 3 KiB).
  static constexpr std::uint64_t kThreadBytes = 4096;
  std::vector<Address> threads_;  ///< ascending
};

/// Not thread-safe; not movable: its parts point at each other.
class DacRuntime {
 public:
  /// Borrows the module map.
  DacRuntime(std::unique_ptr<DacProvider> provider, const images::ModuleMap& modules);
  DacRuntime(const DacRuntime&) = delete;
  DacRuntime& operator=(const DacRuntime&) = delete;

  /// Another list of the same process's modules, borrowed in place of the one before.
  void use_modules(const images::ModuleMap& modules) { stepper_.use_modules(modules); }
  /// Starts the DAC and asks it for the threads of the running process (through no cache: the helper has one). A
  /// failure is final for this capture, and what follows then finds no threads.
  [[nodiscard]] Outcome<RootSource*> prepare_roots(const MemoryReader& live);
  /// Everything asked from now on is about this capture, read through `overlay`; both are borrowed until the next call.
  void begin_capture(const Capture& capture, const MemoryReader& overlay);

  /// The threads of the capture. Those that were not yet known when the Thread objects were copied are left out: their
  /// records and their stack may be of different instants.
  [[nodiscard]] const std::vector<ManagedThread>& threads() const { return threads_; }
  [[nodiscard]] std::string exception_type(const ManagedThread& thread) const;
  [[nodiscard]] CheckpointList checkpoints(const ManagedThread& thread);
  [[nodiscard]] DacStepper& stepper() { return stepper_; }
  [[nodiscard]] DacNames& names() { return names_; }
  [[nodiscard]] std::vector<mixstack::Diagnosis> take_diagnoses();

 private:
  void read_threads();
  void note(const mixstack::Diagnosis& d);

  std::unique_ptr<DacProvider> provider_;
  DacStepper stepper_;
  DacNames names_;
  std::unique_ptr<DacRoots> roots_;
  std::vector<ManagedThread> threads_;
  std::unordered_map<Address, std::string> exceptions_;
  std::unordered_map<std::uint32_t, const Registers*> registers_;
  std::vector<mixstack::Diagnosis> diagnoses_;
};

}  // namespace mixstack::dotnet::dac
