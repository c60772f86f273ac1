// The .NET runtime's share of symbolization: methods, explicit Frames and stubs.
#pragma once

#include <string_view>

#include "dotnet/code/code_manager.h"
#include "dotnet/names/method_names.h"
#include "dotnet/names/source_lines.h"
#include "mixstack/symbolizer.h"

namespace mixstack::dotnet::names {

/// Describes managed frames by their MethodDesc, explicit Frames by type and method, stubs by kind and target. Borrows
/// the names and the layouts. Not thread-safe.
class ManagedSymbols final : public NameProvider {
 public:
  /// `lines` may be null: then frames have none.
  ManagedSymbols(MethodNames& names, const Layouts& layouts, SourceLines* lines)
      : names_(names), layouts_(layouts), lines_(lines) {}

  [[nodiscard]] std::string_view provider_name() const override { return "dotnet"; }
  [[nodiscard]] std::optional<SymbolInfo> describe(const Frame& frame) override;

 private:
  [[nodiscard]] SymbolInfo method(const Frame& frame);
  void use_exact_name(const Frame& frame, SymbolInfo& info, Result<const MethodName*>& name);
  [[nodiscard]] FuncletKind handler_of(const Frame& frame);
  [[nodiscard]] bool was_added(const MethodName& name) const;
  [[nodiscard]] SymbolInfo record(const Frame& frame);
  [[nodiscard]] SymbolInfo stub(const Frame& frame);
  /// C# name of a MethodDesc, or empty.
  [[nodiscard]] std::string target_name(Address method);

  MethodNames& names_;
  const Layouts& layouts_;
  SourceLines* lines_;
};

}  // namespace mixstack::dotnet::names
