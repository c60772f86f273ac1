// Files that are read back: recordings of any kind that can be, and why one cannot.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "mixstack/memory_moment.h"
#include "mixstack/recording.h"
#include "mixstack/result.h"

namespace mixstack::formats {

/// A raw recording, or folded stacks of any tool (they are of `version` then). Errors: those of the two readers;
/// mismatch: neither.
[[nodiscard]] Result<Recording> read_any(std::span<const std::byte> file, std::string_view path,
                                         std::string_view version);

/// The same of the file at a path; "-": standard input. Errors: those of `files::read_input_file`, too.
[[nodiscard]] Result<Recording> read_recording_at(const std::string& path, std::string_view version);
[[nodiscard]] Result<MemoryMoment> read_moment_at(const std::string& path);
/// Whether a path is a regular file that begins like a moment.
[[nodiscard]] bool is_moment_file(const std::string& path);

/// Why a recording could not be read, in a sentence. `path`: "-" is standard input.
[[nodiscard]] std::string unread_recording_words(const Error& error, const std::string& path);
/// The same for a moment of memory.
[[nodiscard]] std::string unread_moment_words(const Error& error, const std::string& path);

}  // namespace mixstack::formats
