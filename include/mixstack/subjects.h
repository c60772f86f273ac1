// Subjects of diagnoses that are told in the head of a report, since they are about the process as a whole.
#pragma once

#include <string_view>

namespace mixstack {

/// A runtime that is mapped, and cannot be read.
inline constexpr std::string_view kRuntimeSubject = "runtime";
/// Where a process stands that does not run its Main, or not yet: no fault, so that the error is `none`.
inline constexpr std::string_view kStageSubject = "stage";
/// What a library or runtime left in memory for the moment of its process's end, as it is there. No fault, either.
inline constexpr std::string_view kLastWordsSubject = "last words";

}  // namespace mixstack
