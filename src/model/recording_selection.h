// A part of a recording as a recording, or one with other functions: for what shows recordings in its own way.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "model/recording_view.h"

namespace mixstack {

/// Only samples and frames that `options` ask for, below a frame for their process (where there are several) and their
/// thread if `options` want these told apart; of the direction they say nothing here. Functions, frames and threads
/// that are in no sample any more stay in the lists.
[[nodiscard]] Recording selection_of(const Recording& recording, const ProfileOptions& options);

struct FunctionAndModule {
  RecordedFunction function{};  ///< its number of a module counts for nothing
  RecordedModule module{};      ///< without a name: none
};
/// What stands for a function; nothing: itself.
using FunctionChoice = std::function<std::optional<FunctionAndModule>(std::uint32_t function)>;
/// All of a recording, with other functions in the places of some.
[[nodiscard]] Recording with_functions(const Recording& recording, const FunctionChoice& choice);

}  // namespace mixstack
