#include "session/core_opening.h"

#include <cerrno>

#include "process/core/core_target.h"
#include "process/pack/pack_reader.h"

namespace mixstack::session {

Result<OpenedCore> open_core_target(const CoreOptions& options, process::FileFetcher fetch) {
  auto opened = process::CoreBytes::open(options.path);
  // `malformed` means here that the file is no core; a damaged compressed stream is an io_error.
  const auto of_stream = [](const Error& e) {
    return e.code == ErrorCode::malformed ? Error{ErrorCode::io_error, EBADMSG, e.value} : e;
  };
  if (!opened) return fail(of_stream(opened.error()));
  OpenedCore core;
  core.bytes = std::move(*opened);
  process::FileFinderOptions files{options.sysroots,      options.executable, {},
                                   options.use_own_files, std::move(fetch),   {}};
  if (pack::is_pack(*core.bytes)) {
    auto pack = pack::open_pack(core.bytes);
    // An archive that was cut off lacks parts because of the cut: that is the error.
    if (!pack && core.bytes->diagnosis()) return fail(of_stream(core.bytes->diagnosis()->error));
    if (!pack) return fail(pack.error());
    core.bytes = std::move(pack->core);
    files.packed = std::move(pack->files);
  }
  auto target = process::open_core(core.bytes, std::move(files));
  if (!target && core.bytes->diagnosis()) return fail(of_stream(core.bytes->diagnosis()->error));
  if (!target) return fail(target.error());
  core.target = std::move(*target);
  return core;
}

}  // namespace mixstack::session
