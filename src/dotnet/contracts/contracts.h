// Which of a runtime's contracts this reader can honour. Versions admit; the presence of fields decides.
#pragma once

#include <vector>

#include "dotnet/contracts/descriptor.h"
#include "dotnet/contracts/diagnosis.h"
#include "dotnet/contracts/layouts.h"

namespace mixstack::dotnet {

/// The contracts that a runtime's descriptor admits. Each is either admitted or has a diagnosis that names it (subject:
/// "ExecutionManager", value: version found) or the first field it lacks (subject: "RealCodeHeader.MethodDesc").
class Contracts {
 public:
  /// Judges every contract. `not_found`: the descriptor does not list it. `contract_unsupported`: a version we do not
  /// know (never guessed). `field_unavailable`: listed and known, but a field that version needs is missing.
  [[nodiscard]] static Contracts judge(const Descriptor& descriptor, const Layouts& layouts);

  [[nodiscard]] bool admits(Contract c) const { return admitted_[static_cast<std::size_t>(c)]; }
  /// Why contracts are not admitted, one entry each.
  [[nodiscard]] const std::vector<Diagnosis>& refusals() const { return refusals_; }
  /// The refusal of one contract; code none when it is admitted.
  [[nodiscard]] Diagnosis refusal(Contract c) const { return refusal_[static_cast<std::size_t>(c)]; }

 private:
  static constexpr std::size_t kCount = static_cast<std::size_t>(Contract::count);
  std::array<bool, kCount> admitted_{};
  std::array<Diagnosis, kCount> refusal_{};
  std::vector<Diagnosis> refusals_;
};

}  // namespace mixstack::dotnet
