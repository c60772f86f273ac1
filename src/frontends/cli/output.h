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

/// The part of a message that programs read.
struct MessageName {
  std::string_view code;      ///< a stable name; empty: that of the exit code
  std::string_view reason{};  ///< what stands in the way, where the code has several causes; empty: none known
  int os_error = 0;           ///< errno
  std::string subject{};      ///< the file, process or address concerned; empty: none
};
/// Says "mixstack: WORDS" on standard error, or, where programs read it, a line of JSON. Answers the exit code.
ExitCode complain(const Environment& environment, const MessageName& name, std::string words, ExitCode code);
/// Something that is no failure: exit code 0 in JSON. `words`: a sentence, or lines each with its "mixstack: "; nothing
/// is said where there are none.
void remark(const Environment& environment, const MessageName& name, const std::string& words);
/// As the first one, without a name of its own.
ExitCode complain(const Environment& environment, const std::string& words, ExitCode code);
/// Reports why nothing was written, and answers the exit code for it.
ExitCode complain(const Environment& environment, const files::NotWritten& why);
/// Reports why a process cannot be looked at, and answers the exit code for it.
ExitCode complain(const Environment& environment, const machine::Refused& refused);
/// Reports why a core cannot be read, and answers the exit code for it.
ExitCode complain_of_core(const Environment& environment, const Error& error, const std::string& path);

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
