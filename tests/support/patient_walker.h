// A walker over all threads of a process, on a machine that may be busy.
#pragma once

#include <chrono>

#include "mixstack/session.h"

namespace mixstack::test {

inline DumpOptions patient() {
  DumpOptions options;
  options.stop_timeout = std::chrono::seconds(5);
  return options;
}

inline Result<Walker> walker_of(Session& session) {
  auto capture = session.capture(patient());
  if (!capture) return fail(capture.error());
  return session.walker(std::move(*capture), {});
}

}  // namespace mixstack::test
