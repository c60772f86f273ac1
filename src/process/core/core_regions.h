// The memory map of a dead process, from what its core says.
#pragma once

#include <vector>

#include "process/core/core_file.h"
#include "process/core/core_notes.h"

namespace mixstack::process {

/// A mapping and whether its permissions are known. gdb and createdump list mapped files (NT_FILE) of which they write
/// no segment; such a region counts as readable and executable until its image's headers say better. createdump also
/// writes segments that are no mappings; their permissions count until the headers say more.
struct CoreRegion {
  Region region;
  bool permissions_known = true;
};

/// Segments and NT_FILE together, ascending, without overlaps. A core does not tell device and inode: each path gets a
/// number of its own as inode, from 1, so that mappings of one file are known as such. The vDSO is named by its
/// address.
[[nodiscard]] std::vector<CoreRegion> core_regions(const std::vector<CoreSegment>& segments,
                                                   const std::vector<CoreMapping>& mappings, Address vdso);

/// The same of a core that lists every mapping: ascending, without overlaps, numbered as above.
[[nodiscard]] std::vector<CoreRegion> core_regions(std::vector<Region> all_mappings);

}  // namespace mixstack::process
