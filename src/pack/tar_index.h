// What lies where in a tar archive that can be read at any offset.
#pragma once

#include <map>
#include <string>

#include "mixstack/result.h"
#include "target/core/core_bytes.h"

namespace mixstack::pack {

/// Where a regular file's bytes lie. Of an archive that was cut off the last may reach beyond its end.
struct TarMember {
  std::uint64_t offset = 0, size = 0;
};
using TarIndex = std::map<std::string, TarMember, std::less<>>;

struct TarContents {
  TarIndex members;
  bool is_cut_off = false;  ///< there is no mark of its end, or a member reaches beyond it: more may have been in it
};

/// Reads all headers and no file. Folders are passed over. Errors: those of model/pack_fault.h: links, devices,
/// absolute paths, `..`, a path that is there twice, damage; `io_error`. An archive that ends early, without damage, is
/// taken as far as it goes; the mark of its end are blocks of zeros (POSIX: two; some tools write one).
[[nodiscard]] Result<TarContents> index_tar(const target::CoreBytes& archive);

}  // namespace mixstack::pack
