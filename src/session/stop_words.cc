#include "session/stop_words.h"

#include <fmt/format.h>

namespace mixstack::session {

std::string stop_words(const Error& error) {
  if (error.code == ErrorCode::already_traced)
    return fmt::format("the process is traced by {}, which must let go of it first", error.value);
  if (error.code == ErrorCode::thread_not_stopped)
    return fmt::format("thread {} could not be stopped in time", error.value);
  return fmt::format("the process could not be stopped (error {})", static_cast<unsigned>(error.code));
}

}  // namespace mixstack::session
