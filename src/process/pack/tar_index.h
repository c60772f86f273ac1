// The members of a tar archive that can be read at any offset.
#pragma once

#include <map>
#include <string>

#include "mixstack/result.h"
#include "process/core/core_bytes.h"

namespace mixstack::pack {

/// Where a regular file's bytes lie. In an archive that was cut off, the last may reach beyond the end.
struct TarMember {
  std::uint64_t offset = 0, size = 0;
};
using TarIndex = std::map<std::string, TarMember, std::less<>>;

struct TarContents {
  TarIndex members;
  bool is_cut_off = false;  ///< there is no mark of its end, or a member reaches beyond it: more may have been in it
};

/// Reads all headers and no file; folders are skipped. Errors: those of base/words/pack_fault.h: links, devices,
/// absolute paths, `..`, a path that occurs twice, damage; `io_error`. An archive that ends early without damage is
/// read as far as it goes; its end mark is blocks of zeros (POSIX: two; some tools write one).
[[nodiscard]] Result<TarContents> index_tar(const process::CoreBytes& archive);

}  // namespace mixstack::pack
