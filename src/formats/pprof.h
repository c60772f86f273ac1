// For pprof and the stores that take its profiles.
#pragma once

#include "model/recording_view.h"
#include "report/writer.h"

namespace mixstack::formats {

/// profile.proto of github.com/google/pprof, compressed by gzip. Values of a sample: how many ("samples") and the
/// nanoseconds they stand for, of each clock that was used ("cpu", "wall"). Labels: process, thread, thread_id, state,
/// kind (of the innermost frame), gc where a collection was pending. Locations have link-time addresses, mappings build
/// ids, so that names can be made elsewhere, too; functions that were inlined are lines of one location.
/// `options.by_thread` and `by_process` add nothing here: labels tell both.
void write_pprof(report::Writer& out, const Recording& recording, const ProfileOptions& options);

}  // namespace mixstack::formats
