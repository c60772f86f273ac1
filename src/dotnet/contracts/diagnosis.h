// Why a runtime, or one of its contracts, cannot be used: a code, the name it is about, a number.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "mixstack/diagnosis.h"

namespace mixstack::dotnet {

template <class T>
using Diagnosed = tl::expected<T, Diagnosis>;

/// With the name of what was refused: a contract, a baseline, a field ("Thread.Frame"), a symbol. `value` is the
/// version or address found.
[[nodiscard]] inline Diagnosis refusal_of(ErrorCode code, std::string subject, std::uint64_t value = 0) {
  return {{code, 0, value}, std::move(subject), {}};
}
[[nodiscard]] inline tl::unexpected<Diagnosis> refuse(ErrorCode code, std::string subject, std::uint64_t value = 0) {
  return tl::unexpected<Diagnosis>(refusal_of(code, std::move(subject), value));
}

}  // namespace mixstack::dotnet
