// What could not be read or decided, as data.
#pragma once

#include <string>

#include "mixstack/result.h"

namespace mixstack {

/// Something that could not be read or decided, of the process, a file, a module, a runtime or a thread.
struct Diagnosis {
  Error error;
  std::string subject;  ///< what it is about: a file, a contract, "thread 17"
  std::string text;     ///< plain words where the code alone does not say it: what happened and what to do next
  friend bool operator==(const Diagnosis&, const Diagnosis&) = default;
};

}  // namespace mixstack
