// A failure to read or decide something, as data.
#pragma once

#include <string>

#include "mixstack/result.h"

namespace mixstack {

/// A failure that concerns the process, a file, a module, a runtime or a thread.
struct Diagnosis {
  Error error;
  std::string subject;  ///< the file, contract or thread concerned: "thread 17"
  std::string text;     ///< plain words if the code is not enough: what happened and what to do next; may be empty
  friend bool operator==(const Diagnosis&, const Diagnosis&) = default;
};

}  // namespace mixstack
