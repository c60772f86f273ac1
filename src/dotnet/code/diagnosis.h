// Why a runtime, or one of its contracts, cannot be used: a code, the name it is about, a number.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "mixstack/result.h"

namespace mixstack::dotnet {

/// A refusal with the name of what was refused: a contract, a baseline, a field ("Thread.Frame"), a symbol. Text is
/// made by `report`; `value` is the version or address found.
struct Diagnosis {
  ErrorCode code = ErrorCode::none;
  std::string subject;
  std::uint64_t value = 0;
  friend bool operator==(const Diagnosis&, const Diagnosis&) = default;
};

template <class T>
using Diagnosed = tl::expected<T, Diagnosis>;

[[nodiscard]] inline tl::unexpected<Diagnosis> refuse(ErrorCode code, std::string subject, std::uint64_t value = 0) {
  return tl::unexpected<Diagnosis>(Diagnosis{code, std::move(subject), value});
}

}  // namespace mixstack::dotnet
