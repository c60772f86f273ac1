// The symbolizer is public; this is its old place.
#pragma once

#include "mixstack/symbolizer.h"

namespace mixstack::symbols {

using mixstack::Symbolizer;

}  // namespace mixstack::symbols
