// Copies the runtime's roots into a capture that needs no stop of its own.
#pragma once

#include "mixstack/target.h"

namespace mixstack::stackwalker {

/// Copies the memory that `source` (may be null) lists.
void copy_roots(const MemoryReader& memory, RootSource* source, Capture& capture);

}  // namespace mixstack::stackwalker
