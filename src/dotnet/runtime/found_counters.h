// A runtime's own counters: where they are is found once, also again for a runtime that was still starting.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "dotnet/code/runtime.h"
#include "dotnet/counters/counter_reader.h"
#include "dotnet/names/method_names.h"
#include "mixstack/counters.h"
#include "mixstack/target.h"

namespace mixstack::dotnet {

/// Not thread-safe. Borrows the target and the names.
class FoundCounters {
 public:
  FoundCounters(std::shared_ptr<const RuntimeFacts> runtime, const Target& target, names::MethodNames& names)
      : runtime_(std::move(runtime)), target_(target), names_(names) {}

  /// `modules` are borrowed for the call.
  [[nodiscard]] RuntimeCounters read(const images::ModuleMap& modules);
  /// As CounterReader; nothing before the first `read`, too.
  [[nodiscard]] std::optional<std::uint64_t> collections() const {
    return reader_ ? reader_->collections() : std::nullopt;
  }

 private:
  void find(const images::ModuleMap& modules);
  [[nodiscard]] Address find_lock_contentions();
  [[nodiscard]] const std::string& exception_name(Address type);

  std::shared_ptr<const RuntimeFacts> runtime_;
  const Target& target_;
  names::MethodNames& names_;
  std::optional<counters::CounterReader> reader_;
  bool is_early_ = true;                                      ///< a part of it may be found later
  std::unordered_map<Address, std::string> exception_names_;  ///< by MethodTable; empty: no type of exceptions
  unsigned calls_ = 0, next_try_ = 1;  ///< early: the search is repeated after 1, 2, 4, 8 ... calls
};

}  // namespace mixstack::dotnet
