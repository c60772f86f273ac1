// pprof profiles, for pprof and profile stores.
#pragma once

#include "base/words/recording_view.h"
#include "output/report/writer.h"

namespace mixstack::formats {

/// profile.proto of github.com/google/pprof, compressed by gzip. Values of a sample: the count ("samples") and its time
/// in nanoseconds, for each clock that was used ("cpu", "wall"). Labels: process, thread, thread_id, state, kind (of
/// the innermost frame), gc if a collection was pending. Locations have link-time addresses and mappings have build
/// ids, so that other machines can symbolise; inlined functions are lines of one location. `options.by_thread` and
/// `by_process` add nothing here: labels tell both.
void write_pprof(report::Writer& out, const Recording& recording, const ProfileOptions& options);

}  // namespace mixstack::formats
