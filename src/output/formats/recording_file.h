// Raw recordings as files (.mxr): everything a Recording holds, for later or for another machine.
// docs/formats/recording.md describes the bytes.
#pragma once

#include <cstddef>
#include <span>

#include "mixstack/recording.h"
#include "mixstack/result.h"
#include "output/report/writer.h"

namespace mixstack::formats {

void write_recording(report::Writer& out, const Recording& recording);

/// Whether the bytes begin with the magic of such a file.
[[nodiscard]] bool is_recording(std::span<const std::byte> bytes);

/// A truncated or damaged file gives its blocks up to the damage, and a note in `facts.notes`. If there are too many
/// samples, time is made coarser, as while recording. Errors: `mismatch` (no such file), `unsupported` (`value` is the
/// version), `truncated` (not even the first block is whole), `malformed` (`value` is the offset of the block),
/// `limit_exceeded`. Control characters in strings are escaped.
[[nodiscard]] Result<Recording> read_recording(std::span<const std::byte> bytes);

}  // namespace mixstack::formats
