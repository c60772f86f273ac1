// Moments as files (.mxm): docs/formats/moment.md.
#pragma once

#include <cstddef>
#include <span>

#include "mixstack/memory_moment.h"
#include "mixstack/report.h"
#include "mixstack/result.h"

namespace mixstack {

/// A piece of the sink is valid during the call only.
void write_moment(const MemoryMoment& moment, const ReportSink& sink);

/// Whether the bytes begin with the magic of such a file.
[[nodiscard]] bool is_moment(std::span<const std::byte> bytes);

/// Half a moment would show growth that there was not, so a file that is cut is refused. Errors: `mismatch` (no such
/// file), `unsupported` (`value` is the version), `truncated`, `malformed` (`value` is the offset of the block),
/// `limit_exceeded`. Control characters in strings are escaped.
[[nodiscard]] Result<MemoryMoment> read_moment(std::span<const std::byte> bytes);

}  // namespace mixstack
