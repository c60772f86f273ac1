// Raw recordings as files (.mxr): everything a Recording holds, to be shown later or on another machine.
// docs/formats/recording.md describes the bytes.
#pragma once

#include <cstddef>
#include <span>

#include "mixstack/result.h"
#include "model/recording.h"
#include "report/writer.h"

namespace mixstack::formats {

void write_recording(report::Writer& out, const Recording& recording);

/// Whether bytes begin as such a file does.
[[nodiscard]] bool is_recording(std::span<const std::byte> bytes);

/// A file that was cut gives what is whole of it, and a note in `facts.notes` says so. Samples of a recording that
/// holds more than it may are put together in time, as in recording. Errors: `mismatch` (no such file), `unsupported`
/// (`value` is the version), `truncated` (not even its first block is whole), `malformed` (`value` is the offset of the
/// block), `limit_exceeded`. Control characters in strings are escaped.
[[nodiscard]] Result<Recording> read_recording(std::span<const std::byte> bytes);

}  // namespace mixstack::formats
