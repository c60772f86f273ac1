// A kind of file that holds a process at one moment: how it is recognised, and opened.
#pragma once

#include <memory>
#include <string_view>

#include "mixstack/target.h"
#include "process/core/core_bytes.h"
#include "process/core/file_finder.h"

namespace mixstack::process {

struct OpenedCore {
  std::unique_ptr<Target> target;
  std::shared_ptr<const CoreBytes> bytes;  ///< of the core itself, also where the file holds more than it
};

/// The room that reads such files makes one; `session/core_opening.cc` lists all of them in the order of asking.
struct CoreFormat {
  std::string_view name;
  /// Whether these bytes begin as such a file does, whatever it is called. Bounded, and told by the first bytes alone.
  bool (*recognises)(const CoreBytes& bytes);
  /// Errors: `malformed` where the file is none of the kind after all; else those of the room.
  Result<OpenedCore> (*open)(std::shared_ptr<const CoreBytes> bytes, FileFinderOptions files);
};

}  // namespace mixstack::process
