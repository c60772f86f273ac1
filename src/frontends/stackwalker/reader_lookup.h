// Names by the readers of a factory that a user has set (Walker::setSymbolReader).
#pragma once

#include <string>

#include "frontends/stackwalker/engine.h"

namespace Dyninst::Stackwalker {

/// The factory that a user has set, or null.
[[nodiscard]] SymbolReaderFactory* users_symbol_reader();
/// Replaces `name` if a user's reader knows the frame. Does nothing without a factory.
void ask_users_reader(SymbolReaderFactory* factory, mixstack::stackwalker::Engine& engine, const mixstack::Frame& frame,
                      std::string& name);

}  // namespace Dyninst::Stackwalker
