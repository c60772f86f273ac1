// The managed heap of a program that was compiled ahead of time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dotnet/contracts/layouts.h"
#include "dotnet/heap/aot_collector.h"
#include "dotnet/heap/heap_counter.h"
#include "session/native_aot.h"

namespace mixstack::session {

/// Counts its objects. Borrows the modules and the target.
class AotHeap {
 public:
  /// Null: `why` says why its objects cannot be told.
  [[nodiscard]] static std::unique_ptr<AotHeap> open(const NativeAot& aot, const images::ModuleMap& modules,
                                                     const Target& target, std::string& why);

  [[nodiscard]] dotnet::objects::HeapCounter& counter() { return *counter_; }
  /// Collections of generation 1 and above since the process began; nothing: not known.
  [[nodiscard]] std::optional<std::uint64_t> old_collections() const;

 private:
  AotHeap(const NativeAot& aot, const images::ModuleMap& modules, const Target& target);
  [[nodiscard]] dotnet::RuntimeMemory memory() const { return {target_.memory(), layouts_, &target_.loaded_memory()}; }
  void find_counts(const images::ModuleMap& modules, ModuleIndex module);

  const Target& target_;
  dotnet::Layouts layouts_;
  std::optional<dotnet::objects::AotCounts> counts_;
  std::unique_ptr<dotnet::objects::HeapCounter> counter_;
};

}  // namespace mixstack::session
