#include "session/core_opening.h"

#include <array>
#include <cerrno>

#include "process/core/core_target.h"
#include "process/pack/pack_reader.h"

namespace mixstack::session {
namespace {

/// In the order of asking. A new kind of file is a room with a CoreFormat, and a row here.
std::array<process::CoreFormat, 2> formats() { return {pack::pack_format(), process::elf_core_format()}; }

/// Outside, `malformed` says that the file is no core; a damaged compressed stream is an io_error.
Error of_stream(const Error& error) {
  return error.code == ErrorCode::malformed ? Error{ErrorCode::io_error, EBADMSG, error.value} : error;
}

}  // namespace

Result<process::OpenedCore> open_core_target(const CoreOptions& options, process::FileFetcher fetch) {
  auto opened = process::CoreBytes::open(options.path);
  if (!opened) return fail(of_stream(opened.error()));
  const std::shared_ptr<const process::CoreBytes> bytes = std::move(*opened);
  process::FileFinderOptions files{options.sysroots,      options.executable, {},
                                   options.use_own_files, std::move(fetch),   {}};
  Error error{ErrorCode::malformed, 0, 0};
  for (const process::CoreFormat& format : formats()) {
    if (!format.recognises(*bytes)) continue;
    auto core = format.open(bytes, std::move(files));
    if (core) return core;
    error = core.error();
    break;
  }
  // A file that was cut off lacks parts because of the cut: that is the error.
  return fail(bytes->diagnosis() ? of_stream(bytes->diagnosis()->error) : error);
}

}  // namespace mixstack::session
