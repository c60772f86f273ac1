// Functions and the tree of calls as text.
#pragma once

#include <string>

#include "model/recording_view.h"
#include "report/writer.h"

namespace mixstack::formats {

/// What was taken and lost, the functions with most samples of their own, and the tree, heaviest first, in percent of
/// what is shown; what is below half a percent is left out.
void write_text_tree(report::Writer& out, const Recording& recording, const ProfileOptions& options);

/// The lines above every list: samples, rates, time, what is left out, lost, cut, and notes.
void write_account(report::Writer& out, const Recording& recording, const RecordingView& view);
/// "12.3"
[[nodiscard]] std::string percent(std::uint64_t part, std::uint64_t whole);

}  // namespace mixstack::formats
