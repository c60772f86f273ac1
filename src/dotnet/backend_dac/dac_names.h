// Names from a DAC for the symbolizer.
#pragma once

#include <unordered_map>

#include "dotnet/backend_dac/dac_provider.h"
#include "mixstack/symbolizer.h"

namespace mixstack::dotnet::dac {

/// Methods and stubs by their address, explicit Frames by what `remember` was told. The text is the DAC's own (what
/// `!clrstack` shows), as readable and as raw name. Borrows the provider. Not thread-safe.
class DacNames final : public NameProvider {
 public:
  explicit DacNames(DacProvider& provider) : provider_(provider) {}

  [[nodiscard]] std::string_view provider_name() const override { return "dac"; }
  [[nodiscard]] std::optional<SymbolInfo> describe(const Frame& frame) override;

  void begin_capture() { records_.clear(); }
  /// Names of the Frames of a walk.
  void remember(std::span<const Element> elements);

 private:
  [[nodiscard]] SymbolInfo method(const Frame& frame);
  [[nodiscard]] SymbolInfo stub(const Frame& frame);
  [[nodiscard]] SymbolInfo record(const Frame& frame, const std::string& type);

  DacProvider& provider_;
  std::unordered_map<Address, std::string> records_;
};

}  // namespace mixstack::dotnet::dac
