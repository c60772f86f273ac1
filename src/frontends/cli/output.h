// Input and output of commands: given files, text to descriptors, files, pages; and the exit code of what went wrong.
// Functions that answer one have said why.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "features/machine/explained_opening.h"
#include "frontends/cli/program.h"
#include "mixstack/memory_moment.h"
#include "mixstack/recording.h"
#include "output/files/fd_output.h"
#include "output/files/written_file.h"
#include "output/serve/page_server.h"

namespace mixstack::cli {

using files::FdOutput;

/// Says "mixstack: WORDS" on standard error, and ends the line.
void say(const Environment& environment, const std::string& words);
/// The same, and answers the code.
ExitCode complain(const Environment& environment, const std::string& words, ExitCode code);
/// Reports why nothing was written, and answers the exit code for it.
ExitCode complain(const Environment& environment, const files::NotWritten& why);
/// Reports why a process cannot be looked at, and answers the exit code for it.
ExitCode complain(const Environment& environment, const machine::Refused& refused);

/// `files::write_output` to a file, or for "-" to standard output. Reports errors.
[[nodiscard]] ExitCode write_file(const std::string& path, bool is_text, const Environment& environment,
                                  const files::WriteOutput& write);
/// Writes an answer in text: to the file `path`, and says so, or where there is none (or "-") to standard output,
/// whatever that is. Reports errors.
[[nodiscard]] ExitCode write_answer_to(const std::string& path, const Environment& environment,
                                       const files::WriteOutput& write);

/// Reads a raw recording or folded stacks; "-": standard input. The error is the exit code; it was reported.
[[nodiscard]] tl::expected<Recording, ExitCode> read_recording_file(const std::string& path,
                                                                    const Environment& environment);
/// The same for a moment (.mxm).
[[nodiscard]] tl::expected<MemoryMoment, ExitCode> read_moment_file(const std::string& path,
                                                                    const Environment& environment);

/// Starts to serve at a port (0: a free one); the address of the page.
[[nodiscard]] tl::expected<std::string, ExitCode> start_page(serve::PageServer& server, std::uint16_t port,
                                                             const Environment& environment);
inline constexpr char kOpenThis[] = "open this address; Ctrl-C ends it";

}  // namespace mixstack::cli
