// Names from a DAC for the symbolizer.
#pragma once

#include <unordered_map>
#include <vector>

#include "dotnet/dac/dac_provider.h"
#include "mixstack/symbolizer.h"

namespace mixstack::dotnet::dac {

/// Methods and stubs by their address, explicit Frames by the last `remember`. The text is the DAC's own (as
/// `!clrstack` shows it), as readable and as raw name. Borrows the provider. Not thread-safe.
class DacNames final : public NameProvider {
 public:
  explicit DacNames(DacProvider& provider) : provider_(provider) {}

  [[nodiscard]] std::string_view provider_name() const override { return "dac"; }
  [[nodiscard]] std::optional<SymbolInfo> describe(const Frame& frame) override;

  void begin_capture() { records_.clear(); }
  /// Names of the Frames of a walk.
  void remember(std::span<const Element> elements);
  /// A number for the type of a Frame of such a walk, the same for equal names, so that the symbolizer can tell Frames
  /// apart. 0: not known.
  [[nodiscard]] std::uint32_t type_of(Address record) const;

 private:
  [[nodiscard]] SymbolInfo method(const Frame& frame);
  [[nodiscard]] SymbolInfo stub(const Frame& frame);
  [[nodiscard]] SymbolInfo record(const Frame& frame, const std::string& type);
  [[nodiscard]] std::uint32_t number_of(const std::string& type);

  DacProvider& provider_;
  static constexpr std::size_t kMaxTypes = 1024;  ///< runtimes have some thirty

  std::unordered_map<Address, std::uint32_t> records_;  ///< number of the type
  std::vector<std::string> types_{""};                  ///< by number, as long as the process lives
};

}  // namespace mixstack::dotnet::dac
