// Subjects of diagnoses about the process as a whole, shown at the head of a report.
#pragma once

#include <string_view>

namespace mixstack {

/// A runtime that is mapped but cannot be read.
inline constexpr std::string_view kRuntimeSubject = "runtime";
/// The stage of a process that does not run its Main, or not yet. No fault: the error is `none`.
inline constexpr std::string_view kStageSubject = "stage";
/// A message that a library or runtime left in memory as the process ended, verbatim. No fault either.
inline constexpr std::string_view kLastWordsSubject = "last words";

}  // namespace mixstack
