// The runtime's roots in a capture that needs no stop of its own.
#pragma once

#include "mixstack/target.h"

namespace mixstack::stackwalker {

/// Copies what `source` (may be null) names.
void copy_roots(const MemoryReader& memory, RootSource* source, Capture& capture);

}  // namespace mixstack::stackwalker
