// A part of a recording as a recording, or one with other functions: for formats with a viewer of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/words/recording_view.h"

namespace mixstack {

/// Only the samples and frames that `options` ask for. Each stack begins with a frame for its process (if there are
/// several) and its thread, if `options` ask for these. The direction in `options` has no effect. Functions, frames and
/// threads without samples stay in the lists.
[[nodiscard]] Recording selection_of(const Recording& recording, const ProfileOptions& options);

struct FunctionAndModule {
  RecordedFunction function{};  ///< its module number is ignored
  RecordedModule module{};      ///< without a name: none
};
/// The replacement of a function; nothing: keep it.
using FunctionChoice = std::function<std::optional<FunctionAndModule>(std::uint32_t function)>;
/// A copy of a recording with some functions replaced.
[[nodiscard]] Recording with_functions(const Recording& recording, const FunctionChoice& choice);

}  // namespace mixstack
