// Why a process could not be stopped, in words.
#pragma once

#include <string>

#include "mixstack/result.h"

namespace mixstack::session {

[[nodiscard]] std::string stop_words(const Error& error);

}  // namespace mixstack::session
