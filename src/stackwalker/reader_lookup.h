// Names by the readers of a factory that a user has set (Walker::setSymbolReader).
#pragma once

#include <string>

#include "stackwalker/engine.h"

namespace Dyninst::Stackwalker {

/// Replaces `name` where a user's reader knows the frame. Does nothing while the default factory is set.
void ask_users_reader(mixstack::stackwalker::Engine& engine, const mixstack::Frame& frame, std::string& name);

}  // namespace Dyninst::Stackwalker
