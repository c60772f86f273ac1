// A recording and a session, shared by the threads that record.
#pragma once

#include <memory>
#include <mutex>

#include "mixstack/recording.h"
#include "mixstack/session.h"

namespace mixstack::record {

/// A recording that several recorders fill while others read it.
struct SharedRecording {
  std::mutex mutex;
  Recording recording;
};

/// A session used by several threads, for captures and for walkers. It may be its caller's: then the pointer owns
/// nothing.
struct SharedSession {
  std::mutex mutex;
  std::shared_ptr<Session> session;
};

}  // namespace mixstack::record
