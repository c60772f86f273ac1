// Firefox Profiler format, for https://profiler.firefox.com.
#pragma once

#include "base/words/recording_view.h"
#include "output/report/writer.h"

namespace mixstack::formats {

/// A processed profile of preprocessedProfileVersion 48 (github.com/firefox-devtools/profiler, CHANGELOG-formats.md;
/// later versions of the page upgrade it), compressed by gzip. Every thread has its own tables; categories are the
/// kinds of code; weights are samples. `options.by_thread` and `by_process` add nothing here.
void write_firefox(report::Writer& out, const Recording& recording, const ProfileOptions& options);

/// The Breakpad id of an image: the first 16 bytes of the build id as a GUID, and an age of 0.
[[nodiscard]] std::string breakpad_id(std::string_view build_id);

}  // namespace mixstack::formats
