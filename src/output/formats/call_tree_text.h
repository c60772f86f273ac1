// A list of functions and the call tree, as text.
#pragma once

#include <string>

#include "base/words/recording_view.h"
#include "output/report/writer.h"

namespace mixstack::formats {

/// Writes the account of samples, the functions with most self samples, and the call tree, heaviest first. Percentages
/// are of the shown samples; nodes below half a percent are left out.
void write_text_tree(report::Writer& out, const Recording& recording, const ProfileOptions& options);

/// The lines above every list: samples, time, samples left out, lost and cut, and notes.
void write_account(report::Writer& out, const Recording& recording, const RecordingView& view);
/// "12.3"
[[nodiscard]] std::string percent(std::uint64_t part, std::uint64_t whole);

}  // namespace mixstack::formats
